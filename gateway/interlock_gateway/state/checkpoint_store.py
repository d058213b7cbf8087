"""Checkpoints: decided once, used once, whichever replica is asked (CHK-3, CHK-9).

Whoever changes one reads it, lets `core.checkpoint` say what it becomes, and writes that only over the version that was
read. Transactions that touch a call and its checkpoint touch the call first, so that no two wait for each other.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

from interlock_gateway.core.call import CallKind, CallState
from interlock_gateway.core.change import Change, Topic
from interlock_gateway.core.checkpoint import Checkpoint, CheckpointAnswer, CheckpointState, answered
from interlock_gateway.core.operation import Operation, OperationState
from interlock_gateway.pipeline.ports import (
    BeginOutcome,
    CallRecord,
    OpenedCheckpoint,
    StateConflictError,
    TooManyWaitingError,
    UnknownRecordError,
    Waiters,
)
from interlock_gateway.sessions.shares import TIMES
from interlock_gateway.state import checkpoint_statements as sql
from interlock_gateway.state.lane import Lane
from interlock_gateway.state.operations import write_intent
from interlock_gateway.state.pending_store import sequence_if_open
from interlock_gateway.state.transaction import Link, Row, Statement
from interlock_gateway.state.waiting_calls import (
    begin_waiting,
    find_call,
    hold_waiting,
    keep_waiting,
    settle_waiting,
)

# One sweep changes at most this many of a kind, so that no call waits long behind it; the next one goes on.
SWEEP = 200
# Each miss means that somebody else got through.
_ATTEMPTS = 50

_LIVE = (CheckpointState.OPEN, CheckpointState.APPROVED)
_ALIKE = (*_LIVE, CheckpointState.DENIED, CheckpointState.CONSUMED)


class Checkpoints:
    """`CheckpointStore` on a database, for one replica."""

    def __init__(self, reader: Lane, writer: Lane, replica_id: str) -> None:
        self._reader = reader
        self._writer = writer
        self._replica_id = replica_id

    async def open_checkpoint(
        self, checkpoint: Checkpoint, record: CallRecord, *, instead_of: str = "", room: Waiters | None = None
    ) -> OpenedCheckpoint:
        """Keep the checkpoint and its call's record, which is `awaiting_checkpoint`; both or neither.

        A record that is `awaiting_checkpoint` already gets a further checkpoint only when its last one is `instead_of`
        (which is closed with it), or was ended by the edit from which this one comes: whatever else people said of the
        call stands. Any other record with that id is `existing`. Raises `ValueError` for a checkpoint that is closed or
        a record in another state, `TooManyWaitingError` when a call would begin to wait beyond `room`, and
        `SessionEndedError` when it would in a closed session; the undo of an operation may.
        """
        if record.state is not CallState.AWAITING_CHECKPOINT or checkpoint.state not in _LIVE:
            raise ValueError("a call waits for a checkpoint that is open, or was approved with an edit")
        if (record.session_id, record.call_id) != (checkpoint.session_id, checkpoint.call_id):
            raise ValueError("a checkpoint and its record are of one call")
        work = partial(_open, checkpoint=checkpoint, record=record, instead_of=instead_of, room=room)
        return await self._writer.submit(work)

    async def get_checkpoint(self, checkpoint_id: str) -> Checkpoint | None:
        """The checkpoint."""
        return await self._reader.submit(partial(_get, checkpoint_id=checkpoint_id))

    async def checkpoint_of_call(self, session_id: str, call_id: str) -> Checkpoint | None:
        """The call's newest checkpoint."""
        return await self._reader.submit(
            lambda link: _first(link.rows(sql.NEWEST_OF_CALL, session=session_id, call=call_id))
        )

    async def waiting_alike(self, session_id: str, digest: str) -> Checkpoint | None:
        """The newest checkpoint of a call of that digest which waits, was decided and not asked for since, or runs."""
        return await self._reader.submit(partial(_waiting_alike, session_id=session_id, digest=digest))

    async def list_checkpoints(
        self,
        states: tuple[CheckpointState, ...],
        limit: int,
        *,
        session_id: str = "",
        after: tuple[float, str] | None = None,
    ) -> tuple[Checkpoint, ...]:
        """At most `limit` in these states, those that expire first in front, from behind (`expires_at`, id) `after`."""
        work = partial(_list, states=states, limit=limit, session_id=session_id, after=after)
        return await self._reader.submit(work)

    async def count_open_checkpoints(self, now: float) -> int:
        """How many are open."""
        return await self._reader.submit(lambda link: int(link.rows(sql.COUNT_OPEN, now=now)[0][0]))

    async def answer_checkpoint(self, checkpoint_id: str, answer: CheckpointAnswer, now: float) -> Checkpoint:
        """Add what an approver said, by the rules of `core.checkpoint.answered`; the checkpoint as it is then.

        Raises `AnswerRefusedError` and `UnknownRecordError`. Of many answers at once each counts or is refused.
        """

        def work(link: Link) -> Checkpoint:
            after = _change(link, checkpoint_id, lambda before: answered(before, answer, now), now)
            assert after is not None
            return after

        return await self._writer.submit(work)

    async def withdraw_checkpoint(self, checkpoint_id: str, now: float, reason: str) -> Checkpoint | None:
        """Open → withdrawn; `None` when it is not open any more. Raises `UnknownRecordError`."""

        def withdrawn(before: Checkpoint) -> Checkpoint | None:
            if before.state is not CheckpointState.OPEN:
                return None
            return before.moved(CheckpointState.WITHDRAWN, now, reason)

        return await self._writer.submit(lambda link: _change(link, checkpoint_id, withdrawn, now))

    async def tell(self, change: Change) -> None:
        """Tell the other replicas something that is kept nowhere."""
        await self._writer.submit(lambda link: link.announce(change.topic, change.session_id, change.key))

    async def begin_approved(
        self,
        checkpoint_id: str,
        digest: str,
        record: CallRecord,
        operation: Operation,
        now: float,
        *,
        applies: str = "",
    ) -> BeginOutcome:
        """Use the approval, take the call from waiting to dispatching and write the intent: all or none (CHK-3).

        Of many redeemers one gets the operation. The others, and every redeemer of a checkpoint that is not approved,
        is past its expiry or was approved for another digest, get the call's record as `existing`. Raises `ValueError`
        for a record that is not `dispatching` or an operation that is not `intended`, `UnknownRecordError`, and
        `ClaimLostError` as `begin_call` does.
        """
        if record.state is not CallState.DISPATCHING or operation.state is not OperationState.INTENDED:
            raise ValueError("an approved call begins dispatching, with an operation that is intended")

        def work(link: Link) -> BeginOutcome:
            if hold_waiting(link, record, now) and _consume(link, checkpoint_id, digest, record, now):
                begin_waiting(link, record, now)
                return BeginOutcome(operation=write_intent(link, operation, self._replica_id, applies))
            return BeginOutcome(existing=_existing_call(link, record))

        return await self._writer.submit(work)

    async def settle_waiting(self, record: CallRecord) -> CallRecord:
        """End a call that waits, without dispatch: `record` takes the place of the waiting one.

        An approval that was not used is expired with it, a checkpoint that is open is withdrawn. When the call does not
        wait any more, the kept record. Raises `UnknownRecordError`, and `UnknownTransitionError` for a record that does
        not end a call.
        """

        def work(link: Link) -> CallRecord:
            if not settle_waiting(link, record):
                return _existing_call(link, record)
            newest = _first(link.rows(sql.NEWEST_OF_CALL, session=record.session_id, call=record.call_id))
            if newest is not None:
                _change(link, newest.checkpoint_id, partial(_closed, now=record.updated_at), record.updated_at)
            return record

        return await self._writer.submit(work)

    async def expire_checkpoints(self, now: float) -> tuple[Checkpoint, ...]:
        """Open or approved checkpoints past their expiry → expired; at most `SWEEP` of each at once."""

        def expired(before: Checkpoint) -> Checkpoint | None:
            due = before.state in _LIVE and before.expires_at <= now
            return before.moved(CheckpointState.EXPIRED, now, "expired") if due else None

        def work(link: Link) -> tuple[Checkpoint, ...]:
            rows = [row for state in _LIVE for row in link.rows(sql.DUE, state=state.value, now=now, limit=SWEEP)]
            return _each(link, rows, expired, now)

        return await self._writer.submit(work)

    async def escalate_checkpoints(self, now: float) -> tuple[Checkpoint, ...]:
        """Open checkpoints past `escalate_at` are open to their second groups too; at most `SWEEP` at once."""

        def escalated(before: Checkpoint) -> Checkpoint | None:
            due = before.escalate_at is not None and before.escalate_at <= now and not before.escalated
            if before.state is not CheckpointState.OPEN or not due:
                return None
            return replace(before, escalated=True, updated_at=now)

        def work(link: Link) -> tuple[Checkpoint, ...]:
            return _each(link, link.rows(sql.TO_ESCALATE, now=now, limit=SWEEP), escalated, now)

        return await self._writer.submit(work)


