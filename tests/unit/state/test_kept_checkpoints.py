import asyncio
from collections import Counter

import pytest
from interlock_gateway.core.call import CallKind, CallState, CallStatus, CheckpointMode
from interlock_gateway.core.change import Change, Topic
from interlock_gateway.core.checkpoint import (
    AnswerRefusedError,
    ApproverDecision,
    Checkpoint,
    CheckpointState,
)
from interlock_gateway.core.decision import Decision, Obligations, Reason, Verdict
from interlock_gateway.core.machine import UnknownTransitionError
from interlock_gateway.core.operation import OperationState
from interlock_gateway.core.outcome import Preview
from interlock_gateway.pipeline.ports import UnknownRecordError
from interlock_gateway.state.store import SqlStateStore
from state_records import (
    NOW,
    a_checkpoint,
    a_denial,
    a_record,
    a_session,
    a_waiting_call,
    an_answer,
    an_operation,
)

LATER = NOW + 600


async def opened(store: SqlStateStore, checkpoint: Checkpoint | None = None) -> Checkpoint:
    checkpoint = a_checkpoint() if checkpoint is None else checkpoint
    record = a_waiting_call(checkpoint.call_id, checkpoint.session_id)
    kept = (await store.checkpoints.open_checkpoint(checkpoint, record)).checkpoint
    assert kept is not None
    return kept


async def approved(store: SqlStateStore, checkpoint: Checkpoint | None = None) -> Checkpoint:
    checkpoint = await opened(store, checkpoint)
    return await store.checkpoints.answer_checkpoint(checkpoint.checkpoint_id, an_answer(), NOW)


async def state_of(store: SqlStateStore, checkpoint_id: str = "k") -> CheckpointState:
    checkpoint = await store.checkpoints.get_checkpoint(checkpoint_id)
    assert checkpoint is not None
    return checkpoint.state


async def call_state(store: SqlStateStore, call_id: str = "c") -> CallState:
    record = await store.calls.find_call("s", call_id)
    assert record is not None
    return record.state


async def test_a_checkpoint_comes_back_as_it_was_opened(store: SqlStateStore) -> None:
    checkpoint = a_checkpoint(
        input=bytes(range(256)),
        kind=CallKind.APPLY,
        mode=CheckpointMode.DETACH,
        workdir="/w",
        intent="clean \x00 \ud800",
        labels={"ticket": "T-1"},
        deliverable={"verdict": "proceed", "hidden_assumptions": ["a"]},
        pending_id="p",
        operation_id="o",
        edited_from="j",
        decision=Decision("d1", Verdict.CHECKPOINT, (Reason("r", "m", "c/r"),), Obligations(approvers=("ops",))),
        facts={"class": "file", "n": [1.5, None]},
        shown_input=b'{"path":"***"}',
        rendered_call="write a",
        preview=Preview(("a",), "text", {"bytes": 1}),
        approvers=("ops",),
        quorum=2,
        escalate_to=("leads",),
        escalate_at=NOW + 60,
    )

    assert await opened(store, checkpoint) == checkpoint
    assert await store.checkpoints.get_checkpoint("k") == checkpoint
    assert await store.checkpoints.checkpoint_of_call("s", "c") == checkpoint
    assert await store.checkpoints.get_checkpoint("nothing") is None
    assert await store.checkpoints.checkpoint_of_call("s", "nothing") is None


@pytest.mark.req("CHK-9")
async def test_a_checkpoint_and_what_was_said_to_it_survive_a_restart(store: SqlStateStore, migrated: str) -> None:
    await opened(store, a_checkpoint(quorum=2))
    said = await store.checkpoints.answer_checkpoint("k", an_answer(reason="looks right"), NOW + 1)

    async with await SqlStateStore.open(migrated, replica_id="r2") as other:
        kept = await other.checkpoints.get_checkpoint("k")
        assert kept == said
        assert kept.answers == (an_answer(reason="looks right"),)
        assert await call_state(other) is CallState.AWAITING_CHECKPOINT


