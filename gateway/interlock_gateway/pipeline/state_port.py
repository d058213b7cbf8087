"""What the pipeline needs of the durable state, as protocols."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Protocol

from interlock_gateway.core.call import CallResult, CallState
from interlock_gateway.core.change import Listener
from interlock_gateway.core.operation import Operation, OperationState, Undid, UndoInfo
from interlock_gateway.core.outcome import StandingHandler
from interlock_gateway.core.pending import Later, PendingAction, PendingState, at_once
from interlock_gateway.core.session import EVERY_SESSION, Session, WantedSessions
from interlock_gateway.pipeline.checkpoint_port import CheckpointStore
from interlock_gateway.pipeline.state_records import BeginOutcome, CallRecord, RecoveryReport, SessionDocuments

# Every method answers without blocking the event loop, and what writes answers once it is on disk. Any of them raises
# `StateUnavailableError` or `StateOverloadedError`; then nothing of that call was kept, as far as can be known.
# A write goes on when its caller is cancelled: only the waiting stops. Whoever claims (`begin_call`, `claim_pending`)
# therefore shields the claim and gives it back, or leaves it to `recover`.


class SessionStore(Protocol):
    """Sessions, and the facts known about them."""

    async def get_session(self, session_id: str) -> Session | None:
        """The session, open or closed."""
        ...

    async def ensure_session(self, session: Session) -> Session:
        """Keep `session` unless there is one with its id; the kept one, whose owner never changes."""
        ...

    async def close_session(self, session_id: str, now: float) -> Session | None:
        """Close it and forget what it activated; one that is closed keeps its time. `None` when there is none."""
        ...

    async def activate_tools(self, session_id: str, names: Sequence[str]) -> Session | None:
        """Add `names` to what the open session activated, whoever else adds to it; the session as it is then."""
        ...

    async def list_sessions(
        self, limit: int, after: str | None = None, wanted: WantedSessions = EVERY_SESSION
    ) -> tuple[Session, ...]:
        """At most `limit` of the `wanted` sessions, last opened first, from behind the session `after`.

        Fewer are all that there are.
        """
        ...

    async def count_open(self) -> int:
        """How many sessions are open, at whichever replica."""
        ...

    async def facts_of(self, page: Sequence[Session]) -> Mapping[str, SessionDocuments]:
        """What is kept of each session of a page of `list_sessions`, by its id."""
        ...

    async def save_session_facts(self, facts: Mapping[str, bytes]) -> None:
        """Keep one JSON document for each session id, in place of what this replica kept of it earlier."""
        ...

    async def load_session_facts(self, session_id: str) -> SessionDocuments:
        """The documents that this replica and others kept last."""
        ...


class CountStore(Protocol):
    """What principals called lately, as each replica counted it."""

    async def save_counts(self, counts: Mapping[str, bytes], now: float) -> None:
        """Keep one JSON document for each principal, in place of what this replica kept of them earlier."""
        ...

    async def load_counts(self, principal_id: str) -> SessionDocuments:
        """The documents that this replica and others kept last."""
        ...

    async def forget_counts(self, before: float) -> None:
        """Drop every document that was kept before then, whichever replica's."""
        ...


class CallStore(Protocol):
    """Call ids that ran (PIPE-10), each in one transaction with the journal (PIPE-9)."""

    def encode_result(self, result: CallResult) -> bytes:
        """`result` as it is kept in a record."""
        ...

    def decode_result(self, document: bytes) -> CallResult:
        """The result that `encode_result` was given; raises `StoredFormatError`."""
        ...

    async def find_call(self, session_id: str, call_id: str) -> CallRecord | None:
        """What is kept of the call."""
        ...

    async def outcome_of(self, record: CallRecord) -> CallRecord:
        """The record of a call that another replica is running, once it has ended there; any other one at once."""
        ...

    async def begin_call(self, record: CallRecord, operation: Operation, *, applies: str = "") -> BeginOutcome:
        """Claim the call id and write the intent, both or neither: of many callers one gets the operation.

        `record` must be `dispatching` and `operation` `intended`; the operation comes back with its sequence. With a
        compensation, what it undoes goes to `undoing`, or all fails with `UnknownTransitionError`; with
        `ClaimLostError`, when the pending action that it `applies` is not claimed for this call, here, any more.
        """
        ...

    async def finish_call(
        self,
        session_id: str,
        call_id: str,
        operation_id: str,
        call_state: CallState,
        operation_state: OperationState,
        *,
        now: float,
        result: bytes | None = None,
        undo: UndoInfo | None = None,
        error: str = "",
        undid: Undid | None = None,
    ) -> None:
        """Write how the call ended into its record and the journal, and what it undid; all or none."""
        ...

    async def finish_owed(self) -> None:
        """Try again to write how calls ended, where the database could not take it when they did."""
        ...

    async def record_outcome(self, record: CallRecord) -> CallRecord:
        """Keep a call that ended without dispatch, unless its id was used before; the kept record."""
        ...


