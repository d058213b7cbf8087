import asyncio
from functools import partial

import pytest
from interlock_gateway.core.call import CallState, CallStatus
from interlock_gateway.core.machine import UnknownTransitionError
from interlock_gateway.core.operation import OperationState, UndoInfo
from interlock_gateway.pipeline.ports import StateConflictError, UnknownRecordError
from interlock_gateway.state.store import SqlStateStore
from state_records import (
    NOW,
    a_checkpoint,
    a_denial,
    a_record,
    a_session,
    a_waiting_call,
    an_action,
    an_answer,
    an_operation,
)

UNDO = UndoInfo("delete_file", {"path": "a"}, "delete it again", manual_guide="rm a")


async def finish(store: SqlStateStore, call_id: str = "c", operation_id: str = "op-s-c") -> None:
    await store.calls.finish_call(
        "s",
        call_id,
        operation_id,
        CallState.COMPLETED,
        OperationState.DONE,
        now=NOW + 1,
        result=b"answer",
        undo=UNDO,
    )


@pytest.mark.req("PIPE-9")
async def test_an_intent_is_in_the_journal_before_its_outcome_and_then_with_it(store: SqlStateStore) -> None:
    begun = await store.calls.begin_call(a_record(), an_operation())

    assert begun.existing is None
    assert begun.operation is not None
    assert begun.operation.sequence > 0
    assert await store.journal.get_operation("op-s-c") == begun.operation
    await finish(store)
    operation = await store.journal.get_operation("op-s-c")
    assert operation is not None
    assert (operation.state, operation.finished_at, operation.undo) == (OperationState.DONE, NOW + 1, UNDO)


@pytest.mark.req("PIPE-10")
async def test_a_call_id_is_claimed_once_and_gives_its_first_outcome_after_that(store: SqlStateStore) -> None:
    await store.calls.begin_call(a_record(), an_operation())

    again = await store.calls.begin_call(a_record(request_digest="other"), an_operation(operation_id="second"))
    assert again.operation is None
    assert again.existing == a_record()
    assert await store.journal.get_operation("second") is None

    await finish(store)
    again = await store.calls.begin_call(a_record(), an_operation(operation_id="third"))
    assert again.existing == a_record(
        state=CallState.COMPLETED, status=CallStatus.COMPLETED, result=b"answer", updated_at=NOW + 1
    )
    assert again.existing == await store.calls.find_call("s", "c")


@pytest.mark.req("PIPE-10")
async def test_of_many_callers_at_once_one_gets_the_call_id(store: SqlStateStore) -> None:
    begun = await asyncio.gather(
        *(store.calls.begin_call(a_record(), an_operation(operation_id=f"op-{n}")) for n in range(20))
    )

    assert sum(outcome.operation is not None for outcome in begun) == 1
    assert len(await store.journal.list_operations("s", 100)) == 1


@pytest.mark.req("PIPE-10")
async def test_the_same_call_id_in_another_session_is_another_call(store: SqlStateStore) -> None:
    await store.sessions.ensure_session(a_session("t"))
    await store.calls.begin_call(a_record(), an_operation())

    assert (await store.calls.begin_call(a_record("c", "t"), an_operation("c", "t"))).operation is not None


@pytest.mark.req("PIPE-10")
async def test_an_outcome_without_dispatch_is_kept_and_the_first_one_stays(store: SqlStateStore) -> None:
    assert await store.calls.record_outcome(a_denial()) == a_denial()
    assert await store.calls.record_outcome(a_record(request_digest="other")) == a_denial()
    assert (await store.calls.begin_call(a_record(), an_operation())).existing == a_denial()


@pytest.mark.req("PREV-13")
@pytest.mark.parametrize("approved", [False, True])
async def test_what_is_pending_is_applied_only_under_its_claim(store: SqlStateStore, *, approved: bool) -> None:
    """A replica that was taken for dead between the claim and the intent comes back, and its claim has been ended."""
    await store.pending.push_pending(an_action())
    begin = partial(store.calls.begin_call, a_record(), an_operation(), applies="p")
    if approved:
        await store.checkpoints.open_checkpoint(a_checkpoint(), a_waiting_call())
        await store.checkpoints.answer_checkpoint("k", an_answer(), NOW)
        use = store.checkpoints.begin_approved
        begin = partial(use, "k", "d" * 64, a_record(), an_operation(), NOW, applies="p")

    for claimant in ("", "another"):
        if claimant:
            await store.pending.claim_pending("p", claimant, NOW)
        with pytest.raises(UnknownTransitionError, match="not claimed"):
            await begin()
    assert await store.journal.list_operations("s", 10) == ()
    await store.pending.release_pending("p", "another", NOW)
    await store.pending.claim_pending("p", "c", NOW)
    assert (await begin()).operation is not None


@pytest.mark.req("PREV-13", "STATE-2")
async def test_what_another_replica_claimed_is_not_applied_here(url: str, store: SqlStateStore) -> None:
    await store.pending.push_pending(an_action())
    await store.pending.claim_pending("p", "c", NOW)
    async with await SqlStateStore.open(url, replica_id="r2") as other:
        with pytest.raises(UnknownTransitionError, match="not claimed"):
            await other.calls.begin_call(a_record(), an_operation(), applies="p")
    assert await store.calls.find_call("s", "c") is None


async def test_a_call_ends_once(store: SqlStateStore) -> None:
    await store.calls.begin_call(a_record(), an_operation())
    await finish(store)

    with pytest.raises(UnknownTransitionError):
        await finish(store)


async def test_ending_a_call_is_all_or_nothing(store: SqlStateStore) -> None:
    await store.calls.begin_call(a_record(), an_operation())

    with pytest.raises(UnknownRecordError):
        await finish(store, call_id="another")
    operation = await store.journal.get_operation("op-s-c")
    assert operation is not None
    assert operation.state is OperationState.INTENDED

    with pytest.raises(UnknownRecordError):
        await finish(store, operation_id="another")
    record = await store.calls.find_call("s", "c")
    assert record == a_record()


async def test_a_call_ends_only_as_the_tables_allow(store: SqlStateStore) -> None:
    await store.calls.begin_call(a_record(), an_operation())

    with pytest.raises(UnknownTransitionError):
        await store.calls.finish_call("s", "c", "op-s-c", CallState.DENIED, OperationState.DONE, now=NOW)
    with pytest.raises(UnknownTransitionError):
        await store.calls.finish_call("s", "c", "op-s-c", CallState.COMPLETED, OperationState.UNDONE, now=NOW)
    assert await store.calls.find_call("s", "c") == a_record()


async def test_a_call_begins_dispatching(store: SqlStateStore) -> None:
    with pytest.raises(ValueError, match="begins dispatching"):
        await store.calls.begin_call(a_record(state=CallState.COMPLETED), an_operation())
    with pytest.raises(ValueError, match="begins dispatching"):
        await store.calls.begin_call(a_record(), an_operation(state=OperationState.DONE))


async def test_a_call_of_no_session_is_refused_and_leaves_nothing(store: SqlStateStore) -> None:
    with pytest.raises(StateConflictError):
        await store.calls.begin_call(a_record("c", "nobody"), an_operation("c", "nobody"))
    assert await store.calls.find_call("nobody", "c") is None


async def test_an_operation_id_that_is_taken_leaves_no_call_behind(store: SqlStateStore) -> None:
    await store.calls.begin_call(a_record(), an_operation())

    with pytest.raises(StateConflictError):
        await store.calls.begin_call(a_record("other"), an_operation("other", operation_id="op-s-c"))
    assert await store.calls.find_call("s", "other") is None
