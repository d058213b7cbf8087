"""Rollbacks of one session at two gateways (UNDO-4, STATE-2)."""

import asyncio
from collections import Counter

import pytest
from interlock import Session
from interlock.journal import OperationState, RollbackLine, RollbackOutcome
from two_gateways import Two


async def rolled_back(session: Session) -> list[RollbackLine]:
    return [line async for line in session.rollback(count=100, reason="both at once")]


@pytest.mark.req("UNDO-4", "STATE-2", "REL-6")
async def test_two_rollbacks_at_once_undo_each_operation_once(two: Two) -> None:
    here = await two.one.agent.open_session()
    there = two.other.agent.session(here.session_id)
    texts = [f"note {number}" for number in range(8)]
    for text in texts:
        assert (await here.call("note", {"text": text})).ok

    for _ in range(20):
        lines = await asyncio.gather(rolled_back(here), rolled_back(there))
        # One that met what the other was just undoing stopped there; asked again it goes on.
        if not any(lines):
            break

    ran = Counter(text for _, text in two.ledger.ran)
    assert ran == Counter([*texts, *(f"undo {text}" for text in texts)])
    operations = [one for one in await there.operations() if not one.undoes_operation_id]
    assert {one.state for one in operations} == {OperationState.UNDONE}
    assert two.ledger.overlaps == []


@pytest.mark.req("UNDO-4", "STATE-2")
async def test_what_one_gateway_did_the_other_undoes(two: Two) -> None:
    here = await two.one.agent.open_session()
    await here.call("note", {"text": "a"})
    two.one.kill()

    (line,) = await rolled_back(two.other.agent.session(here.session_id))

    assert line.outcome is RollbackOutcome.UNDONE
    assert two.ledger.ran == [("note", "a"), ("note", "undo a")]
