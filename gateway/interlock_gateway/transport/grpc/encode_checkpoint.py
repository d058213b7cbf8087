"""From our own types to the protos: what approvers are shown. Every text passes `approvals.display` (CHK-10)."""

from collections.abc import Callable, Iterable
from typing import Any

from interlock.v1 import checkpoint_pb2, deliverable_pb2, principal_pb2

from interlock_gateway.approvals.display import shown
from interlock_gateway.approvals.history import PastCall
from interlock_gateway.core.call import CheckpointMode
from interlock_gateway.core.checkpoint import ApproverDecision, Checkpoint, CheckpointAnswer, CheckpointState
from interlock_gateway.core.jsonvalue import FrozenJsonObject, JsonValue
from interlock_gateway.core.tool import Classification
from interlock_gateway.transport.grpc import encode

# The generated stubs type enum fields by class and `Value` by int, so these are `Any` by necessity.
STATE: dict[CheckpointState, Any] = {
    state: checkpoint_pb2.CheckpointState.Value(f"CHECKPOINT_STATE_{state.name}") for state in CheckpointState
}
DECISION: dict[ApproverDecision, Any] = {
    decision: checkpoint_pb2.CheckpointDecision.Value(f"CHECKPOINT_DECISION_{decision.name}")
    for decision in ApproverDecision
}
MODE: dict[CheckpointMode, Any] = {
    mode: checkpoint_pb2.CheckpointMode.Value(f"CHECKPOINT_MODE_{mode.name}") for mode in CheckpointMode
}
Classify = Callable[[str, str], Classification | None]
"""What is known of a tool by its name and by who called it; `None` when it is not registered for them."""


def checkpoint(waiting: Checkpoint, classify: Classify, history: Iterable[PastCall] = ()) -> checkpoint_pb2.Checkpoint:
    """A checkpoint, as people may look at it."""
    safe = shown(waiting)
    message = checkpoint_pb2.Checkpoint(
        checkpoint_id=safe.checkpoint_id,
        state=STATE[safe.state],
        session_id=safe.session_id,
        call_id=safe.call_id,
        tool=safe.tool,
        requester=principal_pb2.Principal(id=safe.requester, kind=safe.requester_kind),
        intent=safe.intent,
        rendered_call=safe.rendered_call,
        input=safe.shown_input,
        facts=encode.json_bytes(safe.facts) if safe.facts else b"",
        preview=encode.preview(safe.preview) if safe.preview is not None else None,
        deliverable=_deliverable(safe.deliverable) if safe.deliverable is not None else None,
        history=[_past(one) for one in history],
        approver_groups=safe.groups,
        quorum=safe.quorum,
        answers=[_answer(one) for one in safe.answers],
        mode=MODE[safe.mode],
        call_digest=safe.digest,
        created_at=encode.timestamp(safe.created_at),
        expires_at=encode.timestamp(safe.expires_at),
        escalated=safe.escalated,
    )
    if safe.decision is not None:
        message.decision.CopyFrom(encode.decision(safe.decision, classify(waiting.tool, waiting.requester)))
    return message


def _answer(said: CheckpointAnswer) -> checkpoint_pb2.CheckpointAnswer:
    return checkpoint_pb2.CheckpointAnswer(
        approver=principal_pb2.Principal(id=said.approver, kind=said.approver_kind, groups=said.groups),
        decision=DECISION[said.decision],
        reason=said.reason,
        edited_input=said.edited_input,
        edit_difference=said.edit_difference,
        response=said.response,
        channel=said.channel,
        answered_at=encode.timestamp(said.answered_at),
    )


def _past(one: PastCall) -> checkpoint_pb2.CheckpointHistoryEntry:
    return checkpoint_pb2.CheckpointHistoryEntry(
        call_id=one.call_id,
        tool=one.tool,
        summary=one.summary,
        effect=encode.EFFECT[one.effect],
        verdict=encode.VERDICT[one.verdict],
        status=one.status,
        time=encode.timestamp(one.time),
    )


def _deliverable(written: FrozenJsonObject) -> deliverable_pb2.Deliverable:
    verdict = str(written.get("verdict", "")).upper()
    known = deliverable_pb2.DeliverableVerdict.DESCRIPTOR.values_by_name.get(f"DELIVERABLE_VERDICT_{verdict}")
    number: Any = known.number if known is not None else 0
    return deliverable_pb2.Deliverable(
        hidden_assumptions=_texts(written.get("hidden_assumptions")),
        failure_scenarios=_texts(written.get("failure_scenarios")),
        verdict=number,
        verdict_reason=str(written.get("verdict_reason", "")),
    )


def _texts(value: JsonValue) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []
