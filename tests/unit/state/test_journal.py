import pytest
from interlock_gateway.core.call import CallState, CallStatus
from interlock_gateway.core.operation import Operation, OperationState
from interlock_gateway.pipeline.ports import RecoveryReport, UnknownRecordError
from interlock_gateway.state.store import SqlStateStore
from state_records import NOW, a_record, a_session, an_action, an_operation


async def begin(store: SqlStateStore, call_id: str = "c", session_id: str = "s") -> Operation:
    begun = await store.calls.begin_call(a_record(call_id, session_id), an_operation(call_id, session_id))
    assert begun.operation is not None
    return begun.operation


async def done(store: SqlStateStore, call_id: str = "c") -> None:
    await begin(store, call_id)
    await store.calls.finish_call(
        "s", call_id, f"op-s-{call_id}", CallState.COMPLETED, OperationState.DONE, now=NOW + 1
    )


@pytest.mark.req("PIPE-9")
async def test_a_sessions_operations_are_listed_in_order_page_by_page(store: SqlStateStore) -> None:
    await store.sessions.ensure_session(a_session("t"))
    first = await begin(store, "1")
    await begin(store, "elsewhere", "t")
    second = await begin(store, "2")
    third = await begin(store, "3")

    assert await store.journal.list_operations("s", 2) == (first, second)
    assert await store.journal.list_operations("s", 2, second.sequence) == (third,)
    assert await store.journal.list_operations("nobody", 2) == ()


async def test_an_operation_that_is_not_there_is_none(store: SqlStateStore) -> None:
    assert await store.journal.get_operation("nothing") is None
    with pytest.raises(UnknownRecordError):
        await store.journal.settle_operation("nothing", NOW, took_effect=True)


@pytest.mark.req("PIPE-9")
async def test_a_start_calls_unknown_what_this_replica_left_intended(url: str, store: SqlStateStore) -> None:
    await done(store, "finished")
    operation = await begin(store, "1")

    async with await SqlStateStore.open(url, replica_id="r1") as restarted:
        report = await restarted.journal.recover(NOW + 9)

        assert [(found.operation_id, found.state) for found in report.operations] == [
            (operation.operation_id, OperationState.OUTCOME_UNKNOWN)
        ]
        assert report.operations[0] == await restarted.journal.get_operation(operation.operation_id)
        record = await restarted.calls.find_call("s", "1")
        assert record is not None
        assert (record.state, record.status) == (CallState.OUTCOME_UNKNOWN, CallStatus.OUTCOME_UNKNOWN)
        assert record.result is not None
        result = restarted.calls.decode_result(record.result)
        assert (result.call_id, result.status, result.is_error) == ("1", CallStatus.OUTCOME_UNKNOWN, True)
        assert await restarted.journal.recover(NOW + 10) == RecoveryReport()


@pytest.mark.req("PIPE-9")
async def test_a_start_leaves_alone_what_another_replica_is_running(url: str, store: SqlStateStore) -> None:
    await begin(store)
    await store.pending.push_pending(an_action())
    await store.pending.claim_pending("p", "somebody", NOW)

    async with await SqlStateStore.open(url, replica_id="r2") as other:
        assert await other.journal.recover(NOW) == RecoveryReport()
    await store.calls.finish_call("s", "c", "op-s-c", CallState.COMPLETED, OperationState.DONE, now=NOW)


@pytest.mark.req("PREV-13")
async def test_a_start_calls_unknown_what_was_being_applied_and_does_not_offer_it_again(
    url: str, store: SqlStateStore
) -> None:
    await store.pending.push_pending(an_action("below"))
    await store.pending.push_pending(an_action("top"))
    await store.pending.claim_pending("top", "somebody", NOW)

    async with await SqlStateStore.open(url, replica_id="r1") as restarted:
        report = await restarted.journal.recover(NOW)

        assert [action.pending_id for action in report.pending] == ["top"]
        assert await restarted.pending.unknown_pending("s") == report.pending
        assert [action.pending_id for action in await restarted.pending.list_pending("s", NOW)] == ["below"]
        assert await restarted.pending.claim_pending("top", "somebody", NOW) is None
