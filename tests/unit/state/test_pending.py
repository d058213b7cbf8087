import pytest
from interlock_gateway.core.machine import UnknownTransitionError
from interlock_gateway.core.pending import PendingAction, PendingState
from interlock_gateway.pipeline.ports import StateConflictError, UnknownRecordError
from interlock_gateway.state.pending_store import LEFT_S
from interlock_gateway.state.some_ids import AT_ONCE
from interlock_gateway.state.store import SqlStateStore
from state_records import NOW, a_session, an_action


async def push(store: SqlStateStore, *pending_ids: str) -> list[PendingAction]:
    return [await store.pending.push_pending(an_action(pending_id)) for pending_id in pending_ids]


async def listed(store: SqlStateStore, now: float = NOW) -> list[str]:
    return [action.pending_id for action in await store.pending.list_pending("s", now)]


async def test_an_action_comes_back_as_it_was_pushed(store: SqlStateStore) -> None:
    action = an_action(
        label="write \x00 \ud800",
        input=bytes(range(256)),
        state_token="etag",
        token="t",
        has_reject=True,
        details={"n": [1.5, None]},
        labels={"a": "b"},
    )

    pushed = await store.pending.push_pending(action)

    assert pushed == an_action(
        **{name: getattr(action, name) for name in ("label", "input", "state_token", "token", "has_reject")},
        details=action.details,
        labels=action.labels,
        sequence=pushed.sequence,
    )
    assert await store.pending.top_pending("s", NOW) == pushed


@pytest.mark.req("PREV-2")
async def test_the_last_pushed_is_on_top(store: SqlStateStore) -> None:
    await store.sessions.ensure_session(a_session("t"))
    pushed = await push(store, "1", "2", "3")
    await store.pending.push_pending(an_action("elsewhere", "t"))

    assert await listed(store) == ["3", "2", "1"]
    assert await store.pending.top_pending("s", NOW) == pushed[-1]
    assert await store.pending.count_pending("s", NOW) == 3
    assert await store.pending.top_pending("nobody", NOW) is None
    assert await store.pending.count_pending("nobody", NOW) == 0


@pytest.mark.req("PREV-2")
async def test_only_the_top_can_be_claimed_and_what_is_being_applied_still_covers_the_rest(
    store: SqlStateStore,
) -> None:
    await push(store, "below", "top")

    assert await store.pending.claim_pending("below", "me", NOW) is None
    claimed = await store.pending.claim_pending("top", "me", NOW)
    assert claimed is not None
    assert claimed.state is PendingState.APPLYING
    assert await store.pending.claim_pending("top", "me", NOW) is None
    assert await store.pending.claim_pending("below", "me", NOW) is None
    await store.pending.finish_pending("top", "me", PendingState.APPLIED, NOW, "")
    assert await store.pending.claim_pending("below", "me", NOW) is not None


async def test_an_action_that_is_released_is_on_top_again(store: SqlStateStore) -> None:
    await push(store, "1", "2")
    await store.pending.claim_pending("2", "me", NOW)
    await push(store, "3")

    released = await store.pending.release_pending("2", "me", NOW + 1)

    assert released.state is PendingState.PENDING
    assert await listed(store) == ["2", "3", "1"]
    await push(store, "4")
    assert await listed(store) == ["4", "2", "3", "1"]


@pytest.mark.req("PREV-5")
async def test_a_fresh_preview_takes_the_place_of_the_old_one(store: SqlStateStore) -> None:
    await push(store, "1", "2", "3")
    await store.pending.claim_pending("3", "me", NOW)

    fresh = await store.pending.replace_pending("3", an_action("fresh", state_token="new"))
    await store.pending.replace_pending("1", an_action("below"))

    assert await listed(store) == ["fresh", "2", "below"]
    assert await store.pending.top_pending("s", NOW) == fresh
    assert fresh.state_token == "new"
    with pytest.raises(UnknownTransitionError):
        await store.pending.release_pending("3", "me", NOW)


async def test_only_what_is_pending_or_being_applied_is_replaced(store: SqlStateStore) -> None:
    await store.sessions.ensure_session(a_session("t"))
    await push(store, "1")
    with pytest.raises(UnknownRecordError):
        await store.pending.replace_pending("nothing", an_action("x"))
    with pytest.raises(StateConflictError):
        await store.pending.replace_pending("1", an_action("x", "t"))
    await store.pending.claim_pending("1", "me", NOW)
    await store.pending.finish_pending("1", "me", PendingState.OUTCOME_UNKNOWN, NOW, "cut off")
    with pytest.raises(UnknownTransitionError):
        await store.pending.replace_pending("1", an_action("x"))
    assert await listed(store) == []


