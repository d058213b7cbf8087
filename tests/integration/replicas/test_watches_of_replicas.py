"""Who watches at one replica can be asked at every other (CHK-2, STATE-2)."""

import pytest
from interlock.results import CallStatus
from two_gateways import Two, approver_at
from waiting import eventually_so


async def becomes(two: Two, status: CallStatus) -> None:
    """Wait until a call that needs a person ends so, at the replica where nobody watches."""
    session = await two.other.agent.open_session()

    async def ends_so() -> bool:
        result = await session.call("wreck", {"what": "nothing"}, checkpoint_mode="detach")
        return result.status is status

    await eventually_so(ends_so)
    await session.close()


@pytest.mark.req("CHK-2", "STATE-2")
async def test_a_watch_at_one_makes_somebody_to_ask_at_the_other_until_it_is_closed(two: Two) -> None:
    await becomes(two, CallStatus.DENIED)
    async with approver_at(two.one):
        await becomes(two, CallStatus.AWAITING_CHECKPOINT)
    await becomes(two, CallStatus.DENIED)
    assert two.ledger.ran == []


@pytest.mark.req("CHK-2", "STATE-2")
async def test_what_a_dead_replica_left_counts_for_nothing(two: Two) -> None:
    async with approver_at(two.one):
        await becomes(two, CallStatus.AWAITING_CHECKPOINT)
        two.one.kill()
        await becomes(two, CallStatus.DENIED)
    assert two.ledger.ran == []
