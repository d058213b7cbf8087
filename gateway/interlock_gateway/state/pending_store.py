"""The stack of pending actions of each session (PREV-2, PREV-13)."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from interlock_gateway.core.change import Topic
from interlock_gateway.core.machine import UnknownTransitionError
from interlock_gateway.core.pending import PENDING_MACHINE, Later, PendingAction, PendingState, at_once
from interlock_gateway.core.session import Session
from interlock_gateway.pipeline.ports import SessionEndedError, StateConflictError, UnknownRecordError
from interlock_gateway.state import pending_statements as sql
from interlock_gateway.state.lane import Lane
from interlock_gateway.state.some_ids import parts
from interlock_gateway.state.transaction import Link, Row, Statement

EXPIRED = "expired"
SESSION_CLOSED = "session closed"
LEFT_S = 30.0
"""How long what is over is left to a replica that can end it better; then whoever comes first ends it."""


class PendingActions:
    """`PendingStore` on a database, for one replica."""

    def __init__(self, reader: Lane, writer: Lane, replica_id: str) -> None:
        self._reader = reader
        self._writer = writer
        self._replica_id = replica_id

    async def push_pending(self, action: PendingAction) -> PendingAction:
        """Put `action` on top of its session's stack; it comes back with its sequence. Raises `SessionEndedError`."""
        return await self._writer.submit(partial(_push, action=action))

    async def replace_pending(self, old_id: str, new: PendingAction) -> PendingAction:
        """Put `new` in the place of an action that is pending or being applied; the old one is discarded (PREV-5).

        Raises `SessionEndedError`.
        """
        return await self._writer.submit(partial(_replace, old_id=old_id, new=new))

    async def list_pending(self, session_id: str, now: float) -> tuple[PendingAction, ...]:
        """Those that are pending, top first."""
        return await self._reader.submit(lambda link: _actions(link.rows(sql.LIST, session=session_id, now=now)))

    async def get_pending(self, pending_id: str) -> PendingAction | None:
        """The action, in whatever state it is."""
        return await self._reader.submit(lambda link: _first(link.rows(sql.GET, id=pending_id)))

    async def top_pending(self, session_id: str, now: float) -> PendingAction | None:
        """The pending one that `resolve` acts on."""
        return await self._reader.submit(lambda link: _first(link.rows(sql.TOP, session=session_id, now=now)))

    async def count_pending(self, session_id: str, now: float) -> int:
        """How many are pending."""
        rows = await self._reader.submit(lambda link: link.rows(sql.COUNT, session=session_id, now=now))
        return int(rows[0][0])

    async def count_pending_of(self, page: Sequence[Session], now: float) -> Mapping[str, int]:
        """How many are pending in each session of a page of `list_sessions`, by its id, where any are."""
        ids = [session.session_id for session in page]

        def each(link: Link) -> list[Row]:
            return [row for some in parts(ids) for row in link.rows(sql.EACH_OF, now=now, **some)]

        return Counter(row[0] for row in await self._reader.submit(each)) if ids else {}

    async def count_every_pending(self, now: float) -> int:
        """How many are pending in all sessions together."""
        rows = await self._reader.submit(lambda link: link.rows(sql.COUNT_EVERY, now=now))
        return int(rows[0][0])

    async def unknown_pending(self, session_id: str) -> tuple[PendingAction, ...]:
        """Those of which nobody knows whether they were applied, latest first (PREV-14)."""
        return await self._reader.submit(lambda link: _actions(link.rows(sql.LIST_UNKNOWN, session=session_id)))

    async def claim_pending(self, pending_id: str, claimant: str, now: float) -> PendingAction | None:
        """Take a pending action to be applied; of many claimants one gets it, the others `None`.

        Also `None`: it is past its expiry, or not the top: another is pending, or being applied, above it.
        """
        replica = self._replica_id

        def work(link: Link) -> PendingAction | None:
            link.must_stand()
            return _told_one(link, link.rows(sql.CLAIM, id=pending_id, claimed_by=claimant, replica=replica, now=now))

        return await self._writer.submit(work)

    async def release_pending(self, pending_id: str, claimant: str, now: float, last_error: str = "") -> PendingAction:
        """Being applied by `claimant` → pending, on top again (PREV-7); discarded in a session that was closed.

        Raises `UnknownTransitionError` when another one applies it by now. `last_error` says why it was not applied;
        empty leaves what was said before.
        """

        def work(link: Link) -> PendingAction:
            _check_claim(link, pending_id, (claimant, self._replica_id), PendingState.PENDING)
            return _release(link, pending_id, now, last_error)

        return await self._writer.submit(work)

    async def finish_pending(
        self, pending_id: str, claimant: str, state: PendingState, now: float, reason: str
    ) -> PendingAction:
        """Being applied by `claimant` → `state`: applied or unknown."""

        def work(link: Link) -> PendingAction:
            _check_claim(link, pending_id, (claimant, self._replica_id), state)
            return _move(link, pending_id, PendingState.APPLYING, state, now=now, reason=reason)

        return await self._writer.submit(work)

    async def settle_unknown(self, pending_id: str, now: float, *, applied: bool) -> PendingAction:
        """Somebody said what happened: unknown → applied or discarded (PREV-14)."""
        target = PendingState.APPLIED if applied else PendingState.DISCARDED
        source = PendingState.OUTCOME_UNKNOWN
        work = partial(_move, pending_id=pending_id, source=source, target=target, now=now, reason="settled")
        return await self._writer.submit(work)

    async def discard_pending(self, pending_id: str, now: float, reason: str) -> PendingAction | None:
        """Pending → discarded; `None` when it is not pending any more. Of many callers one gets it."""
        result = sql.reason_document(reason)
        return await self._writer.submit(
            lambda link: _told_one(link, link.rows(sql.DISCARD, id=pending_id, now=now, result=result))
        )

    async def discard_session_pending(
        self, session_id: str, reason: str, now: float, later: Later = at_once
    ) -> tuple[PendingAction, ...]:
        """Discard every pending action of the session.

        Those of which `later` is true come back as they were, but past their expiry from `now` on: nobody can apply
        them any more, and `expire_pending`, of this replica or another one, discards them.
        """

        def work(link: Link) -> tuple[PendingAction, ...]:
            found = _actions(link.rows(sql.PENDING_IN, session=session_id))
            left = [action for action in found if later(action)]
            at_once = [action for action in found if action not in left]
            return (
                *_each(link, sql.DISCARD_SOME, at_once, now=now, result=sql.reason_document(reason)),
                *_each(link, sql.END_LATER, left, now=now),
            )

        return await self._writer.submit(work)

    async def expire_pending(self, now: float, later: Later = at_once) -> tuple[PendingAction, ...]:
        """Every pending action past its expiry → expired, with reason `expired` (PREV-13).

        In a closed session it is discarded. Those of which `later` is true stay for `LEFT_S` seconds past their expiry,
        when nobody can apply them either.
        """

        def work(link: Link) -> tuple[PendingAction, ...]:
            expired: list[PendingAction] = []
            closed: list[PendingAction] = []
            for *row, is_closed in link.rows(sql.DUE, now=now):
                action = sql.action_of(tuple(row))
                if action.expires_at + LEFT_S <= now or not later(action):
                    (closed if is_closed else expired).append(action)
            return (
                *_each(link, sql.EXPIRE_SOME, expired, now=now, result=sql.reason_document(EXPIRED)),
                *_each(link, sql.DISCARD_SOME, closed, now=now, result=sql.reason_document(SESSION_CLOSED)),
            )

        return await self._writer.submit(work)


