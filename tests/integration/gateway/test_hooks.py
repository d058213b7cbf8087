"""Hooks (PIPE-13): they are told what happens and change nothing, over a real gateway's sockets."""

import asyncio
import dataclasses
from pathlib import Path
from typing import Any

import pytest
from asked_people import person
from gateway_bench import bench
from interlock import CallStatus
from interlock.extensions import CallEvent, Event, Hook, RecordEvent
from plugged_in import Installer
from scraping import samples_in, scraped, value
from waiting import eventually


@pytest.fixture
def installer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installer:
    return Installer(tmp_path, monkeypatch)


class Diary(Hook):
    """Keeps what it was told."""

    def __init__(self, returns: Any = None) -> None:
        self.events: list[Event] = []
        self.returns = returns
        self.closed = False

    def __call__(self, settings: object) -> Hook:
        del settings
        return self

    async def on_event(self, event: Event) -> None:
        self.events.append(event)
        return self.returns  # type: ignore[no-any-return]  # it is nobody's

    async def close(self) -> None:
        self.closed = True

    def moments(self, call_id: str) -> list[str]:
        return [one.moment.value for one in self.events if isinstance(one, CallEvent) and one.call_id == call_id]

    def ended(self, call_id: str) -> CallEvent:
        (found,) = (e for e in self.events if isinstance(e, CallEvent) and e.call_id == call_id and e.status)
        return found


@pytest.mark.req("PIPE-13")
async def test_a_hook_is_told_how_far_each_call_has_come(socket_directory: Path, installer: Installer) -> None:
    diary = Diary()
    async with bench(socket_directory, extensions=installer.hooks(diary)) as at:
        session = at.agent.session("s")
        await session.call("echo", {"text": "very private"}, call_id="read")
        await session.call("set_value", {"value": "x"}, call_id="change")
        await session.call("no_such_tool", {}, call_id="denied")
        await session.call("replace_value", {"value": "y"}, call_id="previewed")
        await eventually(lambda: "ended" in diary.moments("previewed"))
    assert diary.moments("read") == diary.moments("change") == ["received", "decided", "dispatched", "ended"]
    assert diary.moments("denied") == diary.moments("previewed") == ["received", "decided", "ended"]
    ended = diary.ended("change")
    assert (ended.session_id, ended.tool, ended.provider, ended.kind) == ("s", "set_value", "ledger", "call")
    assert (ended.verdict, ended.status, ended.is_error, ended.principal) == (
        "allow",
        "completed",
        False,
        "local-agent",
    )
    denied = diary.ended("denied")
    assert (denied.verdict, denied.reasons, denied.tool, denied.provider) == (
        "deny",
        ("unknown_tool",),
        "no_such_tool",
        "",
    )
    assert diary.ended("previewed").status == "preview"
    assert "very private" not in repr(diary.events)
    assert diary.closed


@pytest.mark.req("PIPE-13")
async def test_a_hook_is_told_that_pending_actions_changed(socket_directory: Path, installer: Installer) -> None:
    diary = Diary()
    async with bench(socket_directory, extensions=installer.hooks(diary)) as at:
        session = at.agent.session("s")
        await session.call("replace_value", {"value": "y"})
        await session.resolve("discard", "no")
        await eventually(lambda: sum(isinstance(event, RecordEvent) for event in diary.events) >= 2)
    records = [event for event in diary.events if isinstance(event, RecordEvent)]
    assert {(one.record, one.session_id, one.record_id) for one in records} == {("pending", "s", "")}


@pytest.mark.req("PIPE-13")
async def test_a_hook_is_told_of_checkpoints_and_of_both_ends_of_a_call_that_waits(
    socket_directory: Path, installer: Installer
) -> None:
    diary = Diary()
    async with bench(socket_directory, extensions=installer.hooks(diary)) as at, person(at.gateway) as bob:
        calling = asyncio.create_task(at.agent.session("s").call("wreck", {"what": "x"}, call_id="c"))
        checkpoint = await bob.asked()
        await bob.approves(checkpoint)
        assert (await calling).ok
        await eventually(lambda: diary.moments("c").count("ended") == 2)
    calls = [event for event in diary.events if isinstance(event, CallEvent)]
    assert [event.status for event in calls if event.moment.value == "ended"] == ["awaiting_checkpoint", "completed"]
    records = [event for event in diary.events if isinstance(event, RecordEvent)]
    assert {(one.record, one.session_id, one.record_id) for one in records} == {
        ("checkpoint", "s", checkpoint.checkpoint_id)
    }


