"""The call that waits already, found by what it would do: for clients that know no call ids (CHK-4)."""

import pytest
from interlock_gateway.core.call import CallState
from interlock_gateway.core.checkpoint import ApproverDecision, Checkpoint
from interlock_gateway.core.operation import OperationState
from interlock_gateway.state.store import SqlStateStore
from state_records import NOW, a_checkpoint, a_denial, a_record, a_waiting_call, an_answer, an_operation


async def opened(store: SqlStateStore, name: str, digest: str, at: float = NOW) -> Checkpoint:
    checkpoint = a_checkpoint(checkpoint_id=f"k-{name}", call_id=name, digest=digest, created_at=at)
    kept = await store.checkpoints.open_checkpoint(checkpoint, a_waiting_call(name, checkpoint.session_id))
    assert kept.checkpoint is not None
    return kept.checkpoint


async def found(store: SqlStateStore, digest: str, session_id: str = "s") -> str | None:
    checkpoint = await store.checkpoints.waiting_alike(session_id, digest)
    return checkpoint.call_id if checkpoint is not None else None


@pytest.mark.req("CHK-4", "MCP-1")
async def test_the_newest_call_of_a_digest_that_waits_is_found_in_its_session_alone(store: SqlStateStore) -> None:
    await opened(store, "older", "d1")
    await opened(store, "newer", "d1", NOW + 1)
    await opened(store, "another", "d2")

    assert await found(store, "d1") == "newer"
    assert await found(store, "d2") == "another"
    assert await found(store, "d3") is None
    assert await found(store, "d1", "another session") is None


@pytest.mark.req("CHK-4", "MCP-1")
async def test_a_call_that_people_decided_about_is_found_until_somebody_has_asked_what_came_of_it(
    store: SqlStateStore,
) -> None:
    await opened(store, "approved", "d1")
    await store.checkpoints.answer_checkpoint("k-approved", an_answer(), NOW)
    await opened(store, "denied", "d2")
    denial = an_answer(decision=ApproverDecision.DENY, reason="no")
    await store.checkpoints.answer_checkpoint("k-denied", denial, NOW)

    assert (await found(store, "d1"), await found(store, "d2")) == ("approved", "denied")
    for name in ("approved", "denied"):
        await store.checkpoints.settle_waiting(a_denial(name))
    assert (await found(store, "d1"), await found(store, "d2")) == (None, None)


@pytest.mark.req("CHK-4", "MCP-1")
async def test_a_call_that_runs_by_leave_is_found_until_it_has_ended(store: SqlStateStore) -> None:
    await opened(store, "c", "d1")
    await store.checkpoints.answer_checkpoint("k-c", an_answer(), NOW)
    begun = await store.checkpoints.begin_approved("k-c", "d1", a_record("c"), an_operation("c"), NOW)
    assert begun.operation is not None

    assert await found(store, "d1") == "c"
    await store.calls.finish_call("s", "c", "op-s-c", CallState.COMPLETED, OperationState.DONE, now=NOW)
    assert await found(store, "d1") is None
