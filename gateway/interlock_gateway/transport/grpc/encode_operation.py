"""Operations and rollbacks, from our own types to the protos."""

from typing import Any

from interlock.v1 import gateway_service_pb2, operation_pb2

from interlock_gateway.core.operation import Operation, OperationState
from interlock_gateway.core.rollback import RollbackLine, RollbackOutcome
from interlock_gateway.core.tool import Effect
from interlock_gateway.transport.grpc import encode

# The generated stubs type enum fields by class and `Value` by int, so these are `Any` by necessity.
OPERATION_STATE: dict[OperationState, Any] = {
    state: operation_pb2.OperationState.Value(f"OPERATION_STATE_{state.name}") for state in OperationState
}
ROLLBACK_OUTCOME: dict[RollbackOutcome, Any] = {
    outcome: operation_pb2.RollbackOutcome.Value(f"ROLLBACK_OUTCOME_{outcome.name}") for outcome in RollbackOutcome
}


def operation(done: Operation) -> operation_pb2.Operation:
    """A journal entry."""
    return operation_pb2.Operation(
        operation_id=done.operation_id,
        sequence=done.sequence,
        session_id=done.session_id,
        call_id=done.call_id,
        tool=done.tool,
        provider=done.provider,
        effect=encode.EFFECT[Effect(done.effect)],
        state=OPERATION_STATE[done.state],
        undo=encode.undo(done.undo) if done.undo is not None else None,
        undo_call_id=done.undo_call_id,
        error=done.error,
        decision_id=done.decision_id,
        intended_at=encode.timestamp(done.intended_at),
        finished_at=encode.timestamp(done.finished_at),
        undone_at=encode.timestamp(done.undone_at),
        undoes_operation_id=done.undoes,
        only_reads=done.only_reads,
    )


def rollback_line(line: RollbackLine) -> gateway_service_pb2.RollbackResponse:
    """What a rollback did with one operation."""
    return gateway_service_pb2.RollbackResponse(
        operation=operation(line.operation),
        outcome=ROLLBACK_OUTCOME[line.outcome],
        message=line.message,
        manual_guide=line.manual_guide,
        result=encode.call_result(line.result) if line.result is not None else None,
        remaining=line.remaining,
    )
