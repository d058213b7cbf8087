"""What an approver's answer does to a checkpoint (CHK-6, CHK-7): pure, so every way of answering counts alike."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from interlock_gateway.core.checkpoint import (
    CHECKPOINT_MACHINE,
    AnswerRefusedError,
    ApproverDecision,
    Checkpoint,
    CheckpointAnswer,
    CheckpointState,
    answered,
)
from interlock_gateway.core.machine import UnknownTransitionError

NOW = 1_000.0
PEOPLE = ("agent", "ann", "bob", "eve")
GROUPS = ("leads", "ops")


def a_checkpoint(**changes: object) -> Checkpoint:
    made = Checkpoint(
        checkpoint_id="k",
        session_id="s",
        call_id="c",
        request_digest="r",
        requester="agent",
        requester_kind="token",
        tool="wreck",
        provider="tools",
        pin="p",
        digest="d",
        policy_revision="1",
        input=b"{}",
        created_at=NOW,
        expires_at=NOW + 60,
    )
    return replace(made, **changes)  # type: ignore[arg-type]  # what a test wants to be different


def said(
    approver: str = "bob", *groups: str, decision: ApproverDecision = ApproverDecision.APPROVE
) -> CheckpointAnswer:
    return CheckpointAnswer(approver, "token", groups, decision, "so", "grpc", NOW)


answers = st.lists(
    st.builds(
        lambda who, groups, decision: said(who, *groups, decision=decision),
        st.sampled_from(PEOPLE),
        st.lists(st.sampled_from(GROUPS), unique=True),
        st.sampled_from(ApproverDecision),
    ),
    max_size=12,
)


@pytest.mark.req("CHK-6", "REL-2")
@given(answers, st.integers(1, 4), st.lists(st.sampled_from(GROUPS), unique=True))
def test_approved_is_what_as_many_different_people_of_the_groups_approved_and_nobody_ended(
    given_answers: list[CheckpointAnswer], quorum: int, approvers: list[str]
) -> None:
    checkpoint = a_checkpoint(quorum=quorum, approvers=tuple(approvers))
    for answer in given_answers:
        try:
            checkpoint = answered(checkpoint, answer, NOW)
        except AnswerRefusedError:
            continue
    people = [answer.approver for answer in checkpoint.answers]
    assert len(people) == len(set(people))
    assert "agent" not in people
    assert all(not approvers or set(approvers) & set(answer.groups) for answer in checkpoint.answers)
    assert (checkpoint.state is CheckpointState.APPROVED) is (
        len(checkpoint.approvals) >= quorum and checkpoint.ending is None
    )
    assert (checkpoint.state is CheckpointState.DENIED) is (checkpoint.ending is not None)


@pytest.mark.req("CHK-6")
@pytest.mark.parametrize(
    ("checkpoint", "answer", "now", "code"),
    [
        (a_checkpoint(), said("agent"), NOW, "own_call"),
        (a_checkpoint(approvers=("leads",)), said("bob", "ops"), NOW, "not_an_approver"),
        (a_checkpoint(), said(), NOW + 60, "expired"),
        (a_checkpoint(state=CheckpointState.WITHDRAWN), said(), NOW, "not_open"),
        (a_checkpoint(quorum=2, answers=(said(),)), said(), NOW, "answered_before"),
    ],
)
def test_an_answer_that_does_not_count_is_refused(
    checkpoint: Checkpoint, answer: CheckpointAnswer, now: float, code: str
) -> None:
    with pytest.raises(AnswerRefusedError) as refused:
        answered(checkpoint, answer, now)
    assert refused.value.code == code


@pytest.mark.req("CHK-6")
def test_the_second_groups_count_only_after_escalation() -> None:
    checkpoint = a_checkpoint(approvers=("leads",), escalate_to=("ops",))
    assert not checkpoint.may_be_answered_by(("ops",))
    assert replace(checkpoint, escalated=True).may_be_answered_by(("ops",))


@pytest.mark.req("CHK-3")
def test_what_has_ended_never_goes_anywhere_else() -> None:
    ended = (CheckpointState.DENIED, CheckpointState.EXPIRED, CheckpointState.WITHDRAWN, CheckpointState.CONSUMED)
    for state in ended:
        for target in CheckpointState:
            with pytest.raises(UnknownTransitionError):
                CHECKPOINT_MACHINE.step(state, target)