async def test_discarding_takes_an_action_once(store: SqlStateStore) -> None:
    await push(store, "1")

    discarded = await store.pending.discard_pending("1", NOW, "not wanted")
    assert discarded is not None
    assert discarded.state is PendingState.DISCARDED
    assert await store.pending.discard_pending("1", NOW, "again") is None
    assert await store.pending.claim_pending("1", "me", NOW) is None


async def test_what_is_being_applied_cannot_be_discarded(store: SqlStateStore) -> None:
    await push(store, "1")
    await store.pending.claim_pending("1", "me", NOW)

    assert await store.pending.discard_pending("1", NOW, "too late") is None
    assert await store.pending.discard_session_pending("s", "session closed", NOW) == ()


async def test_a_whole_session_is_discarded_at_once(store: SqlStateStore) -> None:
    await store.sessions.ensure_session(a_session("t"))
    await push(store, "1", "2")
    await store.pending.push_pending(an_action("elsewhere", "t"))

    discarded = await store.pending.discard_session_pending("s", "session closed", NOW)

    assert {action.pending_id for action in discarded} == {"1", "2"}
    assert {action.state for action in discarded} == {PendingState.DISCARDED}
    assert await store.pending.count_pending("s", NOW) == 0
    assert await store.pending.count_pending("t", NOW) == 1


@pytest.mark.req("PREV-13")
async def test_an_action_past_its_expiry_is_gone_before_anyone_sweeps(store: SqlStateStore) -> None:
    await store.pending.push_pending(an_action("lasting", expires_at=NOW + 100))
    await store.pending.push_pending(an_action("brief", expires_at=NOW + 10))

    assert await listed(store, NOW + 9) == ["brief", "lasting"]
    assert await listed(store, NOW + 10) == ["lasting"]
    assert await store.pending.claim_pending("brief", "me", NOW + 10) is None
    assert await store.pending.claim_pending("lasting", "me", NOW + 10) is not None


@pytest.mark.req("PREV-13")
async def test_a_sweep_expires_what_is_past_its_time_once(store: SqlStateStore) -> None:
    await store.pending.push_pending(an_action("brief", expires_at=NOW + 10))
    await store.pending.push_pending(an_action("lasting", expires_at=NOW + 100))
    await store.pending.push_pending(an_action("applying", expires_at=NOW + 5))
    await store.pending.claim_pending("applying", "me", NOW)

    expired = await store.pending.expire_pending(NOW + 10)

    assert [(action.pending_id, action.state) for action in expired] == [("brief", PendingState.EXPIRED)]
    assert await store.pending.expire_pending(NOW + 10) == ()


def elsewhere(action: PendingAction) -> bool:
    return action.has_reject


@pytest.mark.req("PREV-13", "STATE-2")
async def test_what_another_can_end_better_is_left_to_it_for_a_while_and_cannot_be_applied(
    store: SqlStateStore,
) -> None:
    await store.pending.push_pending(an_action("theirs", expires_at=NOW + 10, has_reject=True))
    await store.pending.push_pending(an_action("anybodys", expires_at=NOW + 10))

    (ended,) = await store.pending.expire_pending(NOW + 10, elsewhere)
    assert ended.pending_id == "anybodys"
    for now in (NOW + 10, NOW + 10 + LEFT_S - 1):
        assert await store.pending.expire_pending(now, elsewhere) == ()
        assert await store.pending.claim_pending("theirs", "me", now) is None
        assert await store.pending.top_pending("s", now) is None
        assert await store.pending.count_pending("s", now) == 0

    (left,) = await store.pending.expire_pending(NOW + 10 + LEFT_S, elsewhere)
    assert (left.pending_id, left.state) == ("theirs", PendingState.EXPIRED)


@pytest.mark.req("PREV-13", "STATE-2")
async def test_whoever_can_end_what_another_left_ends_it_at_once(store: SqlStateStore) -> None:
    await store.pending.push_pending(an_action("theirs", expires_at=NOW + 10, has_reject=True))

    assert await store.pending.expire_pending(NOW + 11, elsewhere) == ()
    (ended,) = await store.pending.expire_pending(NOW + 11)

    assert (ended.pending_id, ended.state) == ("theirs", PendingState.EXPIRED)