class Journal(Protocol):
    """Operations: what ran and changed something (PIPE-9)."""

    async def list_operations(self, session_id: str, limit: int, after_sequence: int = 0) -> tuple[Operation, ...]:
        """At most `limit` of the session's operations, oldest first, from behind `after_sequence`."""
        ...

    async def newest_operations(
        self,
        session_id: str,
        limit: int,
        before_sequence: int | None = None,
        states: Collection[OperationState] = (),
    ) -> tuple[Operation, ...]:
        """At most `limit` operations of the session in `states` (or any), newest first, in front of a sequence."""
        ...

    async def own_operations(self, session_id: str, after: int) -> tuple[Operation, ...]:
        """The operations that this replica began in the session, oldest first, without the first `after` of them."""
        ...

    async def operation_of_call(self, session_id: str, call_id: str) -> Operation | None:
        """The operation that the call was, or `None` when it changed nothing."""
        ...

    async def get_operation(self, operation_id: str) -> Operation | None:
        """The operation."""
        ...

    async def settle_operation(self, operation_id: str, now: float, *, took_effect: bool) -> Operation:
        """Somebody said what became of an operation, or of its undo, that is unknown; of many who do one succeeds.

        Raises `UnknownTransitionError` when neither is unknown, and `UnknownRecordError`.
        """
        ...

    async def recover(self, now: float) -> RecoveryReport:
        """At start: what this replica left unfinished becomes unknown, and is never run again by itself."""
        ...


class PendingStore(Protocol):
    """The stack of pending actions of each session (PREV-2, PREV-13). Those past `expires_at` count as gone."""

    async def push_pending(self, action: PendingAction) -> PendingAction:
        """Put `action` on top of its session's stack; it comes back with its sequence. Raises `SessionEndedError`."""
        ...

    async def replace_pending(self, old_id: str, new: PendingAction) -> PendingAction:
        """Put `new` in the place of an action that is pending or being applied; the old one is discarded (PREV-5)."""
        ...

    async def list_pending(self, session_id: str, now: float) -> tuple[PendingAction, ...]:
        """Those that are pending, top first."""
        ...

    async def get_pending(self, pending_id: str) -> PendingAction | None:
        """The action, in whatever state it is."""
        ...

    async def top_pending(self, session_id: str, now: float) -> PendingAction | None:
        """The pending one that `resolve` acts on."""
        ...

    async def count_pending(self, session_id: str, now: float) -> int:
        """How many are pending."""
        ...

    async def count_pending_of(self, page: Sequence[Session], now: float) -> Mapping[str, int]:
        """How many are pending in each session of a page of `list_sessions`, by its id, where any are."""
        ...

    async def count_every_pending(self, now: float) -> int:
        """How many are pending in all sessions together."""
        ...

    async def unknown_pending(self, session_id: str) -> tuple[PendingAction, ...]:
        """Those of which nobody knows whether they were applied, latest first (PREV-14)."""
        ...

    async def claim_pending(self, pending_id: str, claimant: str, now: float) -> PendingAction | None:
        """Take a pending action to be applied; of many claimants one gets it, the others `None`.

        Also `None`: it is past its expiry, or not the top: another is pending, or being applied, above it.
        """
        ...

    async def release_pending(self, pending_id: str, claimant: str, now: float, last_error: str = "") -> PendingAction:
        """Being applied by `claimant` → pending, on top again (PREV-7); discarded in a session that was closed.

        Raises `UnknownTransitionError` when another one applies it by now. `last_error` says why it was not applied;
        empty leaves what was said before.
        """
        ...

    async def finish_pending(
        self, pending_id: str, claimant: str, state: PendingState, now: float, reason: str
    ) -> PendingAction:
        """Being applied by `claimant` → `state`: applied or unknown."""
        ...

    async def settle_unknown(self, pending_id: str, now: float, *, applied: bool) -> PendingAction:
        """Somebody said what happened: unknown → applied or discarded (PREV-14)."""
        ...

    async def discard_pending(self, pending_id: str, now: float, reason: str) -> PendingAction | None:
        """Pending → discarded; `None` when it is not pending any more. Of many callers one gets it."""
        ...

    async def discard_session_pending(
        self, session_id: str, reason: str, now: float, later: Later = at_once
    ) -> tuple[PendingAction, ...]:
        """Discard every pending action of the session; those of which `later` is true are left to `expire_pending`."""
        ...

    async def expire_pending(self, now: float, later: Later = at_once) -> tuple[PendingAction, ...]:
        """Every pending action past its expiry → expired (PREV-13), discarded in closed sessions.

        Those of which `later` is true are left for a while to replicas that can end them better.
        """
        ...


