"""What an approval is worth for the call that goes on under it, and how calls end without one (CHK-3 to CHK-7)."""

import json
from dataclasses import dataclass

from interlock_gateway.core.call import CallKind, CallStatus
from interlock_gateway.core.checkpoint import ApproverDecision, Checkpoint, CheckpointState
from interlock_gateway.core.decision import Obligations
from interlock_gateway.core.jsonvalue import JsonObject
from interlock_gateway.pipeline.run import CallRun

NO_CHECKPOINT = "null"
VOID = "The approval is void"


def checkpoint_part(run: CallRun) -> str:
    """The policy input's `call.checkpoint`: says `approved` for the very call that was approved and for no other."""
    checkpoint = run.resuming
    if checkpoint is None:
        return NO_CHECKPOINT
    if checkpoint.state is not CheckpointState.APPROVED:
        outcome = "edited"
    else:
        outcome = "approved" if why_void(run, checkpoint) is None else "void"
    approvers = [{"id": answer.approver, "groups": list(answer.groups)} for answer in checkpoint.answers]
    return json.dumps({"id": checkpoint.checkpoint_id, "outcome": outcome, "approvers": approvers})


def why_void(run: CallRun, checkpoint: Checkpoint) -> str | None:
    """Why `checkpoint` does not approve this call; `None` when it does (CHK-3). Asked once its digest is known."""
    tool = run.known_tool
    same_call = (checkpoint.session_id, checkpoint.call_id) == (run.session_id, run.call_id)
    same_tool = (tool.name, tool.provider) == (checkpoint.tool, checkpoint.provider)
    conditions = (
        (checkpoint.state is CheckpointState.APPROVED, "nobody has given it"),
        (same_call, "it was given for another call"),
        (run.principal.id == checkpoint.requester, "it was given for a call of somebody else"),
        (same_tool, f"{checkpoint.tool} is not the tool that it was given for"),
        (tool.sha256 == checkpoint.pin, f"the definition of {tool.name} has changed since it was given"),
        (run.digest == checkpoint.digest, "the call or the policy is not what it was given for"),
    )
    return next((f"{VOID}: {why}." for holds, why in conditions if not holds), None)


def only_policy_changed(run: CallRun, checkpoint: Checkpoint, old_digest: str) -> bool:
    """Whether the approval is void for no other reason than a new policy. `old_digest` is the call's under the old."""
    same = (run.known_tool.provider, run.principal.id) == (checkpoint.provider, checkpoint.requester)
    return same and old_digest == checkpoint.digest and run.digest != checkpoint.digest


def satisfies(checkpoint: Checkpoint, asked: Obligations) -> bool:
    """Whether those who approved are as many, and of such groups, as policy asks for now (CHK-6)."""
    groups = {*asked.approvers, *(asked.escalate_to if checkpoint.escalated else ())}
    counted = {answer.approver for answer in checkpoint.approvals if not asked.approvers or groups & set(answer.groups)}
    return len(counted) >= (asked.quorum or 1)


@dataclass(frozen=True, slots=True)
class Ending:
    """How a call ends that was not approved: with a denial for reason `code`, or completed by a person's own words."""

    status: CallStatus
    outcome: str
    code: str
    message: str


def ending_of(checkpoint: Checkpoint) -> Ending:
    """How the call of a checkpoint ends whose approval cannot be used, or was not given."""
    said = checkpoint.ending
    if checkpoint.state is CheckpointState.WITHDRAWN:
        return _denied("withdrawn", f"Nobody is asked any more about this call: {checkpoint.closed_reason}.")
    if said is None:
        late = (
            "The approval was not used in time." if checkpoint.approvals else "Nobody decided about this call in time."
        )
        return _denied("expired", late)
    if said.decision is ApproverDecision.RESPOND:
        return Ending(CallStatus.COMPLETED, "responded", "checkpoint_responded", said.response)
    if said.decision is ApproverDecision.EDIT:
        return _denied("denied", f"A person changed this call's input, which cannot be done to {_what(checkpoint)}.")
    reason = f": {said.reason}" if said.reason else "."
    return _denied("denied", f"A person denied this call{reason}")


def outcome_of(checkpoint: Checkpoint) -> str:
    """What came of asking, in a word: a metric's label and a receipt's."""
    if checkpoint.state in (CheckpointState.APPROVED, CheckpointState.CONSUMED):
        return "approved"
    if checkpoint.state is CheckpointState.OPEN:
        return "open"
    if goes_on_edited(checkpoint):
        return "edited"
    return ending_of(checkpoint).outcome


def goes_on_edited(checkpoint: Checkpoint) -> bool:
    """Whether the call goes on with what an approver made of its input (CHK-7)."""
    said = checkpoint.ending
    edited = said is not None and said.decision is ApproverDecision.EDIT
    denied = checkpoint.state is CheckpointState.DENIED
    return denied and edited and checkpoint.kind in (CallKind.CALL, CallKind.EDIT)


def about(checkpoint: Checkpoint) -> JsonObject:
    """What the answer's details say about a checkpoint: which, what came of it, and who had a say."""
    return {
        "id": checkpoint.checkpoint_id,
        "outcome": outcome_of(checkpoint),
        "approvers": [answer.approver for answer in checkpoint.answers],
    }


def _denied(outcome: str, message: str) -> Ending:
    return Ending(CallStatus.DENIED, outcome, f"checkpoint_{outcome}", message)


def _what(checkpoint: Checkpoint) -> str:
    return "what was previewed" if checkpoint.kind is CallKind.APPLY else "an undo"
