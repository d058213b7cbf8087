"""Calls that wait for a person, at two gateways (CHK-9, STATE-2)."""

import asyncio

import pytest
from interlock.admin import Approvals
from interlock.errors import InterlockError
from interlock.results import CallStatus
from two_gateways import Two, approver_at
from waiting import eventually_so


async def watched(two: Two) -> None:
    """Wait until calls at either gateway find somebody to ask."""
    for replica in (two.one, two.other):
        session = await replica.agent.open_session()

        async def asks() -> bool:
            result = await session.call("wreck", {"what": "nothing"}, checkpoint_mode="detach")  # noqa: B023 - run now
            return result.status is CallStatus.AWAITING_CHECKPOINT

        await eventually_so(asks)
        await session.close()


@pytest.mark.req("CHK-9", "STATE-2")
async def test_a_replica_that_dies_while_a_call_waits_loses_nothing(two: Two) -> None:
    async with approver_at(two.one, two.other) as asked:
        await watched(two)
        while not asked.empty():
            asked.get_nowait()
        here = await two.one.agent.open_session()
        there = two.other.agent.session(here.session_id)
        waiting = asyncio.create_task(here.call("wreck", {"what": "x"}, call_id="c", timeout=60))
        checkpoint_id = await asyncio.wait_for(asked.get(), 30)

        two.one.kill()
        with pytest.raises(InterlockError):
            await waiting
        going_on = asyncio.create_task(there.call("wreck", {"what": "x"}, call_id="c", timeout=60))
        await Approvals(two.other.operator).approve(checkpoint_id, "it may go")
        result = await going_on

    assert (result.status, result.text) == (CallStatus.COMPLETED, "x is gone")
    assert two.ledger.ran == [("wreck", "x")]


@pytest.mark.req("CHK-3", "CHK-9", "STATE-1")
async def test_a_call_that_waits_at_one_goes_on_when_it_is_approved_at_the_other(two: Two) -> None:
    async with approver_at(two.one, two.other) as asked:
        await watched(two)
        while not asked.empty():
            asked.get_nowait()
        here = await two.one.agent.open_session()
        there = two.other.agent.session(here.session_id)
        waiting = [
            asyncio.create_task(session.call("wreck", {"what": "x"}, call_id="c", timeout=60))
            for session in (here, there, here, there)
        ]
        checkpoint_id = await asyncio.wait_for(asked.get(), 30)
        await Approvals(two.other.operator).approve(checkpoint_id)
        results = await asyncio.gather(*waiting)

    assert [result.text for result in results] == ["x is gone"] * 4
    assert two.ledger.ran == [("wreck", "x")]
