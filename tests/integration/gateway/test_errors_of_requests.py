"""What a client's programmer reads when a request fails: a code, a reason, and nothing of the host."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from access_table import ROWS, Refusal, asked, methods, request_of, row_of
from gateway_bench import Bench
from google.rpc.error_details_pb2 import RetryInfo
from interlock.v1 import error_reason_pb2
from interlock_gateway import errors
from interlock_gateway.artifacts import errors as artifact_errors
from interlock_gateway.errors import InterlockError, RequestError, RequestFault
from interlock_gateway.http2.status import Status
from interlock_gateway.pipeline import state_records
from interlock_gateway.pipeline.ports import StateUnavailableError
from interlock_gateway.transport.grpc.errors import STATUS_OF, as_request_error, status_details

Code = grpc.StatusCode
CALL = "/interlock.v1.GatewayService/CallTool"
LONG = "x" * 5000


@pytest.mark.parametrize("fault", RequestFault)
def test_every_fault_has_a_code_and_a_reason_of_the_protos(fault: RequestFault) -> None:
    code, reason = STATUS_OF[fault]
    sent_code, message, raw = status_details(RequestError(fault, "in words", field="a.field"))
    refusal = Refusal(None)
    refusal.read(raw)
    assert (sent_code, message) == (code, "in words")
    assert refusal.info.domain == "interlock.dev"
    assert f"ERROR_REASON_{refusal.reason}" == error_reason_pb2.ErrorReason.Name(reason)
    assert dict(refusal.info.metadata) == {"field": "a.field"}
    documented = documented_code(reason)
    assert documented == code.name
    retried = any(detail.Is(RetryInfo.DESCRIPTOR) for detail in refusal.details)
    assert retried or code is not Status.RESOURCE_EXHAUSTED or fault is RequestFault.TOO_LARGE


def documented_code(reason: int) -> str:
    """The gRPC code that the proto's comment gives a reason."""
    proto = Path(__file__).resolve().parents[3] / "proto" / "interlock" / "v1" / "error_reason.proto"
    lines = proto.read_text(encoding="utf-8").split("\n")
    at = next(n for n, line in enumerate(lines) if f"{error_reason_pb2.ErrorReason.Name(reason)} =" in line)
    said = next(line for line in reversed(lines[:at]) if "Code " in line).partition("Code ")[2]
    return re.split("[^A-Z_]", said, maxsplit=1)[0]


def error_classes() -> Iterator[type[InterlockError]]:
    for module in (errors, state_records, artifact_errors):
        for _, kind in inspect.getmembers(module, inspect.isclass):
            if issubclass(kind, InterlockError) and not issubclass(kind, RequestError):
                yield kind


EXPECTED = {
    "InterlockError": "INTERNAL",
    "ConfigError": "INTERNAL",
    "AuditUnavailableError": "AUDIT_UNAVAILABLE",
    "ProviderError": "PROVIDER_UNAVAILABLE",
    "ProviderDownError": "PROVIDER_UNAVAILABLE",
    "ProviderFailedError": "PROVIDER_UNAVAILABLE",
    "OutcomeUnknownError": "PROVIDER_UNAVAILABLE",
    "StateError": "INTERNAL",
    "StateUnavailableError": "STATE_UNAVAILABLE",
    "StateOverloadedError": "OVERLOADED",
    "TooManyWaitingError": "OVERLOADED",
    "SessionEndedError": "SESSION_CLOSED",
    "StateConflictError": "INTERNAL",
    "UnknownRecordError": "INTERNAL",
    "StoredFormatError": "INTERNAL",
    "ArtifactError": "INTERNAL",
    "ArtifactUriError": "INTERNAL",
    "ArtifactNotFoundError": "INTERNAL",
    "ArtifactSearchError": "INTERNAL",
    "ArtifactStoreError": "INTERNAL",
    "ArtifactLimitError": "INTERNAL",
    "ArtifactRemovedError": "INTERNAL",
    "ArtifactSilentError": "INTERNAL",
}


def test_every_error_of_the_gateway_is_mapped() -> None:
    mapped = {kind.__name__: as_request_error(kind("in words")).fault.name for kind in error_classes()}
    assert mapped == EXPECTED


@pytest.mark.parametrize("error", [ValueError("/etc/passwd"), KeyError("/root/.ssh"), RuntimeError("secret")])
def test_what_nobody_foresaw_says_nothing_of_itself(error: Exception) -> None:
    said = as_request_error(error)
    assert (said.fault, said.message) == (
        RequestFault.INTERNAL,
        "the gateway failed on this request; its log says why",
    )


def call(**fields: Any) -> bytes:
    request = request_of(next(method for method in methods() if method.name == "CallTool"), "s", "")
    for name, value in fields.items():
        if name == "labels":
            request.call.labels.update(value)
        else:
            setattr(request.call, name, value)
    return bytes(request.SerializeToString())


