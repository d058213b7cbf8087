"""Interceptors (PIPE-13): they may stop a call that policy allowed, and nothing else, over a real gateway's sockets."""

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from asked_people import person
from gateway_bench import Bench, bench
from interlock import CallStatus
from interlock.extensions import Call, Cancel, Continue, ContinueWith, Interceptor, Outcome
from interlock_gateway.audit.read import read_records
from interlock_gateway.config import ExtensionsConfig, InterceptorConfig, PolicyConfig
from interlock_gateway.errors import ConfigError
from plugged_in import Installer
from scraping import samples_in, scraped, value
from waiting import eventually


@pytest.fixture
def installer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installer:
    return Installer(tmp_path, monkeypatch)


class Asked(Interceptor):
    """Answers what a test says, and remembers what it was asked."""

    def __init__(self, answer: Callable[[Call], Any]) -> None:
        self.answer = answer
        self.calls: list[Call] = []
        self.closed = False

    def __call__(self, settings: object) -> Interceptor:
        del settings
        return self

    async def before_call(self, call: Call) -> Outcome:
        self.calls.append(call)
        answer = self.answer(call)
        outcome: Outcome = await answer if isinstance(answer, Awaitable) else answer
        return outcome

    async def close(self) -> None:
        self.closed = True


def go_on(_call: Call) -> Outcome:
    return Continue()


@pytest.mark.req("PIPE-13")
async def test_an_interceptor_sees_a_call_that_policy_allowed_just_before_it_is_sent(
    socket_directory: Path, installer: Installer
) -> None:
    asked = Asked(go_on)
    async with bench(socket_directory, extensions=installer.interceptors(asked)) as at:
        session = at.agent.session("s")
        assert (await session.call("say", {"text": "hi"}, labels={"team": "a"}, intent="greet", call_id="c")).ok
        (call,) = asked.calls
        assert (call.session_id, call.call_id, call.tool, call.provider) == ("s", "c", "echo", "ledger")
        assert (call.kind, call.effect, call.principal) == ("call", "read_only", "local-agent")
        assert (dict(call.labels), call.intent, call.arguments()) == ({"team": "a"}, "greet", {"text": "hi"})
        assert call.call_digest
        with pytest.raises(dataclasses.FrozenInstanceError):
            call.tool = "wreck"  # type: ignore[misc]  # that is what is tried
        with pytest.raises(TypeError):
            call.labels["team"] = "b"  # type: ignore[index]  # as above
        for denied in (("no_such_tool", {}), ("echo", {"wrong": 1}), ("careful", {"text": "x"})):
            assert (await session.call(*denied)).status is CallStatus.DENIED
        assert len(asked.calls) == 1
        assert (await session.evaluate("echo", {"text": "x"})).verdict == "allow"
        assert len(asked.calls) == 1
        assert await asked_about(at, "continued") == 1
    assert asked.closed


@pytest.mark.req("PIPE-13", "PIPE-12")
@pytest.mark.parametrize("tool", ["echo", "set_value"])
async def test_cancel_is_a_denial_with_its_reason_and_a_receipt_and_nothing_is_sent_or_journaled(
    socket_directory: Path, installer: Installer, tool: str
) -> None:
    plugins = installer.interceptors(Asked(lambda _: Cancel("not on a Friday")), Asked(go_on))
    async with bench(socket_directory, extensions=plugins) as at:
        session = at.agent.session("s")
        given = {"text": "x"} if tool == "echo" else {"value": "x"}
        denied = await session.call(tool, given, call_id="c")
        assert (denied.status, denied.is_error, denied.text) == (CallStatus.DENIED, True, "not on a Friday")
        (reason,) = denied.decision.reasons
        assert (reason.code, reason.rule) == ("interceptor_cancelled", "interceptor/i0")
        assert at.ledger.ran == []
        assert await session.operations() == ()
        assert (await session.call(tool, given, call_id="c")).text == "not on a Friday"
        # The second was not asked: the first had ended it.
        assert await asked_about(at, "cancelled") == 1
    assert receipts_in(socket_directory) == [("denied", "deny", ["interceptor_cancelled"])]


async def asked_about(at: Bench, outcome: str) -> float:
    """How many calls the first interceptor answered so, as the metrics have it."""
    found = samples_in(await scraped(at))
    return value(found, "interlock_interceptor_calls_total", interceptor="i0", outcome=outcome)


def receipts_in(directory: Path) -> list[tuple[str, str, list[str]]]:
    """The receipts that a closed gateway left: status, verdict, reasons."""
    records: list[dict[str, Any]] = [
        dict(one.record) for one in read_records(directory / "state" / "audit") if one.kind == "receipt"
    ]
    results = [(one["outcome"]["status"], one["result"]) for one in records]
    return [(status, made["verdict"], [reason["code"] for reason in made["reasons"]]) for status, made in results]