_Changed = Callable[[Checkpoint], Checkpoint | None]


def _open(
    link: Link, checkpoint: Checkpoint, record: CallRecord, instead_of: str, room: Waiters | None
) -> OpenedCheckpoint:
    ordinal = 1
    if keep_waiting(link, record):
        if checkpoint.kind is not CallKind.UNDO:
            sequence_if_open(link, checkpoint.session_id)
        _check_room(link, checkpoint.session_id, room)
    else:
        # Held, so that of several who ask again one does.
        if not hold_waiting(link, record, checkpoint.created_at):
            return OpenedCheckpoint(existing=_existing_call(link, record))
        row = link.row(sql.NEWEST_OF_CALL, session=record.session_id, call=record.call_id)
        if row is not None:
            last, ordinal = sql.checkpoint_of(row), int(row[-1]) + 1
            edited = last.state not in _LIVE and last.checkpoint_id == checkpoint.edited_from
            if last.checkpoint_id != instead_of and not edited:
                return OpenedCheckpoint(existing=_existing_call(link, record))
            _change(link, last.checkpoint_id, partial(_closed, now=checkpoint.created_at), checkpoint.created_at)
    link.change(sql.INSERT, **sql.values_of(checkpoint, ordinal))
    _tell(link, checkpoint)
    return OpenedCheckpoint(checkpoint=checkpoint)


