"""Taking calls back when a person has to be asked (flows.md, UNDO-2, CHK-1 to CHK-5), by what the provider did."""

import asyncio
from pathlib import Path

import pytest
from asked_people import person
from gateway_bench import Bench, bench
from interlock.journal import OperationState, RollbackLine
from interlock_gateway.config import PolicyConfig
from interlock_gateway.core.call import CallKind
from interlock_gateway.core.checkpoint import ApproverDecision


def asking_at_undo(directory: Path) -> PolicyConfig:
    """Policies under which people are asked about every compensation."""
    custom = directory / "overlay" / "custom"
    custom.mkdir(parents=True)
    (custom / "undo.rego").write_text(
        "package interlock.custom\n\n"
        'findings contains {\n\t"verdict": "checkpoint",\n\t"code": "ask",\n\t"message": "people are asked",\n'
        '\t"rule": "custom/undo",\n} if {\n\tinput.call.kind == "undo"\n}\n'
    )
    return PolicyConfig(overlays=(directory / "overlay",))


async def undone(at: Bench, mode: str = "wait") -> list[RollbackLine]:
    lines = at.agent.session("s").rollback(count=1, reason="it was wrong", checkpoint_mode=mode)  # type: ignore[arg-type]  # one of two words
    return [line async for line in lines]


@pytest.mark.req("UNDO-2", "CHK-1")
async def test_a_compensation_waits_for_a_person_and_undoes_once(socket_directory: Path) -> None:
    async with bench(socket_directory, policy=asking_at_undo(socket_directory)) as at, person(at.gateway) as bob:
        await at.agent.session("s").call("set_value", {"value": "b"}, call_id="c")
        undoing = asyncio.create_task(undone(at))
        asked = await bob.asked()
        assert (asked.kind, asked.tool) == (CallKind.UNDO, "set_value")
        assert at.ledger.value == "b"
        await bob.approves(asked)
        (line,) = await undoing
        assert line.outcome == "undone"
        assert at.ledger.value == "first"
    assert at.ledger.ran == [("set_value", "b"), ("set_value", "first")]


@pytest.mark.req("UNDO-4", "CHK-4", "CHK-9")
async def test_a_compensation_that_is_detached_is_picked_up_by_the_next_rollback(socket_directory: Path) -> None:
    async with bench(socket_directory, policy=asking_at_undo(socket_directory)) as at, person(at.gateway) as bob:
        session = at.agent.session("s")
        await session.call("set_value", {"value": "b"}, call_id="c")
        (held,) = await undone(at, "detach")
        assert held.outcome == "held"
        await bob.approves_the_next()
        assert at.ledger.value == "b"
        (line,) = await undone(at, "detach")
        assert line.outcome == "undone"
        states = {one.call_id: one.state for one in await session.operations()}
        assert states["c"] is OperationState.UNDONE
    assert at.ledger.ran == [("set_value", "b"), ("set_value", "first")]


@pytest.mark.req("UNDO-4", "CHK-7")
async def test_a_compensation_that_a_person_denies_leaves_the_operation_done(socket_directory: Path) -> None:
    async with bench(socket_directory, policy=asking_at_undo(socket_directory)) as at, person(at.gateway) as bob:
        session = at.agent.session("s")
        await session.call("set_value", {"value": "b"}, call_id="c")
        undoing = asyncio.create_task(undone(at))
        await bob.says(ApproverDecision.DENY, await bob.asked(), reason="keep it")
        (line,) = await undoing
        assert line.outcome == "denied"
        (operation,) = await session.operations()
        assert operation.state is OperationState.DONE
        undoing = asyncio.create_task(undone(at))
        await bob.approves_the_next()
        assert (await undoing)[0].outcome == "undone"
    assert at.ledger.ran == [("set_value", "b"), ("set_value", "first")]
