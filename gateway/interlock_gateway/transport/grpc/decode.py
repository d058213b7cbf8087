"""From the protos to our own types: everything a client asks."""

from collections.abc import Sequence
from dataclasses import replace

from google.protobuf.duration_pb2 import Duration
from interlock.v1 import call_pb2, checkpoint_pb2, deliverable_pb2, gateway_service_pb2, pending_pb2

from interlock_gateway.core.call import CallRequest, CheckpointMode
from interlock_gateway.core.jsonvalue import JsonObject, JsonValue
from interlock_gateway.core.rollback import RollbackRequest
from interlock_gateway.core.session import DEFAULT_DEFERRED_THRESHOLD, Session
from interlock_gateway.core.trace import TraceContext
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.pipeline.batch import BatchRequest
from interlock_gateway.pipeline.held import MARGIN_S

MAX_LABELS = 32
MAX_LABEL_KEY = 63
MAX_LABEL_VALUE = 256
MAX_TEXT = 4096
MAX_NAME = 128
MAX_TOOLS = 1000
MAX_ROOTS = 64


def call_request(call: call_pb2.ToolCall, deadline_s: float | None, trace: TraceContext | None = None) -> CallRequest:
    """One call. Raises `RequestError` naming the field that is too long or malformed."""
    _check_text(call.intent, "call.intent")
    _check_text(call.workdir, "call.workdir")
    if len(call.tool) > MAX_NAME:
        raise RequestError(RequestFault.INVALID_FIELD, f"tool is longer than {MAX_NAME} characters", field="call.tool")
    return CallRequest(
        session_id=call.session_id,
        call_id=call.call_id,
        tool=call.tool,
        input=call.input,
        workdir=call.workdir,
        intent=call.intent,
        labels=labels(call.labels, "call.labels") if call.labels else {},
        deliverable=_deliverable(call.deliverable) if call.HasField("deliverable") else None,
        checkpoint_mode=_mode(call.checkpoint_mode),
        deadline_s=deadline_s,
        trace=trace,
    )


def batch_request(
    request: gateway_service_pb2.CallBatchRequest, deadline_s: float | None, trace: TraceContext | None = None
) -> BatchRequest:
    """Several calls of one session; a call that is malformed by itself is an error in its place."""
    calls: list[CallRequest | RequestError] = []
    for index, call in enumerate(request.calls):
        try:
            decoded = call_request(call, None, trace)
        except RequestError as error:
            calls.append(RequestError(error.fault, error.message, field=error.field.replace("call", f"calls[{index}]")))
        else:
            calls.append(decoded if call.session_id else replace(decoded, session_id=request.session_id))
    return BatchRequest(
        session_id=request.session_id,
        calls=tuple(calls),
        stop_on_error=request.stop_on_error,
        max_parallel=request.max_parallel,
        deadline_s=deadline_s,
    )


def wanted_session(request: gateway_service_pb2.OpenSessionRequest, session_id: str) -> Session:
    """The session a client wants opened; its owner and time are the gateway's to say."""
    _check_text(request.intent, "intent")
    _check_names(request.tools, MAX_TOOLS, MAX_NAME, "tools")
    _check_names(request.always_loaded_tools, MAX_TOOLS, MAX_NAME, "always_loaded_tools")
    _check_names(request.workspace_roots, MAX_ROOTS, MAX_TEXT, "workspace_roots")
    return Session(
        session_id=session_id,
        owner="",
        opened_at=0.0,
        intent=request.intent,
        labels=labels(request.labels, "labels"),
        tools=tuple(request.tools),
        roots=tuple(request.workspace_roots),
        always_loaded=tuple(request.always_loaded_tools),
        deferred_threshold=_threshold(request) if request.HasField("deferred_threshold") else None,
    )


def _threshold(request: gateway_service_pb2.OpenSessionRequest) -> int:
    return request.deferred_threshold if request.deferred_threshold > 0 else DEFAULT_DEFERRED_THRESHOLD