async def test_a_call_id_that_was_used_gets_no_checkpoint(store: SqlStateStore) -> None:
    await store.calls.record_outcome(a_denial())

    result = await store.checkpoints.open_checkpoint(a_checkpoint(), a_waiting_call())

    assert (result.checkpoint, result.existing) == (None, a_denial())
    assert await store.checkpoints.get_checkpoint("k") is None


async def test_a_call_that_waits_gets_a_further_checkpoint_only_from_an_edit_of_its_last_one(
    store: SqlStateStore,
) -> None:
    await opened(store)
    second = a_checkpoint("k2", edited_from="k")

    refused = await store.checkpoints.open_checkpoint(second, a_waiting_call())
    assert refused.existing is not None
    await store.checkpoints.answer_checkpoint("k", an_answer(decision=ApproverDecision.EDIT), NOW)
    # What somebody asks for once more is not a new question: people have answered it.
    repeated = await store.checkpoints.open_checkpoint(a_checkpoint("k3"), a_waiting_call())
    assert repeated.existing is not None

    assert await opened(store, second) == second
    assert await store.checkpoints.checkpoint_of_call("s", "c") == second


@pytest.mark.req("CHK-3")
async def test_a_checkpoint_in_the_place_of_an_approved_one_ends_that_approval(store: SqlStateStore) -> None:
    await approved(store)
    other_request = a_waiting_call(request_digest="another input")

    opening = store.checkpoints.open_checkpoint
    assert (await opening(a_checkpoint("k2"), a_waiting_call())).checkpoint is None
    assert (await opening(a_checkpoint("k2"), other_request, instead_of="k")).checkpoint is None
    assert (await opening(a_checkpoint("k2"), a_waiting_call(), instead_of="k")).checkpoint is not None

    assert await state_of(store, "k") is CheckpointState.EXPIRED
    outcome = await store.checkpoints.begin_approved("k", "d" * 64, a_record(), an_operation(), NOW)
    assert outcome.operation is None


async def test_a_checkpoint_is_opened_for_a_call_that_waits_and_for_nothing_else(store: SqlStateStore) -> None:
    for checkpoint, record in (
        (a_checkpoint(), a_record()),
        (a_checkpoint(state=CheckpointState.DENIED), a_waiting_call()),
        (a_checkpoint(), a_waiting_call("another")),
    ):
        with pytest.raises(ValueError, match="checkpoint"):
            await store.checkpoints.open_checkpoint(checkpoint, record)


@pytest.mark.req("CHK-6")
async def test_a_refused_answer_changes_nothing(store: SqlStateStore) -> None:
    await opened(store, a_checkpoint(approvers=("leads",)))

    for answer in (an_answer("alice", groups=("leads",)), an_answer()):
        with pytest.raises(AnswerRefusedError):
            await store.checkpoints.answer_checkpoint("k", answer, NOW)
    with pytest.raises(UnknownRecordError):
        await store.checkpoints.answer_checkpoint("nothing", an_answer(), NOW)

    assert await store.checkpoints.get_checkpoint("k") == a_checkpoint(approvers=("leads",))


@pytest.mark.req("CHK-6", "CHK-9")
async def test_of_racing_answers_on_two_replicas_each_counts_once_or_is_refused(
    store: SqlStateStore, migrated: str
) -> None:
    await opened(store, a_checkpoint(quorum=5))

    async def answer(replica: SqlStateStore, person: int) -> bool:
        try:
            await replica.checkpoints.answer_checkpoint("k", an_answer(f"p{person}"), NOW)
        except AnswerRefusedError:
            return False
        return True

    async with await SqlStateStore.open(migrated, replica_id="r2", busy_timeout_s=30) as other:
        counted = await asyncio.gather(*(answer(at, n % 10) for at in (store, other) for n in range(20)))
        checkpoint = await other.checkpoints.get_checkpoint("k")

    assert checkpoint is not None
    assert checkpoint.state is CheckpointState.APPROVED
    assert sum(counted) == len(checkpoint.answers) == len({said.approver for said in checkpoint.answers}) == 5


