"""Faults around a call: each ends in a clear answer, and nothing runs that must not (fail closed)."""

import errno
import os
import signal
from pathlib import Path

import pytest
from gateway_bench import Bench, Ledger, MovableClock, bench, config_in, ledger_tools, provided
from interlock import CallStatus
from interlock import Gateway as Client
from interlock.errors import GatewayUnavailableError
from interlock_gateway.app import running
from interlock_gateway.config import Config, PolicyConfig
from interlock_gateway.core.answer import ActivePolicy, PolicyAnswer
from interlock_gateway.core.decision import DecisionError, GatewayErrorCode
from interlock_gateway.errors import ConfigError
from interlock_gateway.pipeline.ports import StateUnavailableError
from interlock_gateway.serving import Gateway
from waiting import eventually

EVERY_KIND = {
    "read": ("echo", {"text": "x"}),
    "change": ("set_value", {"value": "x"}),
    "preview": ("replace_value", {"value": "x"}),
    "checkpoint": ("wreck", {"what": "x"}),
}


@pytest.mark.req("PIPE-6", "ENG-4")
@pytest.mark.parametrize("code", list(GatewayErrorCode)[:8])
@pytest.mark.parametrize("kind", EVERY_KIND)
async def test_whatever_goes_wrong_while_deciding_is_a_denial_that_says_what(
    at: Bench, monkeypatch: pytest.MonkeyPatch, code: GatewayErrorCode, kind: str
) -> None:
    async def broken(_input: bytes) -> bytes:
        raise DecisionError(code, "broken on purpose")

    monkeypatch.setattr(at.gateway.rooms.engine, "evaluate", broken)
    name, arguments = EVERY_KIND[kind]
    result = await at.agent.session("s").call(name, arguments)
    assert result.status is CallStatus.DENIED
    assert result.decision.reasons[0].code == f"gateway_error.{code.value}"
    assert at.ledger.ran == []


MALFORMED_DECISIONS = [
    b"",
    b"{",
    b"null",
    b"[]",
    b'"allow"',
    b"true",
    b"{}",
    b'{"verdict":"ALLOW"}',
    b'{"verdict":["allow"]}',
    b'{"verdict":"allow","reasons":{}}',
    b'{"verdict":"allow","reasons":[{"code":1}]}',
    b'{"verdict":"allow","reasons":[{}]}',
    b'{"verdict":"allow","obligations":[]}',
    b'{"verdict":"allow","obligations":{"unheard_of":1}}',
    b'{"verdict":"allow","obligations":{"strip":"text"}}',
    b'{"verdict":"allow","obligations":{"max_result_bytes":-1}}',
    b'{"verdict":"allow","obligations":{"timeout_s":"soon"}}',
    b'{"verdict":"allow","exemptions":{}}',
    b'{"verdict":"allow","exemptions":[{"id":"a"}]}',
    b'{"verdict":"allow","exemptions":[{"id":"","rule":"","scope":"","reason":"","owner":"","expires":"soon"}]}',
    b'{"verdict":"allow","exemptions":[{"id":1,"rule":"","scope":"","reason":"","owner":"","expires":"2026-01-01T00:00:00Z"}]}',
    b'{"verdict":"allow","extra":true}',
]


@pytest.mark.req("PIPE-6")
@pytest.mark.parametrize("answer", MALFORMED_DECISIONS)
async def test_an_answer_that_is_not_exactly_one_decision_denies(
    at: Bench, monkeypatch: pytest.MonkeyPatch, answer: bytes
) -> None:
    async def odd(_input: bytes) -> PolicyAnswer:
        return PolicyAnswer(answer, ActivePolicy("r", "standard"))

    monkeypatch.setattr(at.gateway.rooms.engine, "evaluate", odd)
    result = await at.agent.session("s").call("echo", {"text": "x"})
    assert result.decision.reasons[0].code == "gateway_error.policy_malformed"
    assert at.ledger.ran == []


class _Panic(BaseException):
    """What a native engine raises: no `Exception`."""