@pytest.mark.req("PIPE-13")
@pytest.mark.parametrize("tool", ["echo", "set_value"])
async def test_continue_with_places_its_texts_right_after_the_result_and_keeps_them(
    socket_directory: Path, installer: Installer, tool: str
) -> None:
    secret = "AKIA" + "ABCDEFGHIJKLMNOP"
    first, second = Asked(lambda _: ContinueWith(["one", f"key {secret}"])), Asked(lambda _: ContinueWith(("two",)))
    async with bench(socket_directory, extensions=installer.interceptors(first, second)) as at:
        session = at.agent.session("s")
        given = {"text": "x"} if tool == "echo" else {"value": "x"}
        result = await session.call(tool, given, call_id="c")
        assert result.ok
        own, *added = [part.text for part in result.content]
        assert own == ("x" if tool == "echo" else "was first")
        assert (added[0], added[2]) == ("one", "two")
        assert secret not in added[1]
        again = await session.call(tool, given, call_id="c")
        assert [part.text for part in again.content] == [own, *added]
        assert len(at.ledger.ran) == len(first.calls) == 1


async def forever(_call: Call) -> Outcome:
    await asyncio.Event().wait()
    raise AssertionError


async def stubborn(_call: Call) -> Outcome:
    for _ in range(3):
        try:
            await asyncio.wait_for(asyncio.Event().wait(), 5)
        except asyncio.CancelledError:
            continue
    return Continue()


def raising(error: BaseException) -> Callable[[Call], Outcome]:
    def answer(_call: Call) -> Outcome:
        raise error

    return answer


class MyContinue(Continue):
    """Of an unknown kind."""


@pytest.mark.req("PIPE-13", "SEC-1")
@pytest.mark.parametrize(
    "answer",
    [
        raising(ValueError("secret internals")),
        raising(SystemExit(0)),
        raising(KeyboardInterrupt()),
        raising(asyncio.CancelledError()),
        forever,
        stubborn,
        lambda _: None,
        lambda _: True,
        lambda _: "continue",
        lambda _: Continue,
        lambda _: MyContinue(),
        lambda _: Cancel(None),  # type: ignore[arg-type]  # what a careless plug-in does
        lambda _: ContinueWith("text"),
        lambda _: ContinueWith([]),
        lambda _: ContinueWith(["", "x"]),
        lambda _: ContinueWith(["x" * 4097]),
        lambda _: ContinueWith(["x"] * 17),
        lambda _: ContinueWith([1]),  # type: ignore[list-item]  # as above
    ],
)
async def test_whatever_else_an_interceptor_does_denies_the_call(
    socket_directory: Path, installer: Installer, answer: Callable[[Call], Any]
) -> None:
    plugins = installer.interceptors(Asked(answer), timeout_s=0.1)
    async with bench(socket_directory, extensions=plugins) as at:
        session = at.agent.session("s")
        for tool, given in (("echo", {"text": "x"}), ("set_value", {"value": "x"})):
            denied = await session.call(tool, given)
            assert denied.status is CallStatus.DENIED
            assert denied.decision.reasons[0].code == "gateway_error.interceptor_failed"
            assert "secret internals" not in denied.text
        assert at.ledger.ran == []
        assert await asked_about(at, "failed") == 2


@pytest.mark.req("PIPE-13")
async def test_a_sync_method_that_answers_rightly_is_still_no_interceptor(
    socket_directory: Path, installer: Installer
) -> None:
    class Sync(Interceptor):
        def before_call(self, call: Call) -> Outcome:  # type: ignore[override]  # what a careless plug-in does
            del call
            return Continue()

    async with bench(socket_directory, extensions=installer.interceptors(lambda _: Sync())) as at:
        assert (await at.agent.session("s").call("echo", {"text": "x"})).status is CallStatus.DENIED


@pytest.mark.req("PIPE-13")
async def test_nothing_that_an_interceptor_says_loosens_a_verdict_or_changes_what_is_sent(
    socket_directory: Path, installer: Installer
) -> None:
    def meddle(call: Call) -> Outcome:
        call.arguments()["text"] = "changed"
        object.__setattr__(call, "input", b'{"text":"changed"}')
        return Continue()

    async with bench(socket_directory, extensions=installer.interceptors(Asked(meddle))) as at:
        session = at.agent.session("s")
        assert (await session.call("echo", {"text": "mine"})).text == "mine"
        assert (await session.call("careful", {"text": "x"})).status is CallStatus.DENIED
        assert at.ledger.ran == [("echo", "mine")]


@pytest.mark.req("PIPE-13", "PREV-6")
async def test_a_preview_asks_nobody_and_its_apply_does(socket_directory: Path, installer: Installer) -> None:
    asked = Asked(lambda call: Cancel("not now") if call.arguments()["value"] == "bad" else ContinueWith(["done so"]))
    async with bench(socket_directory, extensions=installer.interceptors(asked)) as at:
        session = at.agent.session("s")
        assert (await session.call("replace_value", {"value": "bad"})).status is CallStatus.PREVIEW
        assert asked.calls == []
        stopped = await session.resolve("apply", "as previewed")
        assert (stopped.status, stopped.text) == (CallStatus.DENIED, "not now")
        assert [call.kind for call in asked.calls] == ["apply"]
        assert len((await session.pending()).actions) == 1
        await session.resolve("discard", "it may not be")
        await session.call("replace_value", {"value": "good"})
        applied = await session.resolve("apply", "as previewed")
        assert [part.text for part in applied.content] == ["now good", "done so"]
        assert at.ledger.names() == ["replace_value"]


