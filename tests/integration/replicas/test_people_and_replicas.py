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


@pytest.mark.req("CHK-4", "CHK-9", "STATE-2")
async def test_a_call_that_is_held_elsewhere_is_not_withdrawn_when_its_first_holder_goes(two: Two) -> None:
    async with approver_at(two.one, two.other) as asked:
        await watched(two)
        while not asked.empty():
            asked.get_nowait()
        here = await two.one.agent.open_session()
        there = two.other.agent.session(here.session_id)
        held = asyncio.create_task(here.call("wreck", {"what": "held"}, call_id="held", timeout=60))
        checkpoint_id = await asyncio.wait_for(asked.get(), 30)
        left = asyncio.create_task(here.call("wreck", {"what": "left"}, call_id="left", timeout=60))
        await asyncio.wait_for(asked.get(), 30)
        again = asyncio.create_task(there.call("wreck", {"what": "held"}, call_id="held", timeout=60))
        await asyncio.wait([again], timeout=0.5)

        for call in (held, left):
            call.cancel()

        async def is_withdrawn() -> bool:
            left_one = await there.get_call("left")
            return left_one.result is not None and left_one.result.status is CallStatus.DENIED

        await eventually_so(is_withdrawn)
        await Approvals(two.other.operator).approve(checkpoint_id, "it may go")
        assert (await again).text == "held is gone"
    assert two.ledger.ran == [("wreck", "held")]