@pytest.mark.req("PIPE-6")
@pytest.mark.parametrize("raised", [_Panic("boom"), MemoryError(), RecursionError(), ZeroDivisionError()])
async def test_even_a_panic_is_a_denial_and_tells_nothing_of_itself(
    at: Bench, monkeypatch: pytest.MonkeyPatch, raised: BaseException
) -> None:
    async def panic(_input: bytes) -> bytes:
        raise raised

    monkeypatch.setattr(at.gateway.rooms.engine, "evaluate", panic)
    result = await at.agent.session("s").call("echo", {"text": "x"})
    assert result.decision.reasons[0].code == "gateway_error.internal"
    assert "boom" not in result.text
    assert at.ledger.ran == []


@pytest.mark.req("ENG-4")
async def test_killed_policy_workers_are_replaced_and_deny_at_most_what_they_held(at: Bench) -> None:
    session = at.agent.session("s")
    for process_id in at.gateway.rooms.engine.process_ids:
        os.kill(process_id, signal.SIGKILL)
    results = [await session.call("echo", {"text": str(n)}) for n in range(10)]
    assert results[-1].status is CallStatus.COMPLETED
    for result in results:
        assert result.status is CallStatus.COMPLETED or result.decision.reasons[0].code.startswith("gateway_error.")


