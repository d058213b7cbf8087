"""Sessions and what is known about them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from sqlalchemy import Integer, and_, bindparam, func, or_, select, update

from interlock_gateway.core.change import Topic
from interlock_gateway.core.session import EVERY_SESSION, Session, WantedSessions
from interlock_gateway.pipeline.ports import SessionDocuments
from interlock_gateway.state.artifact_store import release_session
from interlock_gateway.state.lane import Lane
from interlock_gateway.state.record_codec import RecordCodec
from interlock_gateway.state.schema import session_facts, sessions
from interlock_gateway.state.some_ids import is_one, parts
from interlock_gateway.state.transaction import Link, Row, Statement

_COLUMNS = (
    sessions.c.session_id,
    sessions.c.owner,
    sessions.c.opened_at,
    sessions.c.closed_at,
    sessions.c.document,
)

_COLUMN_NAMES = tuple(column.name for column in _COLUMNS[:-1])
_DOCUMENT = RecordCodec(Session, columns=frozenset(_COLUMN_NAMES))

_INSERT = Statement(
    lambda insert: (
        insert(sessions)
        .values(
            session_id=bindparam("session_id"),
            owner=bindparam("owner"),
            opened_at=bindparam("opened_at"),
            closed_at=bindparam("closed_at"),
            pending_sequence=0,
            document=bindparam("document"),
        )
        .on_conflict_do_nothing()
    )
)
_GET = Statement(select(*_COLUMNS).where(sessions.c.session_id == bindparam("id")))
_REPLACE = Statement(
    update(sessions)
    .where(sessions.c.session_id == bindparam("id"), sessions.c.document == bindparam("before"))
    .values(document=bindparam("after"))
)
_CLOSE = Statement(
    update(sessions)
    .where(sessions.c.session_id == bindparam("id"), sessions.c.closed_at.is_(None))
    .values(closed_at=bindparam("now"))
)
_IN_ORDER = (
    select(*_COLUMNS)
    .where(
        or_(bindparam("any_owner", type_=Integer) == 1, sessions.c.owner == bindparam("owner")),
        or_(
            and_(bindparam("open", type_=Integer) == 1, sessions.c.closed_at.is_(None)),
            and_(bindparam("closed", type_=Integer) == 1, sessions.c.closed_at.is_not(None)),
        ),
    )
    .order_by(sessions.c.opened_at.desc(), sessions.c.session_id.desc())
    .limit(bindparam("limit"))
)
_FIRST = Statement(_IN_ORDER)
_BEHIND = Statement(
    _IN_ORDER.where(
        sessions.c.opened_at <= bindparam("opened_at"),
        or_(sessions.c.opened_at < bindparam("opened_at"), sessions.c.session_id < bindparam("id")),
    )
)
_COUNT_OPEN = Statement(select(func.count()).select_from(sessions).where(sessions.c.closed_at.is_(None)))
_SAVE_FACTS = Statement(
    lambda insert: (
        insert(session_facts)
        .values(session_id=bindparam("id"), replica_id=bindparam("replica"), document=bindparam("document"))
        .on_conflict_do_update(index_elements=["session_id", "replica_id"], set_={"document": bindparam("document")})
    )
)
_LOAD_FACTS = Statement(
    select(session_facts.c.replica_id, session_facts.c.document).where(session_facts.c.session_id == bindparam("id"))
)
_FACTS_OF = Statement(
    select(session_facts.c.session_id, session_facts.c.replica_id, session_facts.c.document).where(
        is_one(session_facts.c.session_id)
    )
)
AT_ONCE = 500
"""So many rows are looked at in one read when labels are asked for, which no column has; others read in between."""


class Sessions:
    """`SessionStore` on a database, for one replica."""

    def __init__(self, reader: Lane, writer: Lane, replica_id: str) -> None:
        self._replica_id = replica_id
        self._reader = reader
        self._writer = writer

    async def get_session(self, session_id: str) -> Session | None:
        """The session, open or closed."""
        return await self._reader.submit(partial(_get, session_id=session_id))

    async def ensure_session(self, session: Session) -> Session:
        """Keep `session` unless there is one with its id; the kept one, whose owner never changes."""
        return await self._writer.submit(partial(_ensure, session=session))

    async def close_session(self, session_id: str, now: float) -> Session | None:
        """Close it and forget what it activated; one that is closed keeps its time. `None` when there is none."""
        return await self._writer.submit(partial(_close, session_id=session_id, now=now))

    async def activate_tools(self, session_id: str, names: Sequence[str]) -> Session | None:
        """Add `names` to what the open session activated, whoever else adds to it; the session as it is then."""
        return await self._writer.submit(partial(_activate, session_id=session_id, names=tuple(names)))

    async def list_sessions(
        self, limit: int, after: str | None = None, wanted: WantedSessions = EVERY_SESSION
    ) -> tuple[Session, ...]:
        """As `SessionStore` says."""
        at_once = max(limit, AT_ONCE) if wanted.labels else limit
        found: list[Session] = []
        while len(found) < limit:
            read = await self._reader.submit(partial(_list, limit=at_once, after=after, wanted=wanted))
            found += filter(wanted.has_labels, read)
            if len(read) < at_once:
                break
            after = read[-1].session_id
        return tuple(found[:limit])

    async def count_open(self) -> int:
        """How many sessions are open, at whichever replica."""
        rows = await self._reader.submit(lambda link: link.rows(_COUNT_OPEN))
        return int(rows[0][0])

    async def facts_of(self, page: Sequence[Session]) -> Mapping[str, SessionDocuments]:
        """What is kept of each session of a page of `list_sessions`, by its id."""
        return await self._reader.submit(partial(_facts_of, page=page, replica_id=self._replica_id))

    async def save_session_facts(self, facts: Mapping[str, bytes]) -> None:
        """Keep one JSON document for each session id, in place of what this replica kept of it earlier."""
        await self._writer.submit(partial(_save_facts, facts=dict(facts), replica_id=self._replica_id))

    async def load_session_facts(self, session_id: str) -> SessionDocuments:
        """The documents that this replica and others kept last."""
        return await self._reader.submit(partial(_load_facts, session_id=session_id, replica_id=self._replica_id))


def _get(link: Link, session_id: str) -> Session | None:
    row = link.row(_GET, id=session_id)
    return None if row is None else _session(row)


def _ensure(link: Link, session: Session) -> Session:
    link.change(
        _INSERT,
        session_id=session.session_id,
        owner=session.owner,
        opened_at=session.opened_at,
        closed_at=session.closed_at,
        document=_DOCUMENT.encode(session),
    )
    kept = _get(link, session.session_id)
    assert kept is not None
    return kept


def _close(link: Link, session_id: str, now: float) -> Session | None:
    if link.change(_CLOSE, id=session_id, now=now):
        release_session(link, session_id)
        link.announce(Topic.SESSION, session_id, session_id)
        return _changed(link, session_id, lambda closed: replace(closed, activated=()))
    return _get(link, session_id)


def _activate(link: Link, session_id: str, names: tuple[str, ...]) -> Session | None:
    def activated(before: Session) -> Session:
        if not before.is_open:
            return before
        return replace(before, activated=tuple(dict.fromkeys((*before.activated, *names))))

    return _changed(link, session_id, activated)


def _changed(link: Link, session_id: str, change: Callable[[Session], Session]) -> Session | None:
    """Replace the session's document by what `change` makes of it, from the newest one, whoever else replaces it."""
    while (row := link.row(_GET, id=session_id)) is not None:
        before = _session(row)
        after = change(before)
        if after == before:
            return before
        if link.change(_REPLACE, id=session_id, before=row[-1], after=_DOCUMENT.encode(after)):
            link.announce(Topic.SESSION, session_id, session_id)
            return after
    return None