@pytest.mark.req("REL-3", "CHK-3")
async def test_of_racing_redeemers_on_two_replicas_one_begins_each_call(store: SqlStateStore, migrated: str) -> None:
    """The short version for SQLite: 50 approvals, 20 racers, two stores in one process."""
    for n in range(50):
        await approved(store, a_checkpoint(f"k{n}", f"c{n}"))

    async def redeem(replica: SqlStateStore, n: int, racer: str) -> str | None:
        operation = an_operation(f"c{n}", operation_id=f"{n} {racer}")
        begun = await replica.checkpoints.begin_approved(f"k{n}", "d" * 64, a_record(f"c{n}"), operation, NOW)
        assert (begun.operation is None) is (begun.existing is not None)
        return begun.operation.call_id if begun.operation is not None else None

    async with await SqlStateStore.open(migrated, replica_id="r2", busy_timeout_s=30) as other:
        won = await asyncio.gather(
            *(redeem(at, n, f"{at is store} {k}") for n in range(50) for k in range(10) for at in (store, other))
        )

    assert Counter(call for call in won if call is not None) == Counter(f"c{n}" for n in range(50))
    assert len(await store.journal.list_operations("s", 1000)) == 50


@pytest.mark.req("CHK-3")
async def test_only_an_approval_of_this_call_in_time_is_used(store: SqlStateStore) -> None:
    await opened(store, a_checkpoint("open", "c1"))
    await approved(store, a_checkpoint("good", "c2"))
    await approved(store, a_checkpoint("elsewhere", "c3"))
    begin = store.checkpoints.begin_approved

    attempts = [
        await begin("open", "d" * 64, a_record("c1"), an_operation("c1"), NOW),
        await begin("good", "e" * 64, a_record("c2"), an_operation("c2"), NOW),
        await begin("good", "d" * 64, a_record("c2"), an_operation("c2"), LATER),
        await begin("elsewhere", "d" * 64, a_record("c2"), an_operation("c2"), NOW),
        await begin("good", "d" * 64, a_record("c2", request_digest="another"), an_operation("c2"), NOW),
    ]

    assert all(attempt.operation is None and attempt.existing is not None for attempt in attempts)
    assert await store.journal.list_operations("s", 10) == ()
    begun = await begin("good", "d" * 64, a_record("c2"), an_operation("c2"), NOW)
    assert begun.operation is not None
    assert (await state_of(store, "good"), await call_state(store, "c2")) == (
        CheckpointState.CONSUMED,
        CallState.DISPATCHING,
    )
    await store.calls.finish_call(
        "s", "c2", begun.operation.operation_id, CallState.COMPLETED, OperationState.DONE, now=NOW, result=b"r"
    )


async def test_a_call_that_waits_is_ended_once_and_its_approval_with_it(store: SqlStateStore) -> None:
    await approved(store)
    ending = a_denial()

    assert await store.checkpoints.settle_waiting(ending) == ending
    assert await store.checkpoints.settle_waiting(a_record(state=CallState.COMPLETED)) == ending

    assert await state_of(store) is CheckpointState.EXPIRED
    assert await store.calls.find_call("s", "c") == ending
    with pytest.raises(UnknownRecordError):
        await store.checkpoints.settle_waiting(a_denial("nothing"))


async def test_a_call_that_ends_leaves_nothing_open(store: SqlStateStore) -> None:
    await opened(store)
    await store.checkpoints.settle_waiting(a_denial())

    assert await state_of(store) is CheckpointState.WITHDRAWN


async def test_a_waiting_call_is_not_settled_as_one_that_still_runs(store: SqlStateStore) -> None:
    await opened(store)

    with pytest.raises(UnknownTransitionError):
        await store.checkpoints.settle_waiting(a_record(state=CallState.DISPATCHING))
    assert await call_state(store) is CallState.AWAITING_CHECKPOINT


async def test_only_an_open_checkpoint_is_withdrawn(store: SqlStateStore) -> None:
    await opened(store)

    withdrawn = await store.checkpoints.withdraw_checkpoint("k", NOW + 1, "the caller has gone")

    assert withdrawn is not None
    assert (withdrawn.state, withdrawn.closed_reason) == (CheckpointState.WITHDRAWN, "the caller has gone")
    assert await store.checkpoints.withdraw_checkpoint("k", NOW + 2, "again") is None
    with pytest.raises(AnswerRefusedError):
        await store.checkpoints.answer_checkpoint("k", an_answer(), NOW)


