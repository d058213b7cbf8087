"""Records for the tests of the state store; imported by the tests and by the processes they start."""

from dataclasses import replace
from typing import Any

from interlock_gateway.core.call import CallState, CallStatus
from interlock_gateway.core.checkpoint import ApproverDecision, Checkpoint, CheckpointAnswer
from interlock_gateway.core.operation import Operation, OperationState
from interlock_gateway.core.pending import PendingAction, PendingOrigin
from interlock_gateway.core.session import Session
from interlock_gateway.pipeline.ports import CallRecord

NOW = 1_000.0


def a_session(session_id: str = "s", **changes: Any) -> Session:
    return replace(Session(session_id, owner="alice", opened_at=NOW), **changes)


def a_record(call_id: str = "c", session_id: str = "s", **changes: Any) -> CallRecord:
    return replace(CallRecord(session_id, call_id, "digest", CallState.DISPATCHING, NOW), **changes)


def a_denial(call_id: str = "c", session_id: str = "s") -> CallRecord:
    return a_record(call_id, session_id, state=CallState.DENIED, status=CallStatus.DENIED, result=b"denied")


def an_operation(call_id: str = "c", session_id: str = "s", **changes: Any) -> Operation:
    operation = Operation(
        operation_id=f"op-{session_id}-{call_id}",
        session_id=session_id,
        call_id=call_id,
        tool="write_file",
        provider="files",
        effect="mutating",
        audit_operation="write",
        state=OperationState.INTENDED,
        input=b'{"path":"a"}',
        digest="d" * 64,
        intended_at=NOW,
    )
    return replace(operation, **changes)


def an_action(pending_id: str = "p", session_id: str = "s", **changes: Any) -> PendingAction:
    action = PendingAction(
        pending_id=pending_id,
        session_id=session_id,
        call_id="c",
        origin=PendingOrigin.PREVIEW,
        source_tool="write_file",
        provider="files",
        label=f"write {pending_id}",
        input=b'{"path":"a"}',
        workdir="",
        digest="d" * 64,
        pin="f" * 64,
        created_at=NOW,
        expires_at=NOW + 1800,
    )
    return replace(action, **changes)


def a_checkpoint(checkpoint_id: str = "k", call_id: str = "c", session_id: str = "s", **changes: Any) -> Checkpoint:
    checkpoint = Checkpoint(
        checkpoint_id=checkpoint_id,
        session_id=session_id,
        call_id=call_id,
        request_digest="digest",
        requester="alice",
        requester_kind="agent",
        tool="write_file",
        provider="files",
        pin="f" * 64,
        digest="d" * 64,
        policy_revision="1",
        input=b'{"path":"a"}',
        created_at=NOW,
        expires_at=NOW + 600,
    )
    return replace(checkpoint, **changes)


def a_waiting_call(call_id: str = "c", session_id: str = "s", **changes: Any) -> CallRecord:
    record = a_record(call_id, session_id, state=CallState.AWAITING_CHECKPOINT, status=CallStatus.AWAITING_CHECKPOINT)
    return replace(record, **changes)


def an_answer(approver: str = "bob", **changes: Any) -> CheckpointAnswer:
    answer = CheckpointAnswer(
        approver=approver,
        approver_kind="human",
        groups=("ops",),
        decision=ApproverDecision.APPROVE,
        reason="",
        channel="grpc",
        answered_at=NOW,
    )
    return replace(answer, **changes)