def _list(link: Link, limit: int, after: str | None, wanted: WantedSessions) -> tuple[Session, ...]:
    about = {"any_owner": int(not wanted.owner), "owner": wanted.owner, "limit": limit}
    about |= {"open": int(wanted.open), "closed": int(wanted.closed)}
    if after is None:
        return tuple(map(_session, link.rows(_FIRST, **about)))
    last = _get(link, after)
    if last is None:
        return ()
    return tuple(map(_session, link.rows(_BEHIND, **about, opened_at=last.opened_at, id=after)))


def _save_facts(link: Link, facts: Mapping[str, bytes], replica_id: str) -> None:
    for session_id, document in facts.items():
        link.change(_SAVE_FACTS, id=session_id, replica=replica_id, document=document)
        link.announce(Topic.FACTS, session_id, session_id)


def _load_facts(link: Link, session_id: str, replica_id: str) -> SessionDocuments:
    return _documents(dict(link.rows(_LOAD_FACTS, id=session_id)), replica_id)


def _facts_of(link: Link, page: Sequence[Session], replica_id: str) -> dict[str, SessionDocuments]:
    found: dict[str, dict[str, bytes]] = {session.session_id: {} for session in page}
    for some in parts([*found]):
        for session_id, replica, document in link.rows(_FACTS_OF, **some):
            found[session_id][replica] = document
    return {session_id: _documents(rows, replica_id) for session_id, rows in found.items()}


def _documents(rows: dict[str, bytes], replica_id: str) -> SessionDocuments:
    own = rows.pop(replica_id, None)
    return SessionDocuments(own, tuple(rows.values()))


def _session(row: Row) -> Session:
    *columns, document = row
    return _DOCUMENT.decode(document, **dict(zip(_COLUMN_NAMES, columns, strict=True)))