@pytest.mark.req("CHK-6")
async def test_what_is_past_its_expiry_expires_whether_it_was_approved_or_not(store: SqlStateStore) -> None:
    await opened(store, a_checkpoint("open", "c1"))
    await approved(store, a_checkpoint("approved", "c2"))
    await opened(store, a_checkpoint("later", "c3", expires_at=LATER + 1))

    assert await store.checkpoints.count_open_checkpoints(NOW) == 2
    expired = await store.checkpoints.expire_checkpoints(LATER)

    assert {checkpoint.checkpoint_id for checkpoint in expired} == {"open", "approved"}
    assert all(checkpoint.state is CheckpointState.EXPIRED for checkpoint in expired)
    assert await store.checkpoints.expire_checkpoints(LATER) == ()
    assert await store.checkpoints.count_open_checkpoints(LATER) == 1


@pytest.mark.req("CHK-6")
async def test_an_escalated_checkpoint_is_for_its_second_groups_too(store: SqlStateStore) -> None:
    checkpoint = a_checkpoint(approvers=("leads",), escalate_to=("ops",), escalate_at=NOW + 60)
    await opened(store, checkpoint)

    assert await store.checkpoints.escalate_checkpoints(NOW + 59) == ()
    with pytest.raises(AnswerRefusedError):
        await store.checkpoints.answer_checkpoint("k", an_answer(), NOW + 59)
    (escalated,) = await store.checkpoints.escalate_checkpoints(NOW + 60)

    assert escalated.groups == ("leads", "ops")
    assert await store.checkpoints.escalate_checkpoints(NOW + 61) == ()
    answered = await store.checkpoints.answer_checkpoint("k", an_answer(), NOW + 61)
    assert answered.state is CheckpointState.APPROVED


async def test_checkpoints_are_listed_by_expiry_page_by_page(store: SqlStateStore) -> None:
    await store.sessions.ensure_session(a_session("t"))
    for n, session_id in enumerate(("s", "t", "s", "s")):
        await opened(store, a_checkpoint(f"k{n}", f"c{n}", session_id, expires_at=LATER - n // 2))
    await store.checkpoints.withdraw_checkpoint("k3", NOW, "gone")
    listing = store.checkpoints.list_checkpoints

    async def ids(*states: CheckpointState, session_id: str = "") -> list[str]:
        return [checkpoint.checkpoint_id for checkpoint in await listing(states, 10, session_id=session_id)]

    assert await ids(CheckpointState.OPEN) == ["k2", "k0", "k1"]
    assert await ids(CheckpointState.OPEN, CheckpointState.WITHDRAWN) == ["k2", "k3", "k0", "k1"]
    assert await ids(CheckpointState.OPEN, session_id="s") == ["k2", "k0"]
    (first,) = await listing((CheckpointState.OPEN,), 1)
    page = await listing((CheckpointState.OPEN,), 1, after=(first.expires_at, first.checkpoint_id))
    assert [checkpoint.checkpoint_id for checkpoint in page] == ["k0"]


async def test_every_change_is_told_after_it_is_kept(store: SqlStateStore) -> None:
    told: list[Change] = []
    forget = store.changes.subscribe(told.append)
    await approved(store)
    await store.checkpoints.begin_approved("k", "d" * 64, a_record(), an_operation(), NOW)
    await store.sessions.close_session("s", NOW)  # answered after what was told before it
    forget()

    assert told.count(Change(Topic.CHECKPOINT, "s", "k")) == 3
    assert told.count(Change(Topic.CALL, "s", "c")) == 3


async def test_of_what_was_refused_nothing_is_told(store: SqlStateStore) -> None:
    await opened(store)
    told: list[Change] = []
    store.changes.subscribe(told.append)
    refused = store.checkpoints.answer_checkpoint("k", an_answer("alice"), NOW)
    late = store.checkpoints.begin_approved("k", "d" * 64, a_record(), an_operation(), NOW)
    await asyncio.gather(refused, late, return_exceptions=True)
    await store.sessions.save_session_facts({"s": b"{}"})

    assert [change for change in told if change.topic is Topic.CHECKPOINT] == []
    assert a_waiting_call().status is CallStatus.AWAITING_CHECKPOINT