@pytest.mark.req("PIPE-13")
async def test_a_cancelled_call_ends_what_the_interceptor_waits_for(
    socket_directory: Path, installer: Installer
) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def slow(_call: Call) -> Outcome:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return Continue()

    async with bench(socket_directory, extensions=installer.interceptors(Asked(slow), timeout_s=30)) as at:
        calling = asyncio.create_task(at.agent.session("s").call("echo", {"text": "x"}))
        await asyncio.wait_for(begun.wait(), 30)
        calling.cancel()
        await asyncio.wait_for(ended.wait(), 30)
        await asyncio.gather(calling, return_exceptions=True)
        await eventually(at.gateway.idle)
        assert at.ledger.ran == []
    assert [status for status, *_ in receipts_in(socket_directory)] == ["failed"]


@pytest.mark.req("PIPE-13")
async def test_a_profile_that_only_observes_still_obeys_an_interceptor(
    socket_directory: Path, installer: Installer
) -> None:
    plugins = installer.interceptors(Asked(lambda _: Cancel("no")))
    async with bench(socket_directory, extensions=plugins, policy=PolicyConfig(profile="observe")) as at:
        assert (await at.agent.session("s").call("wreck", {"what": "x"})).status is CallStatus.DENIED
        assert at.ledger.ran == []


@pytest.mark.req("PIPE-13")
async def test_without_plug_ins_nothing_stands_in_the_way_of_a_call(socket_directory: Path) -> None:
    async with bench(socket_directory) as at:
        parts = at.gateway.rooms.parts
        assert (parts.interceptors, parts.hooks) == (None, None)
        assert at.gateway.rooms.pipeline._interception is None


@pytest.mark.req("PIPE-13")
async def test_a_gateway_does_not_start_with_a_plug_in_that_it_cannot_use(socket_directory: Path) -> None:
    missing = ExtensionsConfig(interceptors=(InterceptorConfig(name="missing"),))
    with pytest.raises(ConfigError, match=r"the plug-in missing is not installed: interlock\.interceptors has none"):
        async with bench(socket_directory, extensions=missing):
            raise AssertionError("it started")


@pytest.mark.req("PIPE-13", "CHK-5")
async def test_an_approved_call_is_looked_at_too_and_stopping_it_ends_it(
    socket_directory: Path, installer: Installer
) -> None:
    asked = Asked(lambda call: Cancel("not even then") if call.arguments()["what"] == "bad" else Continue())
    async with bench(socket_directory, extensions=installer.interceptors(asked)) as at, person(at.gateway) as bob:
        session = at.agent.session("s")
        calling = asyncio.create_task(session.call("wreck", {"what": "bad"}, call_id="c"))
        checkpoint = await bob.asked()
        assert asked.calls == []
        await bob.approves(checkpoint)
        denied = await calling
        assert (denied.status, denied.text) == (CallStatus.DENIED, "not even then")
        assert asked.calls[0].checkpoint_id == checkpoint.checkpoint_id
        assert (await session.call("wreck", {"what": "bad"}, call_id="c")).text == "not even then"
        again = asyncio.create_task(session.call("wreck", {"what": "good"}))
        await bob.approves_the_next()
        assert (await again).ok
        assert at.ledger.ran == [("wreck", "good")]
        assert len(asked.calls) == 2


@pytest.mark.req("PIPE-13", "CHK-5")
async def test_an_interceptor_that_fails_runs_no_approved_call_and_is_not_asked_in_a_circle(
    socket_directory: Path, installer: Installer
) -> None:
    asked = Asked(raising(ValueError("broken")))
    async with bench(socket_directory, extensions=installer.interceptors(asked)) as at, person(at.gateway) as bob:
        session = at.agent.session("s")
        calling = asyncio.create_task(session.call("wreck", {"what": "x"}, call_id="c", timeout=20))
        await bob.approves_the_next()
        denied = await calling
        assert denied.decision.reasons[0].code == "gateway_error.interceptor_failed"
        assert at.ledger.ran == []
        assert len(asked.calls) < 5


@pytest.mark.req("PIPE-13", "UNDO-2")
async def test_what_takes_an_operation_back_is_looked_at_as_such(socket_directory: Path, installer: Installer) -> None:
    asked = Asked(lambda call: Cancel("keep it") if call.kind == "undo" else Continue())
    async with bench(socket_directory, extensions=installer.interceptors(asked)) as at:
        session = at.agent.session("s")
        await session.call("set_value", {"value": "x"})
        lines = [line async for line in session.rollback(count=1)]
        assert [call.kind for call in asked.calls] == ["call", "undo"]
        assert at.ledger.value == "x"
        assert lines
        (operation,) = await session.operations()
        assert operation.state.value != "undone"
