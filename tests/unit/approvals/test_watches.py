"""What a watch tells: those open first, then every change once, then that it is still there (CHK-8)."""

from collections.abc import AsyncIterator

import pytest
from interlock_gateway.approvals import watches as watches_module
from interlock_gateway.approvals.desk import ApprovalDesk
from interlock_gateway.approvals.watches import KEEPALIVE, Watches, WatchEvent
from interlock_gateway.core.change import EVERYTHING
from interlock_gateway.core.checkpoint import ApproverDecision, CheckpointAnswer
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.state.changes import LocalChanges
from interlock_gateway.state.store import SqlStateStore
from waiting_checkpoints import ALICE, BOB, NOW, opened, waiting


def answer(approver: str = "bob") -> CheckpointAnswer:
    return CheckpointAnswer(approver, "token", ("ops", "dba"), ApproverDecision.APPROVE, "", "grpc", NOW)


async def told(watch: AsyncIterator[WatchEvent]) -> tuple[str, str]:
    """The next event that is no keepalive."""
    async for event in watch:
        if event.checkpoint is not None:
            return event.kind.value, event.checkpoint.checkpoint_id
    raise AssertionError("the watch has ended")


@pytest.mark.req("CHK-8")
async def test_a_watch_tells_of_those_open_then_of_each_change(desk: ApprovalDesk, store: SqlStateStore) -> None:
    await opened(store, waiting(2))
    await opened(store, waiting(1, quorum=2))
    watch = desk.watch(ALICE, ())
    assert [await told(watch), await told(watch)] == [("already_open", "chk-1"), ("already_open", "chk-2")]
    await opened(store, waiting(3))
    assert await told(watch) == ("opened", "chk-3")
    await store.checkpoints.answer_checkpoint("chk-1", answer(), NOW)
    assert await told(watch) == ("updated", "chk-1")
    await store.checkpoints.answer_checkpoint("chk-2", answer(), NOW)
    assert await told(watch) == ("closed", "chk-2")


async def test_a_watch_tells_nothing_of_what_its_approver_is_not_asked(
    desk: ApprovalDesk, store: SqlStateStore
) -> None:
    await opened(store, waiting(1, approvers=("dba",)))
    await opened(store, waiting(2, requester="bob"))
    await opened(store, waiting(3, approvers=("dba",), escalate_to=("ops",), escalate_at=NOW + 1))
    watch = desk.watch(BOB, ())
    assert await anext(watch) is KEEPALIVE
    await store.checkpoints.answer_checkpoint("chk-1", answer(), NOW)
    await store.checkpoints.escalate_checkpoints(NOW + 2)
    assert await told(watch) == ("opened", "chk-3")


async def test_a_watch_says_that_it_is_there_when_nothing_happens(desk: ApprovalDesk) -> None:
    watch = desk.watch(ALICE, ())
    assert [await anext(watch) for _ in range(3)] == [KEEPALIVE] * 3


async def test_a_slow_reader_is_told_of_each_checkpoint_once_as_it_is_then(
    desk: ApprovalDesk, store: SqlStateStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watches_module, "MOST_WAITING", 3)
    await opened(store, waiting(1))
    watch = desk.watch(ALICE, ())
    assert await told(watch) == ("already_open", "chk-1")
    for number in range(2, 9):
        await opened(store, waiting(number, quorum=2))
    await store.checkpoints.answer_checkpoint("chk-1", answer(), NOW)
    await store.checkpoints.answer_checkpoint("chk-2", answer(), NOW)
    heard = [await told(watch) for _ in range(8)]
    assert heard == [("closed", "chk-1"), *(("opened", f"chk-{number}") for number in range(2, 9))]


async def test_when_changes_may_have_been_missed_what_was_missed_is_told(
    desk: ApprovalDesk, store: SqlStateStore, watches: Watches
) -> None:
    await opened(store, waiting(1))
    watch = desk.watch(ALICE, ())
    assert await told(watch) == ("already_open", "chk-1")
    for one in watches._open.values():
        assert isinstance(store.changes, LocalChanges)
        one.changed.clear()
    await store.checkpoints.answer_checkpoint("chk-1", answer(), NOW)
    await opened(store, waiting(2))
    for one in watches._open.values():
        one.changed.clear()
        one.hear(EVERYTHING)
    assert [await told(watch), await told(watch)] == [("closed", "chk-1"), ("opened", "chk-2")]


async def test_there_are_only_so_many_watches(desk: ApprovalDesk) -> None:
    watches = [desk.watch(ALICE, ()) for _ in range(3)]
    for watch in watches:
        await anext(watch)
    with pytest.raises(RequestError) as caught:
        await anext(desk.watch(BOB, ()))
    assert caught.value.fault is RequestFault.LIMIT_REACHED


async def test_watches_end_when_the_gateway_goes_away_and_none_begins(desk: ApprovalDesk, watches: Watches) -> None:
    watch = desk.watch(ALICE, ())
    await anext(watch)
    watches.close()
    for one in (watch, desk.watch(BOB, ())):
        with pytest.raises(RequestError) as caught:
            await anext(one)
        assert caught.value.fault is RequestFault.DRAINING
    assert not await desk.can_ask("agent", (), ())
