"""What the pipeline needs from the rooms around it, as protocols; the composition root plugs the rooms in."""

# state
from interlock_gateway.pipeline.checkpoint_port import CheckpointStore
from interlock_gateway.pipeline.state_port import (
    CallStore,
    ChangeFeed,
    Crossing,
    HandlerStore,
    Journal,
    PendingStore,
    SessionStore,
    StateStore,
)
from interlock_gateway.pipeline.state_records import (
    BeginOutcome,
    CallRecord,
    Consent,
    OpenedCheckpoint,
    RecoveryReport,
    SessionDocuments,
    SessionEndedError,
    StateConflictError,
    StateError,
    StateOverloadedError,
    StateUnavailableError,
    StoredFormatError,
    TooManyWaitingError,
    UnknownRecordError,
    Waiters,
)

__all__ = [
    "BeginOutcome",
    "CallRecord",
    "CallStore",
    "ChangeFeed",
    "CheckpointStore",
    "Consent",
    "Crossing",
    "HandlerStore",
    "Journal",
    "OpenedCheckpoint",
    "PendingStore",
    "RecoveryReport",
    "SessionDocuments",
    "SessionEndedError",
    "SessionStore",
    "StateConflictError",
    "StateError",
    "StateOverloadedError",
    "StateStore",
    "StateUnavailableError",
    "StoredFormatError",
    "TooManyWaitingError",
    "UnknownRecordError",
    "Waiters",
]
