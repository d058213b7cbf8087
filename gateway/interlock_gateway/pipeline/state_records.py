"""The records that the pipeline and the durable state speak in, and how the state fails."""

from dataclasses import dataclass

from interlock_gateway.core.call import CallState, CallStatus
from interlock_gateway.core.checkpoint import Checkpoint
from interlock_gateway.core.machine import UnknownTransitionError
from interlock_gateway.core.operation import Operation
from interlock_gateway.core.pending import PendingAction
from interlock_gateway.errors import InterlockError, RequestError, RequestFault


class StateError(InterlockError):
    """What is asked of the state store cannot be done.

    StateError
    ├── StateUnavailableError   the database cannot be read or written now
    ├── StateOverloadedError    too much is waiting already; ask again later
    ├── StateConflictError      an id is taken, or what the record refers to (its session) is not there
    ├── SessionEndedError       the session was closed meanwhile
    ├── UnknownRecordError      there is no record with that id
    └── StoredFormatError       a stored document was written in a format this version does not know

    A transition that the tables in `core/` do not hold, or that somebody else was faster with, raises
    `core.machine.UnknownTransitionError`: `ClaimLostError`, when an apply has lost what it was to apply.
    """


def unavailable(error: StateError) -> RequestError:
    """What a client is told when the state cannot be read or written."""
    return RequestError(RequestFault.STATE_UNAVAILABLE, f"the gateway's state is not available: {error}")


class StateUnavailableError(StateError):
    """The database cannot be read or written now: disk full, locked, gone, or an I/O error."""


class ClaimLostError(UnknownTransitionError):
    """What is pending is not claimed any more for the call that would apply it, or not by this replica."""


class StateOverloadedError(StateError):
    """More is waiting than the store takes on; nothing was done, and it may be asked again later."""


class TooManyWaitingError(StateOverloadedError):
    """As many calls wait for people, in the session or in all, as may; nothing was done."""


class StateConflictError(StateError):
    """An id is taken, or what the record refers to (its session) is not there."""


class SessionEndedError(StateError):
    """The session was closed meanwhile; nothing new is kept in it."""


class UnknownRecordError(StateError):
    """There is no record with that id."""


class StoredFormatError(StateError):
    """A stored document was written in a format this version does not know."""


@dataclass(frozen=True, slots=True)
class CallRecord:
    """What is kept of a call so that its id runs once (PIPE-10). `updated_at` is Unix seconds.

    `request_digest` is the caller's digest of all that makes two requests the same. `result` is a `CallResult` as
    `CallStore.encode_result` gives it; it and `status` are `None` until there is one.
    """

    session_id: str
    call_id: str
    request_digest: str
    state: CallState
    updated_at: float
    status: CallStatus | None = None
    result: bytes | None = None


@dataclass(frozen=True, slots=True)
class BeginOutcome:
    """`operation`: it is the caller's to dispatch. Else `existing`, the id was used before, or `refused`, why not."""

    operation: Operation | None = None
    existing: CallRecord | None = None
    refused: str = ""


@dataclass(frozen=True, slots=True)
class RecoveryReport:
    """What a start found unfinished and now calls unknown: `operations` (PIPE-9) and `pending` (PREV-14)."""

    operations: tuple[Operation, ...] = ()
    pending: tuple[PendingAction, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionDocuments:
    """What is kept of a session's past: by this replica (`None`: nothing yet), and by each other one that served it."""

    own: bytes | None = None
    others: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class Consent:
    """Who confirmed what a provider declares, when, and the table that was shown (TOOL-3). `at` is Unix seconds."""

    provider: str
    definitions_sha256: str
    by: str
    at: float
    shown_json: str


@dataclass(frozen=True, slots=True)
class OpenedCheckpoint:
    """Either `checkpoint`: it is open and the call waits for it; or `existing`: the call id was used before."""

    checkpoint: Checkpoint | None = None
    existing: CallRecord | None = None


@dataclass(frozen=True, slots=True)
class Waiters:
    """How many calls may wait for people at once: those of one session, and all there are.

    Of all there are, one principal has at most four times as many as are free (`sessions.shares`).
    """

    of_session: int
    in_all: int