def _check_room(link: Link, session_id: str, room: Waiters | None) -> None:
    if room is None:
        return
    if link.row(sql.MORE_WAIT_IN_SESSION, session=session_id, fewer=room.of_session - 1) is not None:
        raise TooManyWaitingError("too many calls of this session wait for people")
    if link.row(sql.MORE_WAIT, fewer=room.in_all - 1) is not None:
        raise TooManyWaitingError("too many calls wait for people")
    # Nobody is near their share of the places before this many are taken: mostly nothing is counted.
    near = TIMES * room.in_all // (TIMES + 1)
    if link.row(sql.MORE_WAIT, fewer=max(0, near - 1)) is not None:
        free = room.in_all - _count(link, sql.COUNT_WAITING)
        if _count(link, sql.COUNT_WAITING_OF_OWNER_OF, session=session_id) >= TIMES * free:
            raise TooManyWaitingError("too many of your calls wait for people")


def _count(link: Link, statement: Statement, **values: str) -> int:
    return int(link.rows(statement, **values)[0][0])


def _consume(link: Link, checkpoint_id: str, digest: str, record: CallRecord, now: float) -> bool:
    """Use the approval, when it is one for this very call, and not too late."""

    def consumed(before: Checkpoint) -> Checkpoint | None:
        it = (before.session_id, before.call_id, before.digest) == (record.session_id, record.call_id, digest)
        if not it or before.state is not CheckpointState.APPROVED or before.expires_at <= now:
            return None
        return before.moved(CheckpointState.CONSUMED, now)

    return _change(link, checkpoint_id, consumed, now) is not None


