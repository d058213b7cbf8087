"""Checkpoints: calls that wait for a person, bound to the call's digest, single use, expiring (CHK-1 to CHK-10)."""

from dataclasses import dataclass, field, replace
from enum import StrEnum

from interlock_gateway.core.call import CallKind, CheckpointMode
from interlock_gateway.core.decision import Decision
from interlock_gateway.core.jsonvalue import FrozenJsonObject
from interlock_gateway.core.machine import StateMachine
from interlock_gateway.core.outcome import Preview


class CheckpointState(StrEnum):
    """Where a checkpoint stands (pipeline.md, State machines)."""

    OPEN = "open"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    CONSUMED = "consumed"


CHECKPOINT_MACHINE: StateMachine[CheckpointState] = StateMachine(
    "checkpoint",
    {
        CheckpointState.OPEN: frozenset(
            {
                CheckpointState.APPROVED,
                CheckpointState.DENIED,
                CheckpointState.EXPIRED,
                CheckpointState.WITHDRAWN,
            }
        ),
        CheckpointState.APPROVED: frozenset({CheckpointState.CONSUMED, CheckpointState.EXPIRED}),
    },
)


class ApproverDecision(StrEnum):
    """What an approver says (CHK-7). Everything but `approve` ends the call as it was asked."""

    APPROVE = "approve"
    DENY = "deny"
    EDIT = "edit"
    RESPOND = "respond"


@dataclass(frozen=True, slots=True)
class CheckpointAnswer:
    """What one approver said. `answered_at` is Unix seconds; `channel` is `grpc`, `console`, `cli`, `webhook` or `mcp`.

    `edited_input` and `edit_difference` are set with `edit` only, `response` with `respond` only.
    """

    approver: str
    approver_kind: str
    groups: tuple[str, ...]
    decision: ApproverDecision
    reason: str
    channel: str
    answered_at: float
    edited_input: bytes = b""
    edit_difference: str = ""
    response: str = ""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One call that waits for a person. Times are Unix seconds; what people are shown is redacted before it is kept.

    `digest` is what is approved (CHK-3). `input` is what the agent sent, byte for byte, from which the call goes on;
    `shown_input` is what would be sent to the tool, with secrets masked. `kind` and `pending_id` say what the call is:
    an agent's own, the apply of a previewed action, for which `resolve_input` is what `resolve` was called with, or the
    undo of `operation_id`. `approvers` are the groups that may
    answer, empty for any approver; from `escalate_at` on those of `escalate_to` may too. `edited_from` is the
    checkpoint whose edit made this call, `traceparent` the span of the call as it began to wait.
    """

    checkpoint_id: str
    session_id: str
    call_id: str
    request_digest: str
    requester: str
    requester_kind: str
    tool: str
    provider: str
    pin: str
    digest: str
    policy_revision: str
    input: bytes
    created_at: float
    expires_at: float
    kind: CallKind = CallKind.CALL
    mode: CheckpointMode = CheckpointMode.WAIT
    workdir: str = ""
    intent: str = ""
    labels: FrozenJsonObject = field(default_factory=dict)
    deliverable: FrozenJsonObject | None = None
    pending_id: str = ""
    resolve_input: bytes = b""
    operation_id: str = ""
    edited_from: str = ""
    traceparent: str = ""
    decision: Decision | None = None
    facts: FrozenJsonObject = field(default_factory=dict)
    shown_input: bytes = b""
    rendered_call: str = ""
    preview: Preview | None = None
    approvers: tuple[str, ...] = ()
    quorum: int = 1
    escalate_to: tuple[str, ...] = ()
    escalate_at: float | None = None
    escalated: bool = False
    state: CheckpointState = CheckpointState.OPEN
    answers: tuple[CheckpointAnswer, ...] = ()
    closed_reason: str = ""
    updated_at: float = 0.0
    version: int = 0

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups whose members may answer now; empty means any approver."""
        return tuple(dict.fromkeys((*self.approvers, *self.escalate_to))) if self.escalated else self.approvers

    def may_be_answered_by(self, groups: tuple[str, ...]) -> bool:
        """Whether an approver of these groups may answer it now (CHK-6)."""
        return not self.groups or bool(set(self.groups) & set(groups))

    @property
    def approvals(self) -> tuple[CheckpointAnswer, ...]:
        """Who approved so far, each person once."""
        return tuple(answer for answer in self.answers if answer.decision is ApproverDecision.APPROVE)

    @property
    def ending(self) -> CheckpointAnswer | None:
        """The answer that denied, edited or responded; `None` when there was none."""
        return next((answer for answer in self.answers if answer.decision is not ApproverDecision.APPROVE), None)

    def moved(self, target: CheckpointState, now: float, reason: str = "") -> "Checkpoint":
        """The checkpoint in state `target`; raises `UnknownTransitionError`."""
        state = CHECKPOINT_MACHINE.step(self.state, target)
        return replace(self, state=state, updated_at=now, closed_reason=reason or self.closed_reason)


class AnswerRefusedError(Exception):
    """An approver's answer that does not count; `code` is stable, the message is for the approver."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def answered(checkpoint: Checkpoint, answer: CheckpointAnswer, now: float) -> Checkpoint:
    """`checkpoint` after `answer` (CHK-6, CHK-7): pure, so that every replica and every channel counts alike.

    Raises `AnswerRefusedError`: it is not open, its time is over, the approver is the one who asks, is in none of the
    groups, or has answered before.
    """
    if checkpoint.state is not CheckpointState.OPEN:
        raise AnswerRefusedError("not_open", f"this checkpoint is {checkpoint.state.value}")
    if now >= checkpoint.expires_at:
        raise AnswerRefusedError("expired", "this checkpoint has expired")
    if answer.approver == checkpoint.requester:
        raise AnswerRefusedError("own_call", "whoever asks for a call never approves it")
    if not checkpoint.may_be_answered_by(answer.groups):
        wanted = ", ".join(checkpoint.groups)
        raise AnswerRefusedError("not_an_approver", f"this checkpoint is for members of: {wanted}")
    if any(earlier.approver == answer.approver for earlier in checkpoint.answers):
        raise AnswerRefusedError("answered_before", "you have answered this checkpoint before")
    after = replace(checkpoint, answers=(*checkpoint.answers, answer), updated_at=now)
    if answer.decision is not ApproverDecision.APPROVE:
        return after.moved(CheckpointState.DENIED, now, answer.decision.value)
    if len(after.approvals) >= after.quorum:
        return after.moved(CheckpointState.APPROVED, now, "approved")
    return after