@pytest.mark.req("PIPE-13")
async def test_what_a_hook_returns_or_does_to_an_event_changes_nothing(
    socket_directory: Path, installer: Installer
) -> None:
    meddler = Diary(returns="deny")

    async def meddle(event: Event) -> None:
        with pytest.raises(dataclasses.FrozenInstanceError):
            event.session_id = "t"  # type: ignore[misc]  # that is what is tried
        object.__setattr__(event, "status", "denied")

    meddler.on_event = meddle  # type: ignore[method-assign]  # for this test
    other = Diary(returns=object())
    async with bench(socket_directory, extensions=installer.hooks(other, meddler)) as at:
        result = await at.agent.session("s").call("set_value", {"value": "x"})
        assert (result.status, result.text) == (CallStatus.COMPLETED, "was first")
        (operation,) = await at.agent.session("s").operations()
        assert operation.state.value == "done"


@pytest.mark.req("PIPE-13")
@pytest.mark.parametrize("error", [ValueError("broken"), SystemExit(1), KeyboardInterrupt(), asyncio.CancelledError()])
async def test_a_hook_that_raises_is_counted_and_asked_again(
    socket_directory: Path, installer: Installer, error: BaseException
) -> None:
    class Raising(Diary):
        async def on_event(self, event: Event) -> None:
            await super().on_event(event)
            raise error

    raising, fine = Raising(), Diary()
    async with bench(socket_directory, extensions=installer.hooks(raising, fine)) as at:
        assert (await at.agent.session("s").call("echo", {"text": "x"})).ok
        await eventually(lambda: len(raising.events) == len(fine.events) == 4)
        # The next call's events come after it was counted what became of the last one's.
        assert (await at.agent.session("s").call("echo", {"text": "y"})).ok
        await eventually(lambda: len(raising.events) == len(fine.events) == 8)
        found = samples_in(await scraped(at))
        assert value(found, "interlock_hook_events_total", hook="h0", outcome="failed") >= 7
        assert value(found, "interlock_hook_events_total", hook="h1", outcome="told") >= 7


@pytest.mark.req("PIPE-13")
async def test_no_call_waits_for_a_slow_hook_and_what_it_misses_is_counted(
    socket_directory: Path, installer: Installer
) -> None:
    class Stuck(Diary):
        async def on_event(self, event: Event) -> None:
            await super().on_event(event)
            await asyncio.Event().wait()

    stuck = Stuck()
    async with bench(socket_directory, extensions=installer.hooks(stuck, queue=3, timeout_s=300)) as at:
        session = at.agent.session("s")
        for n in range(5):
            assert (await session.call("echo", {"text": str(n)}, timeout=10)).ok
        found = samples_in(await scraped(at))
        # Twenty events: the first is being told, three wait.
        assert value(found, "interlock_hook_events_total", hook="h0", outcome="dropped") == 16
    assert len(stuck.events) == 1


@pytest.mark.req("PIPE-13")
async def test_a_hook_that_takes_too_long_misses_no_further_event(socket_directory: Path, installer: Installer) -> None:
    class Slow(Diary):
        async def on_event(self, event: Event) -> None:
            await super().on_event(event)
            if len(self.events) == 1:
                await asyncio.Event().wait()

    slow = Slow()
    async with bench(socket_directory, extensions=installer.hooks(slow, timeout_s=0.05)) as at:
        assert (await at.agent.session("s").call("echo", {"text": "x"})).ok
        await eventually(lambda: len(slow.events) == 4)


@pytest.mark.req("PIPE-13")
async def test_what_waits_when_the_gateway_ends_is_told_first(socket_directory: Path, installer: Installer) -> None:
    class Behind(Diary):
        async def on_event(self, event: Event) -> None:
            await asyncio.sleep(0)
            await super().on_event(event)

    behind = Behind()
    async with bench(socket_directory, extensions=installer.hooks(behind)) as at:
        for n in range(20):
            await at.agent.session("s").call("echo", {"text": str(n)})
    assert len(behind.events) == 80
    assert behind.closed
