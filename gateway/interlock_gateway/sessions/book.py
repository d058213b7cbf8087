"""The book of sessions: finds or opens the one a call belongs to, and keeps its facts (AUTH-2, TOOL-10)."""

import asyncio
import re
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from interlock_gateway.core.clock import Clock
from interlock_gateway.core.pending import PendingAction
from interlock_gateway.core.session import Principal, Session
from interlock_gateway.core.sessionfacts import SessionFacts
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.pipeline.ports import StateStore
from interlock_gateway.sessions.live import LiveSession

LIVE_KEPT = 10_000
"""Idle sessions beyond this many are dropped from memory; their record and facts are in the database."""

_SESSION_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")


class SessionBook:
    """Live sessions by id. The database has the last word on who owns one."""

    def __init__(self, store: StateStore, clock: Clock, roots: Sequence[str]) -> None:
        self._store = store
        self._clock = clock
        self._roots = tuple(roots)
        self._live: OrderedDict[str, LiveSession] = OrderedDict()
        self._loading: dict[str, asyncio.Task[LiveSession]] = {}
        self._dirty: dict[str, LiveSession] = {}

    async def admit(self, principal: Principal, session_id: str) -> LiveSession:
        """The session a call is made in; its first call opens it.

        Raises `RequestError`: the id is malformed, the session is another principal's, or it is closed.
        """
        live = await self._find_or_open(Session(session_id, principal.id, self._clock.now(), roots=self._roots))
        return _checked(live, principal, must_be_open=True)

    async def owned(self, principal: Principal, session_id: str) -> LiveSession:
        """An existing session of `principal`, open or closed. Raises `RequestError`."""
        live = self._live.get(_checked_id(session_id)) or await self._load(session_id)
        if live is None:
            raise RequestError(RequestFault.SESSION_NOT_FOUND, f"there is no session {session_id}", field="session_id")
        return _checked(live, principal, must_be_open=False)

    async def for_evaluation(self, principal: Principal, session_id: str) -> LiveSession:
        """The session as `admit` gives it, or one that is kept nowhere when there is none yet."""
        live = self._live.get(_checked_id(session_id)) or await self._load(session_id)
        if live is None:
            record = Session(session_id, principal.id, self._clock.now(), roots=self._roots)
            return LiveSession(record, SessionFacts())
        return _checked(live, principal, must_be_open=True)

    async def open(self, principal: Principal, wanted: Session) -> LiveSession:
        """Open a session with the caller's intent, labels, tools and roots; one that is open in the same way is theirs.

        Roots narrow the configured ones and never widen them (REF-4). Raises `RequestError` also when it is open in
        another way: nobody may believe that a session is narrower than it is.
        """
        roots = _narrowed(self._roots, wanted.roots)
        session = Session(
            wanted.session_id,
            principal.id,
            self._clock.now(),
            wanted.intent,
            wanted.labels,
            wanted.tools,
            roots,
            always_loaded=wanted.always_loaded,
            deferred_threshold=wanted.deferred_threshold,
        )
        live = _checked(await self._find_or_open(session), principal, must_be_open=True)
        if _terms(live.session) != _terms(session):
            raise RequestError(
                RequestFault.SESSION_EXISTS,
                f"session {session.session_id} is open already, with another intent, labels, tools, roots or deferral",
                field="session_id",
            )
        return live

    async def close(self, principal: Principal, session_id: str) -> tuple[LiveSession, tuple[PendingAction, ...]]:
        """Close a session: its pending actions are discarded with reason "session closed"."""
        live = await self.owned(principal, session_id)
        now = self._clock.now()
        closed = await self._store.sessions.close_session(session_id, now)
        discarded = await self._store.pending.discard_session_pending(session_id, "session closed", now)
        await self._store.handlers.clear_handler(session_id)
        live.session = closed or live.session
        live.pending_count = 0
        live.facts.previews["discarded"] += len(discarded)
        self.touch(live)
        return live, discarded

    async def activate(self, live: LiveSession, names: Sequence[str]) -> None:
        """Have it on disk that the session activated these tools. Raises `RequestError`: it was closed meanwhile."""
        record = await self._store.sessions.activate_tools(live.session.session_id, names)
        self._take(live, record)
        if not live.session.is_open:
            raise RequestError(RequestFault.SESSION_CLOSED, f"session {live.session.session_id} is closed")

    async def reread(self, live: LiveSession) -> None:
        """Take in what another replica may have changed of the session's record: what it activated, its end."""
        self._take(live, await self._store.sessions.get_session(live.session.session_id))

    def touch(self, live: LiveSession) -> None:
        """Note that the session's facts have changed; they are written behind."""
        live.dirty = True
        self._dirty[live.session.session_id] = live

    async def flush(self) -> None:
        """Write the facts that have changed. Called about once a second, and at the end."""
        taken, self._dirty = self._dirty, {}
        for live in taken.values():
            live.dirty = False
        try:
            if taken:
                await self._store.sessions.save_session_facts(
                    {session_id: live.facts.to_json() for session_id, live in taken.items()}
                )
        except BaseException:
            for live in taken.values():
                self.touch(live)  # what policy counts on must not be forgotten because a disk was full for a moment
            raise
        finally:
            self._drop_idle()

    def in_memory(self, session_id: str) -> LiveSession | None:
        """The session if it is in memory."""
        return self._live.get(session_id)

    async def recount_pending(self, live: LiveSession) -> None:
        """Read again how many actions are pending and how many are of unknown outcome."""
        session_id = live.session.session_id
        live.pending_count = await self._store.pending.count_pending(session_id, self._clock.now())
        live.unknown_count = len(await self._store.pending.unknown_pending(session_id))

    async def expire(self) -> int:
        """End the pending actions that nobody resolved in time (PREV-13); how many there were."""
        expired = await self._store.pending.expire_pending(self._clock.now())
        for session_id in {action.session_id for action in expired}:
            live = self._live.get(session_id)
            if live is not None:
                await self.recount_pending(live)
                live.facts.previews["expired"] += sum(action.session_id == session_id for action in expired)
                self.touch(live)
        return len(expired)

    def __len__(self) -> int:
        return len(self._live)

    async def _find_or_open(self, session: Session) -> LiveSession:
        live = self._live.get(session.session_id)
        if live is not None:
            return live
        session_id = _checked_id(session.session_id)
        task = self._loading.get(session_id)
        if task is None:
            task = asyncio.create_task(self._bring_in(session))
            self._loading[session_id] = task
            task.add_done_callback(lambda _: self._loading.pop(session_id, None))
        return await asyncio.shield(task)

    async def _bring_in(self, session: Session) -> LiveSession:
        return await self._enter(await self._store.sessions.ensure_session(session))

    async def _load(self, session_id: str) -> LiveSession | None:
        record = await self._store.sessions.get_session(session_id)
        return await self._enter(record) if record is not None else None

    async def _enter(self, record: Session) -> LiveSession:
        kept = await self._store.sessions.load_session_facts(record.session_id)
        # Roots may have been narrowed since the session was opened; it never keeps more than is configured now (REF-4).
        record = replace(record, roots=_common(self._roots, record.roots))
        live = LiveSession(
            record,
            SessionFacts.from_json(kept.own) if kept.own is not None else SessionFacts(),
            tuple(map(SessionFacts.from_json, kept.others)),
        )
        await self.recount_pending(live)
        return self._live.setdefault(record.session_id, live)

    def _take(self, live: LiveSession, record: Session | None) -> None:
        if record is not None:
            live.session = replace(record, roots=live.session.roots)

    def _drop_idle(self) -> None:
        excess = len(self._live) - LIVE_KEPT
        if excess <= 0:
            return
        idle = [session_id for session_id, live in self._live.items() if live.idle]
        for session_id in idle[:excess]:
            del self._live[session_id]