def abandon_pending(link: Link, replica_id: str, now: float, reason: str) -> tuple[PendingAction, ...]:
    """Call unknown whatever `replica_id` was applying."""
    return _told(link, link.rows(sql.ABANDON, replica=replica_id, now=now, result=sql.reason_document(reason)))


def _push(link: Link, action: PendingAction) -> PendingAction:
    return _insert(link, replace(action, sequence=sequence_if_open(link, action.session_id)))


def _insert(link: Link, action: PendingAction) -> PendingAction:
    if action.state is not PendingState.PENDING:
        raise ValueError("an action starts pending")
    link.change(sql.INSERT, **sql.values_of(action))
    link.announce(Topic.PENDING, action.session_id, action.session_id)
    return action


def _replace(link: Link, old_id: str, new: PendingAction) -> PendingAction:
    old = _existing(link, old_id)
    if old.session_id != new.session_id:
        raise StateConflictError("an action is replaced within its session")
    if old.state is not PendingState.PENDING:
        # One that is being applied goes back first; any other cannot.
        PENDING_MACHINE.step(old.state, PendingState.PENDING)
    PENDING_MACHINE.step(PendingState.PENDING, PendingState.DISCARDED)
    sequence_if_open(link, new.session_id)
    _swap(link, old, PendingState.DISCARDED, new.created_at, "replaced by a fresh preview")
    return _insert(link, replace(new, sequence=old.sequence))


