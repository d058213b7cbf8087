"""Undo in the journal: an operation is claimed with its compensation's intent, and ends with its outcome (UNDO-4)."""

import asyncio
from typing import Any

import pytest
from interlock_gateway.core.call import CallState
from interlock_gateway.core.machine import UnknownTransitionError
from interlock_gateway.core.operation import OPERATION_MACHINE, Operation, OperationState, Undid, UndoInfo
from interlock_gateway.state.store import SqlStateStore
from state_records import NOW, a_record, a_session, an_operation

UNDO = UndoInfo(tool="restore", input={"record": "1"}, description="put it back")


async def begin(store: SqlStateStore, call_id: str, **changes: Any) -> Operation:
    begun = await store.calls.begin_call(a_record(call_id), an_operation(call_id, **changes))
    assert begun.operation is not None
    return begun.operation


async def finish(store: SqlStateStore, call_id: str, state: OperationState = OperationState.DONE, **more: Any) -> None:
    ends = {
        OperationState.DONE: CallState.COMPLETED,
        OperationState.FAILED: CallState.FAILED,
        OperationState.OUTCOME_UNKNOWN: CallState.OUTCOME_UNKNOWN,
    }
    await store.calls.finish_call("s", call_id, f"op-s-{call_id}", ends[state], state, now=NOW + 5, **more)


async def done(store: SqlStateStore, call_id: str = "c") -> str:
    await begin(store, call_id)
    await finish(store, call_id, undo=UNDO)
    return f"op-s-{call_id}"


async def found(store: SqlStateStore, operation_id: str = "op-s-c") -> Operation:
    operation = await store.journal.get_operation(operation_id)
    assert operation is not None
    return operation


@pytest.mark.req("UNDO-2", "UNDO-4")
async def test_the_intent_of_a_compensation_claims_what_it_undoes(store: SqlStateStore) -> None:
    await done(store)
    await begin(store, "u", undoes="op-s-c")

    claimed = await found(store)
    assert (claimed.state, claimed.undo_call_id, claimed.undo_attempts) == (OperationState.UNDOING, "u", 1)
    assert claimed.undo == UNDO
    await finish(store, "u", undid=Undid("op-s-c", OperationState.UNDONE))
    undone = await found(store)
    assert (undone.state, undone.undone_at, undone.finished_at) == (OperationState.UNDONE, NOW + 5, NOW + 5)
    assert (await found(store, "op-s-u")).undoes == "op-s-c"


@pytest.mark.req("UNDO-4")
async def test_of_many_compensations_of_one_operation_one_begins(store: SqlStateStore) -> None:
    await done(store)

    begun = await asyncio.gather(
        *(begin(store, f"u{number}", undoes="op-s-c") for number in range(10)), return_exceptions=True
    )
    assert sum(isinstance(outcome, Operation) for outcome in begun) == 1
    assert sum(isinstance(outcome, UnknownTransitionError) for outcome in begun) == 9
    kept = await store.journal.newest_operations("s", 50)
    assert len(kept) == 2, "the intents of those that lost are not kept"


@pytest.mark.req("UNDO-4")
async def test_what_failed_to_be_undone_is_undone_by_a_further_attempt(store: SqlStateStore) -> None:
    await done(store)
    await begin(store, "u1", undoes="op-s-c")
    await finish(
        store, "u1", OperationState.FAILED, error="it has changed", undid=Undid("op-s-c", OperationState.UNDO_FAILED)
    )
    failed = await found(store)
    assert (failed.state, failed.error, failed.undone_at) == (OperationState.UNDO_FAILED, "it has changed", None)

    await begin(store, "u2", undoes="op-s-c")
    await finish(store, "u2", undid=Undid("op-s-c", OperationState.UNDONE))
    undone = await found(store)
    assert (undone.state, undone.error, undone.undo_attempts) == (OperationState.UNDONE, "", 2)


@pytest.mark.req("UNDO-4")
@pytest.mark.parametrize("state", [state for state in OperationState if state not in {"done", "undo_failed"}])
async def test_nothing_else_is_undone(store: SqlStateStore, state: OperationState) -> None:
    assert state not in OPERATION_MACHINE.sources_of(OperationState.UNDOING)
    await done(store)
    await begin(store, "u", undoes="op-s-c")
    await finish(store, "u", undid=Undid("op-s-c", OperationState.UNDONE))

    with pytest.raises(UnknownTransitionError):
        await begin(store, "again", undoes="op-s-c")
    assert await store.calls.find_call("s", "again") is None