@pytest.mark.req("PREV-13", "STATE-2")
async def test_what_a_close_leaves_to_another_is_discarded_by_it_and_cannot_be_applied(store: SqlStateStore) -> None:
    await store.pending.push_pending(an_action("theirs", has_reject=True))
    await store.pending.push_pending(an_action("anybodys"))
    await store.sessions.close_session("s", NOW)

    closed = await store.pending.discard_session_pending("s", "session closed", NOW, elsewhere)

    states = {action.pending_id: action.state for action in closed}
    assert states == {"theirs": PendingState.PENDING, "anybodys": PendingState.DISCARDED}
    assert await store.pending.claim_pending("theirs", "me", NOW) is None
    assert await store.pending.list_pending("s", NOW) == ()
    (ended,) = await store.pending.expire_pending(NOW)
    assert (ended.pending_id, ended.state) == ("theirs", PendingState.DISCARDED)


@pytest.mark.req("PREV-13")
async def test_more_actions_than_one_statement_takes_expire_together(store: SqlStateStore) -> None:
    names = {f"p{number}" for number in range(AT_ONCE * 2 + 1)}
    for name in names:
        await store.pending.push_pending(an_action(name, expires_at=NOW + 10))

    assert {action.pending_id for action in await store.pending.expire_pending(NOW + 10)} == names


@pytest.mark.req("PREV-14")
@pytest.mark.parametrize(("applied", "state"), [(True, PendingState.APPLIED), (False, PendingState.DISCARDED)])
async def test_somebody_settles_what_is_unknown_once(
    store: SqlStateStore, *, applied: bool, state: PendingState
) -> None:
    await push(store, "1")
    await store.pending.claim_pending("1", "me", NOW)
    unknown = await store.pending.finish_pending("1", "me", PendingState.OUTCOME_UNKNOWN, NOW, "cut off")
    assert await store.pending.unknown_pending("s") == (unknown,)
    assert await listed(store) == []

    assert (await store.pending.settle_unknown("1", NOW, applied=applied)).state is state
    assert await store.pending.unknown_pending("s") == ()
    with pytest.raises(UnknownTransitionError):
        await store.pending.settle_unknown("1", NOW, applied=applied)


async def test_steps_that_the_table_does_not_hold_raise(store: SqlStateStore) -> None:
    await push(store, "1")
    with pytest.raises(UnknownTransitionError):
        await store.pending.finish_pending("1", "me", PendingState.APPLIED, NOW, "never claimed")
    with pytest.raises(UnknownTransitionError):
        await store.pending.release_pending("1", "me", NOW)
    with pytest.raises(UnknownTransitionError):
        await store.pending.settle_unknown("1", NOW, applied=True)
    await store.pending.claim_pending("1", "me", NOW)
    with pytest.raises(UnknownTransitionError):
        await store.pending.finish_pending("1", "me", PendingState.EXPIRED, NOW, "")
    with pytest.raises(UnknownTransitionError):
        await store.pending.settle_unknown("1", NOW, applied=True)
    with pytest.raises(UnknownRecordError):
        await store.pending.finish_pending("nothing", "me", PendingState.APPLIED, NOW, "")


async def test_an_action_needs_a_session_and_an_id_of_its_own(store: SqlStateStore) -> None:
    await push(store, "1")
    with pytest.raises(StateConflictError):
        await store.pending.push_pending(an_action("x", "nobody"))
    with pytest.raises(StateConflictError):
        await push(store, "1")
    with pytest.raises(ValueError, match="starts pending"):
        await store.pending.push_pending(an_action("x", state=PendingState.APPLIED))
    assert await listed(store) == ["1"]


@pytest.mark.req("PREV-13")
async def test_pending_actions_survive_a_restart(url: str, store: SqlStateStore) -> None:
    pushed = await push(store, "1", "2")
    await store.close()

    async with await SqlStateStore.open(url, replica_id="r1") as restarted:
        await restarted.journal.recover(NOW)
        assert await restarted.pending.list_pending("s", NOW) == (pushed[1], pushed[0])


@pytest.mark.req("PREV-13")
async def test_who_lets_go_late_does_not_let_go_for_who_came_after(store: SqlStateStore) -> None:
    await push(store, "1")
    await store.pending.claim_pending("1", "first", NOW)
    await store.pending.release_pending("1", "first", NOW)
    assert await store.pending.claim_pending("1", "second", NOW) is not None
    with pytest.raises(UnknownTransitionError):
        await store.pending.release_pending("1", "first", NOW)
    with pytest.raises(UnknownTransitionError):
        await store.pending.finish_pending("1", "first", PendingState.APPLIED, NOW, "")
    assert await store.pending.claim_pending("1", "third", NOW) is None
    done = await store.pending.finish_pending("1", "second", PendingState.APPLIED, NOW, "")
    assert done.state is PendingState.APPLIED
