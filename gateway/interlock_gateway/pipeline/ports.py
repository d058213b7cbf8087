"""What the pipeline needs from the rooms around it, as protocols; the composition root plugs the rooms in."""

# state
from interlock_gateway.pipeline.state_port import (
    BeginOutcome,
    CallRecord,
    CallStore,
    Consent,
    HandlerStore,
    Journal,
    PendingStore,
    RecoveryReport,
    SessionStore,
    StateConflictError,
    StateError,
    StateOverloadedError,
    StateStore,
    StateUnavailableError,
    StoredFormatError,
    UnknownRecordError,
)

__all__ = [
    "BeginOutcome",
    "CallRecord",
    "CallStore",
    "Consent",
    "HandlerStore",
    "Journal",
    "PendingStore",
    "RecoveryReport",
    "SessionStore",
    "StateConflictError",
    "StateError",
    "StateOverloadedError",
    "StateStore",
    "StateUnavailableError",
    "StoredFormatError",
    "UnknownRecordError",
]