def labels(given: "call_pb2.ToolCall.LabelsEntry | object", field: str) -> JsonObject:
    """Labels, within their limits. Raises `RequestError`."""
    found: JsonObject = dict(given)  # type: ignore[call-overload]  # protobuf's map types share no public name
    if len(found) > MAX_LABELS:
        raise RequestError(RequestFault.INVALID_FIELD, f"more than {MAX_LABELS} labels", field=field)
    for key, value in found.items():
        if not 0 < len(key) <= MAX_LABEL_KEY or len(str(value)) > MAX_LABEL_VALUE:
            raise RequestError(
                RequestFault.INVALID_FIELD,
                f"the label {_shown(key)} does not fit: it has a key of 1 to {MAX_LABEL_KEY} characters and a value"
                f" of at most {MAX_LABEL_VALUE}; these have {len(key)} and {len(str(value))}",
                field=field,
            )
    return found


def _shown(key: str) -> str:
    """A key of any length, so that it can be found again."""
    return repr(key if len(key) <= MAX_LABEL_KEY else f"{key[:MAX_LABEL_KEY]}...")


def shorter(wanted: Duration | None, deadline_s: float | None) -> float | None:
    """How long a caller waits, in seconds, who wants to wait so long and has that deadline. Raises `RequestError`."""
    if wanted is None:
        return deadline_s
    seconds = wanted.seconds + wanted.nanos / 1e9
    if seconds < 0:
        raise RequestError(RequestFault.INVALID_FIELD, "timeout is negative", field="timeout")
    # `wanted` is how long to wait, the deadline when the answer must be there.
    return seconds + MARGIN_S if deadline_s is None else min(seconds + MARGIN_S, deadline_s)


def resolve_input(request: gateway_service_pb2.ResolveRequest) -> JsonObject:
    """The arguments of `Resolve` as the `resolve` tool takes them; `extra` is added by the caller, byte for byte."""
    actions = {pending_pb2.RESOLVE_ACTION_APPLY: "apply", pending_pb2.RESOLVE_ACTION_DISCARD: "discard"}
    action = actions.get(request.action)
    if action is None:
        raise RequestError(RequestFault.INVALID_FIELD, "action is apply or discard", field="action")
    arguments: JsonObject = {"action": action, "reason": request.reason}
    if request.HasField("pending_id"):
        arguments["pending_id"] = request.pending_id
    return arguments


def rollback_request(
    request: gateway_service_pb2.RollbackRequest, trace: TraceContext | None = None
) -> RollbackRequest:
    """What to roll back. Raises `RequestError` without exactly one target."""
    _check_text(request.reason, "reason")
    target = request.WhichOneof("target")
    if target is None or not getattr(request, target):
        words = "say how far to go back: last_operation_id, count or since_call_id"
        raise RequestError(RequestFault.INVALID_FIELD, words, field=target or "target")
    return RollbackRequest(
        session_id=request.session_id,
        last_operation_id=request.last_operation_id,
        count=request.count,
        since_call_id=request.since_call_id,
        skip_irreversible=request.skip_irreversible,
        reason=request.reason,
        checkpoint_mode=_mode(request.checkpoint_mode),
        trace=trace,
    )


def given_reason(reason: str) -> str:
    """A reason that is required. Raises `RequestError` for a blank one."""
    _check_text(reason, "reason")
    if not reason.strip():
        raise RequestError(RequestFault.INVALID_FIELD, "reason is blank", field="reason")
    return reason


def _mode(mode: int) -> CheckpointMode:
    return CheckpointMode.DETACH if mode == checkpoint_pb2.CHECKPOINT_MODE_DETACH else CheckpointMode.WAIT


def _check_text(text: str, field: str) -> None:
    if len(text) > MAX_TEXT:
        raise RequestError(RequestFault.INVALID_FIELD, f"{field} is longer than {MAX_TEXT} characters", field=field)


def _check_names(names: Sequence[str], most: int, longest: int, field: str) -> None:
    if len(names) > most or any(len(name) > longest for name in names):
        raise RequestError(
            RequestFault.INVALID_FIELD,
            f"{field} holds at most {most} names of at most {longest} characters",
            field=field,
        )


def _deliverable(given: deliverable_pb2.Deliverable) -> JsonObject:
    verdicts: dict[int, str] = {1: "proceed", 2: "revise", 3: "abort"}
    assumptions: list[JsonValue] = list(given.hidden_assumptions)
    scenarios: list[JsonValue] = list(given.failure_scenarios)
    return {
        "hidden_assumptions": assumptions,
        "failure_scenarios": scenarios,
        "verdict": verdicts.get(given.verdict, ""),
        "verdict_reason": given.verdict_reason,
    }
