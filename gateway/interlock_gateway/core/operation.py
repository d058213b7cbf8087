"""Operations: calls that ran and changed something, kept in the journal with how to undo them (PIPE-9, UNDO-1)."""

from dataclasses import dataclass, field
from enum import StrEnum

from interlock_gateway.core.jsonvalue import FrozenJsonObject
from interlock_gateway.core.machine import StateMachine


class OperationState(StrEnum):
    """Where an operation stands; `outcome_unknown` is never re-run by itself."""

    INTENDED = "intended"
    DONE = "done"
    FAILED = "failed"
    OUTCOME_UNKNOWN = "outcome_unknown"
    UNDOING = "undoing"
    UNDONE = "undone"
    UNDO_FAILED = "undo_failed"


OPERATION_MACHINE: StateMachine[OperationState] = StateMachine(
    "operation",
    {
        OperationState.INTENDED: frozenset(
            {OperationState.DONE, OperationState.FAILED, OperationState.OUTCOME_UNKNOWN}
        ),
        OperationState.DONE: frozenset({OperationState.UNDOING}),
        OperationState.UNDOING: frozenset({OperationState.UNDONE, OperationState.UNDO_FAILED}),
    },
)


@dataclass(frozen=True, slots=True)
class UndoInfo:
    """How one operation would be undone: a tool and its input, or a guide for a person (UNDO-1)."""

    tool: str = ""
    input: FrozenJsonObject = field(default_factory=dict)
    description: str = ""
    irreversible: bool = False
    manual_guide: str = ""


@dataclass(frozen=True, slots=True)
class Operation:
    """One journal entry. Times are Unix seconds; `sequence` orders a session's operations."""

    operation_id: str
    session_id: str
    call_id: str
    tool: str
    provider: str
    effect: str
    audit_operation: str
    state: OperationState
    input: bytes
    digest: str
    intended_at: float
    sequence: int = 0
    finished_at: float | None = None
    undo: UndoInfo | None = None
    error: str = ""
