"""What operators are told is over all replicas, whichever is asked (STATE-2)."""

import pytest
from interlock.admin import Admin
from interlock.v1 import session_pb2
from two_gateways import Replica, Two, approver_at
from waiting import eventually_so


async def told(replica: Replica) -> tuple[int, int, int, int]:
    status = await Admin(replica.operator).status()
    return status.open_sessions, status.pending_actions, status.open_checkpoints, status.checkpoint_handlers


@pytest.mark.req("STATE-2", "CHK-2")
async def test_both_tell_what_waits_at_either(two: Two) -> None:
    async with approver_at(two.one, two.other):

        async def both_watched() -> bool:
            return [(await told(replica))[3] for replica in (two.one, two.other)] == [2, 2]

        await eventually_so(both_watched)
        for name, replica in (("a", two.one), ("b", two.other)):
            session = replica.agent.session(name)
            await session.call("replace_value", {"value": name})
            await session.call("wreck", {"what": name}, checkpoint_mode="detach")
        assert await told(two.one) == await told(two.other) == (2, 2, 2, 2)


@pytest.mark.req("STATE-2")
async def test_a_session_that_both_served_is_listed_with_what_both_saw(two: Two) -> None:
    here = await two.one.agent.open_session(session_id="s")
    there = two.other.agent.session("s")
    for text in ("a", "b"):
        await here.call("note", {"text": text})
        await there.call("echo", {"text": text})
    await there.call("replace_value", {"value": "c"})

    async def listed(replica: Replica) -> session_pb2.Session:
        (found,) = await Admin(replica.operator).sessions()
        return found

    async def agree() -> bool:
        one, other = await listed(two.one), await listed(two.other)
        return one == other and (one.calls, one.pending_actions) == (5, 1)

    await eventually_so(agree)
    session = await listed(two.one)
    assert (session.principal.kind, session.HasField("last_call_at")) == ("unix", True)