def _check_claim(link: Link, pending_id: str, claim: tuple[str, str], target: PendingState) -> None:
    # Whoever is told late that a move could not be written must not end the claim of the one that came after it.
    before = _existing(link, pending_id)
    claimed = link.row(sql.CLAIMANT, id=pending_id)
    if before.state is PendingState.APPLYING and claimed is not None and tuple(claimed) != claim:
        raise _cannot_go(before.state, target)


def _release(link: Link, pending_id: str, now: float, last_error: str) -> PendingAction:
    PENDING_MACHINE.step(PendingState.APPLYING, PendingState.PENDING)
    before = _existing(link, pending_id)
    row = link.row(sql.NEXT_SEQUENCE_IF_OPEN, session=before.session_id)
    place = before.sequence if row is None else int(row[0])
    noted = sql.document_of(replace(before, last_error=last_error or before.last_error))
    released = _told_one(link, link.rows(sql.RELEASE, id=pending_id, place=place, noted=noted, now=now))
    if released is None:
        raise _cannot_go(before.state, PendingState.PENDING)
    return released if row is not None else _swap(link, released, PendingState.DISCARDED, now, SESSION_CLOSED)


def _move(
    link: Link, pending_id: str, source: PendingState, target: PendingState, *, now: float, reason: str
) -> PendingAction:
    PENDING_MACHINE.step(source, target)
    before = _existing(link, pending_id)
    if before.state is not source:
        raise _cannot_go(before.state, target)
    return _swap(link, before, target, now, reason)


def _swap(link: Link, before: PendingAction, target: PendingState, now: float, reason: str) -> PendingAction:
    """Compare and set: `before` is still in its state, and is in `target` then."""
    moved = link.rows(
        sql.MOVE,
        id=before.pending_id,
        source=before.state.value,
        target=target.value,
        now=now,
        result=sql.reason_document(reason),
    )
    after = _told_one(link, moved)
    if after is None:
        raise _cannot_go(_existing(link, before.pending_id).state, target)
    return after


def _cannot_go(current: PendingState, target: PendingState) -> UnknownTransitionError:
    return UnknownTransitionError(f"pending action: {current.value} -> {target.value} is not possible here")


def sequence_if_open(link: Link, session_id: str) -> int:
    """The next place on an open session's stack, which stays open until the transaction's end.

    Raises `SessionEndedError`, `StateConflictError` when there is no such session.
    """
    row = link.row(sql.NEXT_SEQUENCE_IF_OPEN, session=session_id)
    if row is not None:
        return int(row[0])
    if link.row(sql.HAS_SESSION, session=session_id) is None:
        raise StateConflictError(f"there is no session {session_id}")
    raise SessionEndedError(f"session {session_id} was closed meanwhile")


def _existing(link: Link, pending_id: str) -> PendingAction:
    action = _first(link.rows(sql.GET, id=pending_id))
    if action is None:
        raise UnknownRecordError(f"there is no pending action {pending_id}")
    return action


def _told(link: Link, rows: Iterable[Row]) -> tuple[PendingAction, ...]:
    """The actions in `rows`, of which it is told that they have changed."""
    actions = _actions(rows)
    for action in actions:
        link.announce(Topic.PENDING, action.session_id, action.session_id)
    return actions


def _each(link: Link, statement: Statement, actions: Iterable[PendingAction], **values: object) -> list[PendingAction]:
    """Those of `actions` that `statement` has changed."""
    ids = [action.pending_id for action in actions]
    return [action for some in parts(ids) for action in _told(link, link.rows(statement, **some, **values))]


def _told_one(link: Link, rows: list[Row]) -> PendingAction | None:
    return next(iter(_told(link, rows)), None)


def _first(rows: list[Row]) -> PendingAction | None:
    return sql.action_of(rows[0]) if rows else None


def _actions(rows: Iterable[Row]) -> tuple[PendingAction, ...]:
    return tuple(map(sql.action_of, rows))