def _checked_id(session_id: str) -> str:
    if not _SESSION_ID.fullmatch(session_id):
        raise RequestError(
            RequestFault.INVALID_FIELD,
            "session_id must be 1 to 128 characters of A-Z, a-z, 0-9, '.', '_', ':' and '-'",
            field="session_id",
        )
    return session_id


def _checked(live: LiveSession, principal: Principal, *, must_be_open: bool) -> LiveSession:
    if live.session.owner != principal.id:
        raise RequestError(RequestFault.NOT_YOUR_SESSION, "this session belongs to another principal")
    if must_be_open and not live.session.is_open:
        raise RequestError(RequestFault.SESSION_CLOSED, f"session {live.session.session_id} is closed")
    return live


def _terms(session: Session) -> tuple[object, ...]:
    listing = session.always_loaded, session.deferred_threshold
    return session.intent, dict(session.labels), session.tools, session.roots, listing


def _common(configured: tuple[str, ...], kept: tuple[str, ...]) -> tuple[str, ...]:
    """What lies inside both: each of `kept` inside a configured root, and each configured root inside one of `kept`."""
    inside = [root for root in kept if _within(root, configured)]
    return tuple(dict.fromkeys([*inside, *(root for root in configured if _within(root, kept))]))


def _within(root: str, roots: tuple[str, ...]) -> bool:
    path = PurePosixPath(root)
    return ".." not in path.parts and any(path.is_relative_to(other) for other in roots)


def _narrowed(configured: tuple[str, ...], wanted: tuple[str, ...]) -> tuple[str, ...]:
    for root in wanted:
        if not _within(root, configured):
            raise RequestError(
                RequestFault.ROOT_NOT_ALLOWED,
                f"workspace root {root} is not inside a configured root",
                field="workspace_roots",
            )
    return wanted or configured
