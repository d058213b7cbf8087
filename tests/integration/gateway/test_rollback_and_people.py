"""Compensations that wait: for a person, or for a preview to be resolved (UNDO-2, CHK-4, PREV-6)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from asked_people import Person, person
from gateway_bench import Bench, bench
from interlock import Session
from interlock.journal import OperationState, RollbackLine, RollbackOutcome
from interlock.provider import DryRunResult, Tool
from interlock_gateway.config import PolicyConfig
from interlock_gateway.core.call import CallState
from interlock_gateway.core.checkpoint import ApproverDecision, CheckpointState
from undoable_tools import Shelf, undoable_tools


@dataclass
class Held:
    """A session with one change on a shelf, whose undo does not go through by itself; and somebody to ask."""

    at: Bench
    shelf: Shelf
    session: Session
    bob: Person

    async def roll_back(self, **asked: Any) -> RollbackLine:
        """The one line of a rollback of the last change."""
        target = asked or {"count": 1}
        (line,) = [line async for line in self.session.rollback(**target, reason="take it back")]
        return line

    def rolling_back(self, **asked: Any) -> "asyncio.Task[RollbackLine]":
        return asyncio.create_task(self.roll_back(**asked))


@asynccontextmanager
async def held_undo(directory: Path, undo_tool: str, **config: Any) -> AsyncIterator[Held]:
    shelf = Shelf(undo_tool=undo_tool)
    async with bench(directory, tools=lambda _: tools_of(shelf), **config) as at, person(at.gateway) as bob:
        session = at.agent.session("s")
        result = await session.call("put", {"key": "a", "value": "new"}, call_id="put-a")
        assert result.ok
        yield Held(at, shelf, session, bob)


def tools_of(shelf: Shelf) -> list[Tool[..., Any]]:
    tools = undoable_tools(shelf)
    tear_out = next(one for one in tools if one.name == "tear_out")

    @tear_out.dry_run
    def would(token: str) -> DryRunResult:
        return DryRunResult(preview=f"- {shelf.before[token][0]}", state_token="same", label="tear it out")

    return tools


@pytest.fixture
async def held(socket_directory: Path) -> AsyncIterator[Held]:
    async with held_undo(socket_directory, "ask_to_take_back") as made:
        yield made


@pytest.mark.req("UNDO-2", "CHK-4")
async def test_a_rollback_waits_for_a_person_and_goes_on(held: Held) -> None:
    rolling = held.rolling_back()
    asked = await held.bob.asked()
    assert (asked.tool, asked.kind, asked.intent) == ("ask_to_take_back", "undo", "take it back")
    assert (await held.session.call("look")).ok, "other calls of the session go on"
    assert held.shelf.undone == []

    await held.bob.approves(asked)

    line = await rolling
    assert (line.outcome, line.operation.state) == (RollbackOutcome.UNDONE, OperationState.UNDONE)
    assert held.shelf.undone == ["a"]


@pytest.mark.req("UNDO-2", "UNDO-4", "CHK-4")
async def test_detached_it_stops_and_rolling_back_again_picks_the_approval_up(held: Held) -> None:
    line = await held.roll_back(count=1, checkpoint_mode="detach")
    assert (line.outcome, line.remaining, line.operation.state) == (RollbackOutcome.HELD, 1, OperationState.DONE)
    again = await held.roll_back(count=1, checkpoint_mode="detach")
    assert again.outcome is RollbackOutcome.HELD

    await held.bob.approves_the_next()
    line = await held.roll_back(count=1, checkpoint_mode="detach")

    assert line.outcome is RollbackOutcome.UNDONE
    assert held.shelf.undone == ["a"]
    assert held.bob.seen.empty(), "nobody was asked twice"


@pytest.mark.req("UNDO-2", "UNDO-4", "CHK-7")
async def test_a_person_denies_an_undo_and_is_asked_anew_the_next_time(held: Held) -> None:
    rolling = held.rolling_back()
    await held.bob.says(ApproverDecision.DENY, await held.bob.asked(), reason="we need it")
    line = await rolling
    assert (line.outcome, line.operation.state) == (RollbackOutcome.DENIED, OperationState.DONE)
    assert "we need it" in line.message

    rolling = held.rolling_back()
    await held.bob.approves_the_next()
    assert (await rolling).outcome is RollbackOutcome.UNDONE
    assert held.shelf.undone == ["a"]


@pytest.mark.req("CHK-7")
async def test_words_in_the_place_of_an_undo_undo_nothing(held: Held) -> None:
    rolling = held.rolling_back()
    await held.bob.says(ApproverDecision.RESPOND, await held.bob.asked(), response="I did it by hand")
    line = await rolling
    assert (line.outcome, line.message) == (RollbackOutcome.FAILED, "I did it by hand")
    assert line.operation.state is OperationState.DONE


@pytest.mark.req("UNDO-2", "CHK-4")
async def test_nobody_is_asked_any_more_when_the_client_has_gone(held: Held) -> None:
    rolling = held.rolling_back()
    asked = await held.bob.asked()
    rolling.cancel()
    await asyncio.gather(rolling, return_exceptions=True)

    store = held.at.gateway.rooms.store
    async with asyncio.timeout(30):
        while True:
            record = await store.calls.find_call("s", asked.call_id)
            if record is not None and record.state is CallState.DENIED:
                break
    kept = await store.checkpoints.get_checkpoint(asked.checkpoint_id)
    assert kept is not None
    assert kept.state is CheckpointState.WITHDRAWN
    rolling = held.rolling_back()
    await held.bob.approves_the_next()
    assert (await rolling).outcome is RollbackOutcome.UNDONE
    assert held.shelf.undone == ["a"]


@pytest.mark.req("UNDO-2", "CHK-4")
async def test_the_undo_of_a_closed_session_may_wait_for_a_person(held: Held) -> None:
    assert (await held.roll_back(count=1, checkpoint_mode="detach")).outcome is RollbackOutcome.HELD
    await held.session.close()
    await held.bob.approves_the_next()
    assert (await held.roll_back()).outcome is RollbackOutcome.UNDONE


def previewing(directory: Path) -> PolicyConfig:
    """Policies that want undos previewed."""
    custom = directory / "overlay" / "custom"
    custom.mkdir(parents=True)
    (custom / "look.rego").write_text(
        "package interlock.custom\n\n"
        'findings contains {\n\t"verdict": "preview",\n\t"code": "look",\n\t"message": "look first",\n'
        '\t"rule": "custom/look",\n} if {\n\tinput.call.kind == "undo"\n}\n'
    )
    return PolicyConfig(overlays=(directory / "overlay",))


@pytest.mark.req("UNDO-2", "UNDO-4", "PREV-6")
async def test_an_undo_that_is_previewed_is_undone_when_it_is_applied(socket_directory: Path) -> None:
    async with held_undo(socket_directory, "tear_out", policy=previewing(socket_directory)) as held:
        line = await held.roll_back()
        assert line.outcome is RollbackOutcome.HELD
        assert line.result is not None
        assert line.result.preview is not None
        again = await held.roll_back()
        assert "is pending as tear it out" in again.message
        assert len((await held.session.pending()).actions) == 1

        applied = await held.session.resolve("apply", "as meant")

        assert applied.ok, applied.text
        (operation,) = [one for one in await held.session.operations() if not one.undoes_operation_id]
        assert (operation.state, operation.undo_call_id) == (OperationState.UNDONE, applied.call_id)
        assert held.shelf.undone == ["a"]
        assert [line async for line in held.session.rollback(count=1)] == []


@pytest.mark.req("UNDO-4", "PREV-8")
async def test_an_undo_whose_preview_is_discarded_can_be_asked_for_again(socket_directory: Path) -> None:
    async with held_undo(socket_directory, "tear_out", policy=previewing(socket_directory)) as held:
        await held.roll_back()
        await held.session.resolve("discard", "not now")
        assert (await held.roll_back()).outcome is RollbackOutcome.HELD
        await held.session.close()
        line = await held.roll_back()
        assert line.outcome is RollbackOutcome.DENIED
        assert "the session is closed" in line.message
        assert held.shelf.undone == []
