"""What a session left behind: pending actions, operations, and what a rollback did with them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from interlock.decisions import Effect
from interlock.results import CallResult, Preview, UndoInfo

__all__ = [
    "Operation",
    "OperationEffect",
    "OperationState",
    "PendingAction",
    "PendingList",
    "PendingState",
    "RollbackLine",
    "RollbackOutcome",
]


class PendingState(StrEnum):
    """Where a pending action stands."""

    UNKNOWN = "unknown"
    PENDING = "pending"
    APPLYING = "applying"
    APPLIED = "applied"
    DISCARDED = "discarded"
    EXPIRED = "expired"
    OUTCOME_UNKNOWN = "outcome_unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingAction:
    """A previewed change waiting for `session.resolve`."""

    pending_id: str
    call_id: str = ""
    label: str = ""
    source_tool: str = ""
    state: PendingState = PendingState.UNKNOWN
    preview: Preview | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    created_at: datetime | None = None
    expires_at: datetime | None = None
    decision_id: str = ""
    last_error: str = ""


@dataclass(frozen=True, slots=True)
class PendingList:
    """The pending actions, top first, and the label of the standing handler, empty when there is none."""

    actions: tuple[PendingAction, ...] = ()
    standing_handler: str = ""


class OperationState(StrEnum):
    """Where an operation of the journal stands."""

    UNKNOWN = "unknown"
    INTENDED = "intended"
    DONE = "done"
    FAILED = "failed"
    OUTCOME_UNKNOWN = "outcome_unknown"
    UNDOING = "undoing"
    UNDONE = "undone"
    UNDO_FAILED = "undo_failed"
    UNDO_UNKNOWN = "undo_unknown"


class OperationEffect(StrEnum):
    """What somebody found out about an operation, or its undo, of which the gateway could not know."""

    TOOK_EFFECT = "took_effect"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A call that ran and may have changed something, kept with how to undo it; later ones have a greater sequence.

    `undoes_operation_id` is set when it undid another; a rollback leaves such ones alone. `only_reads` is set when
    policy let it through as one that only reads, though its tool can do more; a rollback passes over such ones.
    """

    operation_id: str
    sequence: int = 0
    call_id: str = ""
    tool: str = ""
    provider: str = ""
    effect: Effect = Effect.UNKNOWN
    state: OperationState = OperationState.UNKNOWN
    undo: UndoInfo | None = None
    undo_call_id: str = ""
    error: str = ""
    decision_id: str = ""
    intended_at: datetime | None = None
    finished_at: datetime | None = None
    undone_at: datetime | None = None
    undoes_operation_id: str = ""
    only_reads: bool = False


class RollbackOutcome(StrEnum):
    """What a rollback did with one operation.

    It went on past those that are undone now, that it was told to skip, or that had only read; any other ended it.
    """

    UNKNOWN = "unknown"
    UNDONE = "undone"
    ALREADY_UNDONE = "already_undone"
    SKIPPED_IRREVERSIBLE = "skipped_irreversible"
    STOPPED_IRREVERSIBLE = "stopped_irreversible"
    FAILED = "failed"
    DENIED = "denied"
    HELD = "held"
    OUTCOME_UNKNOWN = "outcome_unknown"
    NOTHING_TO_UNDO = "nothing_to_undo"


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackLine:
    """One operation of a rollback; `remaining` is how many of the target are still to be undone after it."""

    operation: Operation
    outcome: RollbackOutcome = RollbackOutcome.UNKNOWN
    message: str = ""
    manual_guide: str = ""
    result: CallResult | None = None
    remaining: int = 0