@pytest.mark.req("PIPE-12")
@pytest.mark.parametrize("kind", EVERY_KIND)
async def test_without_receipts_an_allow_becomes_a_denial(
    at: Bench, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    def full_disk(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    session = at.agent.session("s")
    await session.call("echo", {"text": "before"})
    at.ledger.ran.clear()
    monkeypatch.setattr("interlock_gateway.audit.segments.os.write", full_disk)
    monkeypatch.setattr("interlock_gateway.audit.segments.os.fsync", full_disk)
    await eventually(lambda: not _audit_works(at, session))
    name, arguments = EVERY_KIND[kind]
    result = await session.call(name, arguments)
    assert result.status is CallStatus.DENIED
    if kind != "checkpoint":
        assert result.decision.reasons[0].code == "gateway_error.audit_unavailable"
    assert at.ledger.ran == []
    assert (await session.pending()).actions == ()
    monkeypatch.undo()
    await eventually(lambda: at.gateway.rooms.audit.healthy)
    assert (await session.call("echo", {"text": "after"})).text == "after"


def _audit_works(at: Bench, session: object) -> bool:
    del session
    at.gateway.rooms.audit.offer({"kind": "probe"})
    return at.gateway.rooms.audit.healthy


@pytest.mark.req("PIPE-9")
@pytest.mark.parametrize("kind", ["change", "preview"])
async def test_without_state_nothing_that_changes_something_is_run(
    at: Bench, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    async def down(*_: object, **__: object) -> None:
        raise StateUnavailableError("the database cannot be written")

    store = at.gateway.rooms.store
    session = at.agent.session("s")
    await session.call("echo", {"text": "opens the session"})
    at.ledger.ran.clear()
    monkeypatch.setattr(store.calls, "begin_call", down)
    monkeypatch.setattr(store.pending, "push_pending", down)
    name, arguments = EVERY_KIND[kind]
    result = await session.call(name, arguments)
    assert result.decision.reasons[0].code == "gateway_error.state_unavailable"
    assert at.ledger.ran == []


@pytest.mark.req("PREV-11")
async def test_a_pushed_action_without_a_store_says_so_in_the_exact_words(
    at: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def down(*_: object, **__: object) -> None:
        raise StateUnavailableError("gone")

    monkeypatch.setattr(at.gateway.rooms.store.pending, "push_pending", down)
    result = await at.agent.session("s").call("propose", {"plan": "p"})
    assert (result.is_error, result.text) == (
        True,
        "Pending action store unavailable for custom tools in this runtime.",
    )


async def test_a_session_cannot_begin_while_state_is_down(at: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    async def down(*_: object, **__: object) -> None:
        raise StateUnavailableError("gone")

    monkeypatch.setattr(at.gateway.rooms.store.sessions, "ensure_session", down)
    with pytest.raises(GatewayUnavailableError):
        await at.agent.session("new").call("echo", {"text": "x"}, timeout=2)
    assert at.ledger.ran == []


@pytest.mark.req("PIPE-7")
async def test_a_provider_that_is_down_gives_a_clear_failure_and_comes_back_by_itself(socket_directory: Path) -> None:
    ledger = Ledger()
    async with running(config_in(socket_directory)) as gateway, Client(gateway.endpoints.agents[0]) as agent:
        session = agent.session("s")
        async with provided(socket_directory, ledger_tools(ledger)):
            await gateway.providers_settled(5)
            assert (await session.call("echo", {"text": "up"})).text == "up"
        await eventually(lambda: not _listed(gateway, "echo"))
        for name, arguments in (EVERY_KIND["read"], EVERY_KIND["change"]):
            down = await session.call(name, arguments)
            assert (down.status, down.text) == (CallStatus.FAILED, "provider ledger cannot be reached")
        async with provided(socket_directory, ledger_tools(ledger)):
            await eventually(lambda: _listed(gateway, "echo"))
            assert (await session.call("echo", {"text": "again"})).text == "again"
    assert ledger.names() == ["echo", "echo"]


def _listed(gateway: Gateway, name: str) -> bool:
    return name in [made.name for made in gateway.rooms.parts.registry.tools()]


async def test_a_second_gateway_on_the_same_state_does_not_start(at: Bench) -> None:
    with pytest.raises(ConfigError, match="another gateway is running"):
        async with running(config_in(at.directory)):
            pass


@pytest.mark.req("LIFE-7")
async def test_a_broken_policy_keeps_the_gateway_from_starting_and_says_where(socket_directory: Path) -> None:
    overlay = socket_directory / "overlay"
    (overlay / "custom").mkdir(parents=True)
    (overlay / "custom" / "broken.rego").write_text("package interlock.custom\n\nfindings contains {\n")
    config = config_in(socket_directory, policy=PolicyConfig(overlays=(overlay,)))
    with pytest.raises(ConfigError, match=r"policies cannot be used: .*broken\.rego"):
        async with running(config):
            pass


async def test_an_address_that_cannot_be_had_is_a_clear_error(at: Bench, socket_directory: Path) -> None:
    taken = at.gateway.endpoints.agents[1]
    base = config_in(socket_directory / "other")
    config = Config.model_validate({**base.model_dump(), "server": {"listen": [taken]}})
    with pytest.raises(ConfigError, match=r"cannot listen on .*: Address already in use"):
        async with running(config):
            pass


@pytest.mark.parametrize(
    ("path", "problem"),
    [("state/agent.sock", "another process listens there"), ("state/lock", "it is there and is no socket"),
     ("nowhere/a.sock", "there is no directory")],
)  # fmt: skip
async def test_a_socket_that_is_somebody_elses_is_left_alone(
    at: Bench, socket_directory: Path, path: str, problem: str
) -> None:
    taken = f"unix:{at.directory / path}"
    base = config_in(socket_directory / "other")
    config = Config.model_validate({**base.model_dump(), "server": {"listen": [taken]}})
    with pytest.raises(ConfigError, match=f"cannot listen on {taken}: {problem}"):
        async with running(config):
            pass
    async with Client(at.gateway.endpoints.agents[0]) as agent:
        assert (await agent.session("s").call("echo", {"text": "still here"})).text == "still here"


@pytest.mark.req("PIPE-10")
async def test_an_interrupted_change_is_unknown_after_a_restart_and_not_run_again(socket_directory: Path) -> None:
    ledger = Ledger()

    async def lost(*_: object, **__: object) -> None:
        raise StateUnavailableError("lost before the outcome was written")

    async with bench(socket_directory, ledger=ledger, clock=MovableClock()) as before:
        before.gateway.rooms.store.calls.finish_call = lost  # type: ignore[method-assign]  # what is tested is its loss
        # The gateway says that it could not record the outcome; the client asks again under the same id.
        result = await before.agent.session("s").call("set_value", {"value": "b"}, call_id="c", timeout=5)
        assert result.status is CallStatus.OUTCOME_UNKNOWN
    async with bench(socket_directory, ledger=ledger) as after:
        again = await after.agent.session("s").call("set_value", {"value": "b"}, call_id="c")
        assert again.status is CallStatus.OUTCOME_UNKNOWN
    assert ledger.names() == ["set_value"]
