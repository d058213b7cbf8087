"""Rolling back: what is asked, what is answered for each operation, and what stands in an operation's way (UNDO-2)."""

from dataclasses import dataclass
from enum import StrEnum

from interlock_gateway.core.call import CallResult, CallStatus, CheckpointMode
from interlock_gateway.core.operation import Operation, OperationState, UndoInfo
from interlock_gateway.core.trace import TraceContext

COMPENSATION_PREFIX = "undo:"
"""Call ids that begin so are the gateway's own: no client can take the place of a compensation."""


class RollbackOutcome(StrEnum):
    """What a rollback did with one operation; the wire's `RollbackOutcome`."""

    UNDONE = "undone"
    ALREADY_UNDONE = "already_undone"
    SKIPPED_IRREVERSIBLE = "skipped_irreversible"
    STOPPED_IRREVERSIBLE = "stopped_irreversible"
    FAILED = "failed"
    DENIED = "denied"
    HELD = "held"
    OUTCOME_UNKNOWN = "outcome_unknown"
    NOTHING_TO_UNDO = "nothing_to_undo"

    @property
    def goes_on(self) -> bool:
        """Whether the rollback goes on to the next operation."""
        return self in _GOES_ON

    @property
    def leaves_it_undone(self) -> bool:
        """Whether the operation is undone now."""
        return self in (RollbackOutcome.UNDONE, RollbackOutcome.ALREADY_UNDONE)


_GOES_ON = (
    RollbackOutcome.UNDONE,
    RollbackOutcome.ALREADY_UNDONE,
    RollbackOutcome.SKIPPED_IRREVERSIBLE,
    RollbackOutcome.NOTHING_TO_UNDO,
)
_OF_STATUS = {
    CallStatus.DENIED: RollbackOutcome.DENIED,
    CallStatus.PREVIEW: RollbackOutcome.HELD,
    CallStatus.AWAITING_CHECKPOINT: RollbackOutcome.HELD,
    CallStatus.REFLECTION_REQUIRED: RollbackOutcome.HELD,
    CallStatus.FAILED: RollbackOutcome.FAILED,
    CallStatus.OUTCOME_UNKNOWN: RollbackOutcome.OUTCOME_UNKNOWN,
}


@dataclass(frozen=True, slots=True)
class RollbackRequest:
    """What to roll back; one of `last_operation_id`, `count` and `since_call_id` is set; in `trace`."""

    session_id: str
    last_operation_id: str = ""
    count: int = 0
    since_call_id: str = ""
    skip_irreversible: bool = False
    reason: str = ""
    checkpoint_mode: CheckpointMode = CheckpointMode.WAIT
    trace: TraceContext | None = None


@dataclass(frozen=True, slots=True)
class RollbackLine:
    """What was done with one operation, and how many of the target are still to be undone after it."""

    operation: Operation
    outcome: RollbackOutcome
    message: str
    manual_guide: str = ""
    result: CallResult | None = None
    remaining: int = 0


def compensation_id(operation: Operation, attempt: int) -> str:
    """The call id of the attempt, counted from 1: the same for whoever makes it, so that it is made once (PIPE-10)."""
    return f"{COMPENSATION_PREFIX}{operation.operation_id}:{attempt}"


def undo_of(operation: Operation) -> UndoInfo | None:
    """What is to be called to undo it; `None` when no tool can (UNDO-3)."""
    undo = operation.undo
    return None if undo is None or undo.irreversible or not undo.tool else undo


def only_read(operation: Operation) -> bool:
    """Whether there is nothing to undo: it ran as a call that only reads, and its provider knows of no undo for it.

    One of unknown outcome is not among them: a provider may know more than policy did, and has not been heard.
    """
    return operation.only_reads and operation.state is OperationState.DONE and undo_of(operation) is None


def is_to_undo(operation: Operation) -> bool:
    """Whether a rollback has to do with the operation: it, or its undo, may have had an effect that is still there."""
    if operation.undoes or only_read(operation):
        return False
    return operation.state not in (OperationState.FAILED, OperationState.UNDONE)


def in_the_way(operation: Operation) -> str:
    """Why nobody may undo it now, because something about it is not known; empty when nothing is."""
    return _IN_THE_WAY.get(operation.state, "").format(tool=operation.tool)


_SETTLE = (
    "Find out what happened, and say so with SettleOperation (`interlock operations settle`); then roll back again."
)
_IN_THE_WAY = {
    OperationState.INTENDED: "{tool} is still running, or its outcome could not be recorded. Ask again later.",
    OperationState.OUTCOME_UNKNOWN: "It is not known whether {tool} took effect. " + _SETTLE,
    OperationState.UNDOING: "{tool} is being undone already, or the outcome could not be recorded. Ask again later.",
    OperationState.UNDO_UNKNOWN: "It is not known whether {tool} was undone. " + _SETTLE,
}


def guide_for(operation: Operation) -> str:
    """What a person does to undo it by hand."""
    if operation.undo is not None and operation.undo.manual_guide:
        return operation.undo.manual_guide
    return (
        f"Nothing is recorded about how to undo this call of {operation.tool}. "
        f"The receipts of call {operation.call_id} say what it was; take back by hand what it changed."
    )


def outcome_of(result: CallResult) -> RollbackOutcome:
    """What a compensation's answer says about the operation that it undoes."""
    if result.status is CallStatus.COMPLETED:
        return RollbackOutcome.FAILED if result.is_error else RollbackOutcome.UNDONE
    return _OF_STATUS[result.status]