@pytest.mark.req("UNDO-4")
async def test_a_compensation_undoes_no_compensation_and_nothing_of_another_session(
    store: SqlStateStore,
) -> None:
    await done(store)
    await store.sessions.ensure_session(a_session("t"))
    with pytest.raises(UnknownTransitionError):
        await store.calls.begin_call(a_record("u", "t"), an_operation("u", "t", undoes="op-s-c"))
    await begin(store, "u", undoes="op-s-c")
    await finish(store, "u", undid=Undid("op-s-c", OperationState.UNDONE))
    with pytest.raises(UnknownTransitionError):
        await begin(store, "redo", undoes="op-s-u")


@pytest.mark.req("UNDO-4", "REL-6")
async def test_a_start_calls_an_undo_unknown_that_was_cut_off(url: str, store: SqlStateStore) -> None:
    await done(store)
    await begin(store, "u", undoes="op-s-c")

    async with await SqlStateStore.open(url, replica_id="r1") as restarted:
        report = await restarted.journal.recover(NOW + 9)
        assert [one.operation_id for one in report.operations] == ["op-s-u"]
        cut_off = await found(restarted)
        assert (cut_off.state, cut_off.undone_at) == (OperationState.UNDO_UNKNOWN, None)
        assert "not known" in cut_off.error
        with pytest.raises(UnknownTransitionError):
            await begin(restarted, "again", undoes="op-s-c")


@pytest.mark.req("UNDO-4")
@pytest.mark.parametrize(
    ("took_effect", "state", "compensation"),
    [(True, OperationState.UNDONE, OperationState.DONE), (False, OperationState.UNDO_FAILED, OperationState.FAILED)],
)
async def test_somebody_says_what_became_of_an_undo(
    store: SqlStateStore, took_effect: bool, state: OperationState, compensation: OperationState
) -> None:
    await done(store)
    await begin(store, "u", undoes="op-s-c")
    unknown = Undid("op-s-c", OperationState.UNDO_UNKNOWN)
    await finish(store, "u", OperationState.OUTCOME_UNKNOWN, error="the provider went away", undid=unknown)

    settled = await store.journal.settle_operation("op-s-c", NOW + 7, took_effect=took_effect)

    assert settled == await found(store)
    assert (settled.state, settled.undone_at) == (state, NOW + 7 if took_effect else None)
    assert (await found(store, "op-s-u")).state is compensation
    with pytest.raises(UnknownTransitionError):
        await store.journal.settle_operation("op-s-c", NOW + 8, took_effect=took_effect)


@pytest.mark.parametrize(("took_effect", "state"), [(True, OperationState.DONE), (False, OperationState.FAILED)])
async def test_somebody_says_what_became_of_an_operation(
    store: SqlStateStore, took_effect: bool, state: OperationState
) -> None:
    await begin(store, "c")
    await finish(store, "c", OperationState.OUTCOME_UNKNOWN, error="cut off")

    assert (await store.journal.settle_operation("op-s-c", NOW, took_effect=took_effect)).state is state


async def test_only_what_is_unknown_is_settled(store: SqlStateStore) -> None:
    await done(store)
    with pytest.raises(UnknownTransitionError):
        await store.journal.settle_operation("op-s-c", NOW, took_effect=False)
    await begin(store, "u", undoes="op-s-c")
    unknown = Undid("op-s-c", OperationState.UNDO_UNKNOWN)
    await finish(store, "u", OperationState.OUTCOME_UNKNOWN, undid=unknown)
    with pytest.raises(UnknownTransitionError):
        await store.journal.settle_operation("op-s-u", NOW, took_effect=True)


async def test_operations_are_listed_by_state_and_every_page_is_full(store: SqlStateStore) -> None:
    for number in range(6):
        await begin(store, str(number))
        if number % 2:
            await finish(store, str(number))
    states = (OperationState.DONE, OperationState.UNDONE)
    page = await store.journal.newest_operations("s", 2, None, states)
    assert [one.call_id for one in page] == ["5", "3"]
    assert [one.call_id for one in await store.journal.newest_operations("s", 2, page[-1].sequence, states)] == ["1"]