REFUSED = {
    "no session": (call(session_id=""), "session_id"),
    "a session id that is a path": (call(session_id="../../etc"), "session_id"),
    "a session id too long": (call(session_id="s" * 129), "session_id"),
    "a session id with a line break": (call(session_id="s\n"), "session_id"),
    "no tool": (call(tool=""), "tool"),
    "a call id too long": (call(call_id="c" * 129), "call_id"),
    "an intent too long": (call(intent=LONG), "call.intent"),
    "a workdir too long": (call(workdir=LONG), "call.workdir"),
    "too many labels": (call(labels={str(n): "" for n in range(33)}), "call.labels"),
    "a label without a key": (call(labels={"": "x"}), "call.labels"),
    "a label key too long": (call(labels={"k" * 64: "x"}), "call.labels"),
    "a label too long": (call(labels={"k": "v" * 257}), "call.labels"),
    "no message at all": (b"\xff\xff\xff", ""),
    "text that is not UTF-8": (b"\n\x05\x1a\x03\xff\xfe\xfd", ""),
    "a message of another kind": (b"\x08\x01\x12\xff", ""),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_a_malformed_request_is_invalid_and_names_the_field(at: Bench, case: str) -> None:
    raw, field = REFUSED[case]
    async with grpc.aio.insecure_channel(at.gateway.endpoints.agents[0]) as channel:
        ended = await asked(channel, CALL, raw)
    assert (ended.code, ended.reason, ended.info.domain) == (Code.INVALID_ARGUMENT, "INVALID_FIELD", "interlock.dev")
    assert ended.info.metadata.get("field", "") == field
    assert at.ledger.ran == []


async def test_a_request_that_is_too_large_is_refused_in_words_and_nothing_runs(at: Bench) -> None:
    async with grpc.aio.insecure_channel(at.gateway.endpoints.agents[0]) as channel:
        ended = await asked(channel, CALL, call(input=b'{"text":"' + b"x" * 6_000_000 + b'"}'))
        assert (ended.code, ended.reason) == (Code.RESOURCE_EXHAUSTED, "TOO_LARGE")
        assert "at most 5242880 are accepted" in ended.message
        far = await asked(channel, CALL, call(input=b'{"text":"' + b"x" * 12_000_000 + b'"}'))
        assert far.code is Code.RESOURCE_EXHAUSTED
    assert at.ledger.ran == []


async def test_a_page_token_of_somebody_elses_is_refused(at: Bench) -> None:
    await at.agent.session("s").call("echo", {"text": "x"})
    async with grpc.aio.insecure_channel(at.gateway.endpoints.agents[0]) as channel:
        for method in methods():
            if method.name not in {"ListPending", "ListOperations"}:
                continue
            request = request_of(method, "s", "")
            path = f"/interlock.v1.GatewayService/{method.name}"
            for token in ("-1", "x", "1.5", "\u0661", " 1", "9" * 19):
                request.page_token = token
                assert (await asked(channel, path, request.SerializeToString())).reason == "INVALID_PAGE_TOKEN"


@pytest.mark.req("SEC-7")
async def test_with_state_down_every_rpc_ends_in_an_error_that_shows_nothing_of_the_host(
    at: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def down(*_: object, **__: object) -> None:
        raise StateUnavailableError("the database cannot be read or written now")

    async def broken(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", str(at.directory))

    await at.agent.session("s").call("echo", {"text": "x"})
    rooms = at.gateway.rooms
    addresses = (at.gateway.endpoints.agents[0], at.gateway.endpoints.operators[0])
    for fault, expected in ((down, {"STATE_UNAVAILABLE"}), (broken, {"INTERNAL"})):
        monkeypatch.setattr(rooms.store.sessions, "get_session", fault)
        monkeypatch.setattr(rooms.store.sessions, "ensure_session", fault)
        monkeypatch.setattr(rooms.store.sessions, "list_sessions", fault)
        monkeypatch.setattr(rooms.store.checkpoints, "get_checkpoint", fault)
        monkeypatch.setattr(rooms.store.checkpoints, "list_checkpoints", fault)
        seen = set()
        for method in methods():
            if not ROWS[row_of(method)].roles:
                continue
            request = request_of(method, "unheard-of", f"artifact://unheard-of/{'0' * 64}").SerializeToString()
            address = addresses[method.containing_service.name in {"AdminService", "ApprovalService"}]
            async with grpc.aio.insecure_channel(address) as channel:
                path = f"/{method.containing_service.full_name}/{method.name}"
                ended = await asked(channel, path, request, streaming=method.server_streaming)
            if ended.code is Code.OK:
                continue
            assert ended.info.domain == "interlock.dev", path
            for word in (str(at.directory), "Traceback", ".py", "No space", "errno"):
                assert word not in ended.message, path
            seen.add(ended.reason)
        assert expected <= seen
        assert seen <= expected | {"INVALID_FIELD", "PROVIDER_NOT_FOUND", "TOOL_NOT_FOUND", "NOT_ENABLED"}


async def test_a_call_id_used_for_another_call_is_refused_with_its_reason(at: Bench) -> None:
    async with grpc.aio.insecure_channel(at.gateway.endpoints.agents[0]) as channel:
        assert (await asked(channel, CALL, call(call_id="c"))).code is Code.OK
        other = await asked(channel, CALL, call(call_id="c", input=b'{"text":"y"}'))
        assert (other.code, other.reason) == (Code.INVALID_ARGUMENT, "CALL_ID_REUSED")
        assert other.info.metadata["field"] == "call_id"


async def test_a_closed_session_takes_no_calls(at: Bench) -> None:
    await at.agent.session("s").call("echo", {"text": "x"})
    await at.agent.session("s").close()
    async with grpc.aio.insecure_channel(at.gateway.endpoints.agents[0]) as channel:
        ended = await asked(channel, CALL, call())
    assert (ended.code, ended.reason) == (Code.FAILED_PRECONDITION, "SESSION_CLOSED")
