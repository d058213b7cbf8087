"""Nothing is left pending in a session that was closed meanwhile."""

import asyncio

import pytest
from interlock_gateway.core.outcome import StandingHandler
from interlock_gateway.core.pending import PendingState
from interlock_gateway.pipeline.ports import SessionEndedError, StateConflictError
from interlock_gateway.state.store import SqlStateStore
from state_records import NOW, a_session, an_action

HANDLER = StandingHandler(provider="p", token="t", label="plan", source_tool="planner")


@pytest.mark.req("PREV-13")
async def test_a_closed_session_takes_no_pending_action_and_no_handler(store: SqlStateStore) -> None:
    below = await store.pending.push_pending(an_action("below"))
    await store.sessions.close_session("s", NOW)

    with pytest.raises(SessionEndedError):
        await store.pending.push_pending(an_action("late"))
    with pytest.raises(SessionEndedError):
        await store.pending.replace_pending("below", an_action("fresh"))
    with pytest.raises(SessionEndedError):
        await store.handlers.set_handler("s", HANDLER)
    with pytest.raises(StateConflictError):
        await store.pending.push_pending(an_action("nowhere", "no-session"))

    assert await store.pending.list_pending("s", NOW) == (below,)
    assert await store.handlers.get_handler("s") is None


@pytest.mark.req("PREV-7", "PREV-13")
async def test_an_apply_that_fails_after_the_close_leaves_nothing_pending(store: SqlStateStore) -> None:
    await store.pending.push_pending(an_action("1"))
    assert await store.pending.claim_pending("1", "me", NOW) is not None
    await store.sessions.close_session("s", NOW)
    await store.pending.discard_session_pending("s", "session closed", NOW)

    released = await store.pending.release_pending("1", "me", NOW)

    assert released.state is PendingState.DISCARDED
    assert await store.pending.list_pending("s", NOW) == ()


@pytest.mark.req("PREV-13")
async def test_whoever_pushes_while_the_session_is_closed_comes_before_or_not_at_all(store: SqlStateStore) -> None:
    for number in range(20):
        session = f"race-{number}"
        await store.sessions.ensure_session(a_session(session))

        async def close(session: str = session) -> None:
            await store.sessions.close_session(session, NOW)
            await store.pending.discard_session_pending(session, "session closed", NOW)

        pushes = [store.pending.push_pending(an_action(f"{session}-{index}", session)) for index in range(4)]
        await asyncio.gather(*pushes[:2], close(), *pushes[2:], return_exceptions=True)

        assert await store.pending.list_pending(session, NOW) == ()