def _closed(before: Checkpoint, now: float) -> Checkpoint | None:
    """`before` when its call goes on without it: what was approved is void, what was open is not asked any more."""
    if before.state is CheckpointState.APPROVED:
        return before.moved(CheckpointState.EXPIRED, now, "not used")
    if before.state is CheckpointState.OPEN:
        return before.moved(CheckpointState.WITHDRAWN, now, "the call has ended")
    return None


def _change(link: Link, checkpoint_id: str, changed: _Changed, now: float) -> Checkpoint | None:
    """Write what `changed` makes of the checkpoint over the version it was made from; `None` when it makes nothing."""
    for _ in range(_ATTEMPTS):
        before = _get(link, checkpoint_id)
        if before is None:
            raise UnknownRecordError(f"there is no checkpoint {checkpoint_id}")
        after = changed(before)
        if after is None:
            return None
        if _swap(link, after, now):
            return replace(after, updated_at=now, version=before.version + 1)
    raise StateConflictError(f"checkpoint {checkpoint_id} is being changed by too many at once")


def _swap(link: Link, after: Checkpoint, now: float) -> bool:
    swapped = link.change(
        sql.SWAP,
        id=after.checkpoint_id,
        read_version=after.version,
        new_state=after.state.value,
        new_escalates_at=sql.escalates_at(after),
        new_progress=sql.progress_of(after),
        now=now,
    )
    if swapped:
        _tell(link, after)
    return bool(swapped)


def _tell(link: Link, checkpoint: Checkpoint) -> None:
    """Tell the approvers of the checkpoint, and whoever waits for its call of the call."""
    link.announce(Topic.CHECKPOINT, checkpoint.session_id, checkpoint.checkpoint_id)
    link.announce(Topic.CALL, checkpoint.session_id, checkpoint.call_id)


def _each(link: Link, rows: Iterable[Row], changed: _Changed, now: float) -> tuple[Checkpoint, ...]:
    after = (_change(link, sql.checkpoint_of(row).checkpoint_id, changed, now) for row in rows)
    return tuple(checkpoint for checkpoint in after if checkpoint is not None)


def _get(link: Link, checkpoint_id: str) -> Checkpoint | None:
    return _first(link.rows(sql.GET, id=checkpoint_id))


def _list(
    link: Link, states: tuple[CheckpointState, ...], limit: int, session_id: str, after: tuple[float, str] | None
) -> tuple[Checkpoint, ...]:
    expiry, checkpoint_id = after if after is not None else (float("-inf"), "")
    page = {"limit": limit, "after_expiry": expiry, "after_id": checkpoint_id}
    found: list[Checkpoint] = []
    # State by state, each along its index; no database sorts the union of several without reading all of it.
    for state in dict.fromkeys(states):
        rows = (
            link.rows(sql.LIST_OF_SESSION, session=session_id, state=state.value, **page)
            if session_id
            else link.rows(sql.LIST, state=state.value, **page)
        )
        found.extend(map(sql.checkpoint_of, rows))
    found.sort(key=lambda checkpoint: (checkpoint.expires_at, checkpoint.checkpoint_id))
    return tuple(found[:limit])


def _waiting_alike(link: Link, session_id: str, digest: str) -> Checkpoint | None:
    alike = [
        checkpoint
        for state in _ALIKE
        for row in link.rows(sql.WAITING_IN_SESSION, session=session_id, state=state.value, limit=SWEEP)
        if (checkpoint := sql.checkpoint_of(row)).digest == digest
    ]
    return max(alike, key=lambda checkpoint: checkpoint.created_at, default=None)


def _existing_call(link: Link, record: CallRecord) -> CallRecord:
    existing = find_call(link, record.session_id, record.call_id)
    if existing is None:
        raise UnknownRecordError(f"there is no call {record.call_id}")
    return existing


def _first(rows: list[Row]) -> Checkpoint | None:
    return sql.checkpoint_of(rows[0]) if rows else None
