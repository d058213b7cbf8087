"""Operations: calls that ran and changed something, kept in the journal with how to undo them (PIPE-9, UNDO-1)."""

from dataclasses import dataclass, field
from enum import StrEnum

from interlock_gateway.core.jsonvalue import FrozenJsonObject
from interlock_gateway.core.machine import StateMachine


class OperationState(StrEnum):
    """Where an operation stands; what is unknown is never run again by itself."""

    INTENDED = "intended"
    DONE = "done"
    FAILED = "failed"
    OUTCOME_UNKNOWN = "outcome_unknown"
    UNDOING = "undoing"
    UNDONE = "undone"
    UNDO_FAILED = "undo_failed"
    UNDO_UNKNOWN = "undo_unknown"


OPERATION_MACHINE: StateMachine[OperationState] = StateMachine(
    "operation",
    {
        OperationState.INTENDED: frozenset(
            {OperationState.DONE, OperationState.FAILED, OperationState.OUTCOME_UNKNOWN}
        ),
        OperationState.DONE: frozenset({OperationState.UNDOING}),
        OperationState.UNDOING: frozenset(
            {OperationState.UNDONE, OperationState.UNDO_FAILED, OperationState.UNDO_UNKNOWN}
        ),
        # A rollback goes on from what failed (UNDO-4).
        OperationState.UNDO_FAILED: frozenset({OperationState.UNDOING}),
        # Somebody has found out what happened, and says so; nothing else leaves these two.
        OperationState.OUTCOME_UNKNOWN: frozenset({OperationState.DONE, OperationState.FAILED}),
        OperationState.UNDO_UNKNOWN: frozenset({OperationState.UNDONE, OperationState.UNDO_FAILED}),
    },
)


UNKNOWN_STATES = (OperationState.OUTCOME_UNKNOWN, OperationState.UNDO_UNKNOWN)
"""Nobody knows what happened, until somebody looks and says so."""


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
    """One journal entry. Times are Unix seconds; `sequence` orders a session's operations.

    A compensation is an operation too: `undoes` is the id of the one that it takes back. `undo_call_id` is the last
    call that took this one back or tried to, and `undo_attempts` how many there were. `error` says why it, or its
    undo, failed. `traceparent` is the span of its call, empty without one. `only_reads` says that policy let it through
    as a call that changes nothing, whatever its tool can do.
    """

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
    workdir: str = ""
    decision_id: str = ""
    traceparent: str = ""
    only_reads: bool = False
    undoes: str = ""
    deliverable: FrozenJsonObject | None = None
    sequence: int = 0
    finished_at: float | None = None
    undo: UndoInfo | None = None
    undo_call_id: str = ""
    undo_attempts: int = 0
    undone_at: float | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Undid:
    """What a compensation made of the operation `operation_id`: `undone`, `undo_failed` or `undo_unknown`."""

    operation_id: str
    state: OperationState