class HandlerStore(Protocol):
    """The standing handler of each session (PREV-12)."""

    async def set_handler(self, session_id: str, handler: StandingHandler) -> None:
        """Keep `handler` in place of the session's earlier one."""
        ...

    async def get_handler(self, session_id: str) -> StandingHandler | None:
        """The session's handler."""
        ...

    async def clear_handler(self, session_id: str) -> None:
        """Forget it; without one, nothing happens."""
        ...


class ChangeFeed(Protocol):
    """Tells of changes after they are committed, here or in another replica (STATE-1), on the event loop."""

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` with every change from now on, until the returned function is called. It must not raise."""
        ...

    def subscribe_elsewhere(self, listener: Listener) -> Callable[[], None]:
        """The same, with what other replicas have changed alone."""
        ...


class Crossing(Protocol):
    """Keeps the calls of one session apart across replicas (PIPE-8). Those of one replica its turnstile keeps apart."""

    def attend(self, arriving: Callable[[str], Awaitable[None]], departing: Callable[[str], Awaitable[None]]) -> None:
        """Await `arriving` when a session has come here from another replica, `departing` before it goes to one."""
        ...

    def enter(self, session_id: str, *, shared: bool) -> Awaitable[None] | None:
        """Take the session for a call; `None` when it is here already, else to be awaited, and cancelled at will."""
        ...

    def leave(self, session_id: str) -> None:
        """A call that entered has ended."""
        ...


class StateStore(Protocol):
    """All that outlives the process."""

    @property
    def healthy(self) -> bool:
        """Whether the last write reached the disk; readiness follows it."""
        ...

    @property
    def sessions(self) -> SessionStore:
        """Sessions and their facts."""
        ...

    @property
    def counts(self) -> CountStore:
        """What principals called lately."""
        ...

    @property
    def calls(self) -> CallStore:
        """Call ids and their outcomes."""
        ...

    @property
    def journal(self) -> Journal:
        """Operations."""
        ...

    @property
    def pending(self) -> PendingStore:
        """Pending actions."""
        ...

    @property
    def handlers(self) -> HandlerStore:
        """Standing handlers."""
        ...

    @property
    def checkpoints(self) -> CheckpointStore:
        """Checkpoints."""
        ...

    @property
    def changes(self) -> ChangeFeed:
        """What has changed, for whoever waits for it."""
        ...

    @property
    def crossing(self) -> Crossing | None:
        """What keeps the calls of one session apart across replicas; `None` where there is one replica."""
        ...

    @property
    def stands(self) -> bool:
        """Whether this replica holds its lease, without which it must change nothing."""
        ...
