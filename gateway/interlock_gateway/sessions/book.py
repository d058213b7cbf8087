"""The book of sessions: finds or opens the one a call belongs to, and keeps its facts (AUTH-2, TOOL-10)."""

import asyncio
import contextlib
import re
from collections import OrderedDict
from collections.abc import Collection, Coroutine, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from interlock_gateway.core.change import Change, Topic
from interlock_gateway.core.clock import Clock
from interlock_gateway.core.pending import Later, PendingAction, PendingState, at_once
from interlock_gateway.core.session import Principal, Session, is_made_for_another
from interlock_gateway.core.sessionfacts import SessionFacts
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.pipeline.ports import StateError, StateStore
from interlock_gateway.sessions.live import LiveSession
from interlock_gateway.sessions.turnstile import Turnstile

LIVE_KEPT = 10_000
"""Idle sessions beyond this many are dropped from memory; their record and facts are in the database."""

_OF_SESSIONS = frozenset({Topic.SESSION, Topic.FACTS, Topic.PENDING})
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
        self._writing = asyncio.Lock()
        self._errands: set[asyncio.Task[None]] = set()
        if store.crossing is not None:
            store.crossing.attend(self._arrived, self._departing)
        store.changes.subscribe_elsewhere(self._changed_elsewhere)

    async def admit(self, principal: Principal, session_id: str) -> LiveSession:
        """The session a call is made in; its first call opens it.

        Raises `RequestError`: the id is malformed, the session is another principal's, or it is closed.
        """
        live = self._live.get(session_id)
        if live is None:
            live = await self._find_or_open(self._new(principal, session_id))
        return _checked(await self._current(live) if live.stale else live, principal, must_be_open=True)

    async def owned(self, principal: Principal, session_id: str) -> LiveSession:
        """An existing session of `principal`, open or closed. Raises `RequestError`."""
        return _checked(await self.any(session_id), principal, must_be_open=False)

    async def any(self, session_id: str) -> LiveSession:
        """An existing session, whosever it is: for operators, and for what ends without its principal.

        Raises `RequestError`.
        """
        live = self._live.get(_checked_id(session_id)) or await self._load(session_id)
        if live is None:
            raise RequestError(RequestFault.SESSION_NOT_FOUND, f"there is no session {session_id}", field="session_id")
        return await self._current(live)

    async def for_evaluation(self, principal: Principal, session_id: str) -> LiveSession:
        """The session as `admit` gives it, or one that is kept nowhere when there is none yet."""
        live = self._live.get(_checked_id(session_id)) or await self._load(session_id)
        if live is None:
            return LiveSession(self._new(principal, session_id), SessionFacts())
        return _checked(await self._current(live), principal, must_be_open=True)

    async def open(self, principal: Principal, wanted: Session) -> LiveSession:
        """Open a session with the caller's intent, labels, tools and roots; one that is open in the same way is theirs.

        Roots narrow the configured ones and never widen them (REF-4). Raises `RequestError` also when it is open in
        another way: nobody may believe that a session is narrower than it is.
        """
        roots = _narrowed(self._roots, wanted.roots)
        session = replace(
            self._new(principal, wanted.session_id),
            intent=wanted.intent,
            labels=wanted.labels,
            tools=wanted.tools,
            roots=roots,
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

    async def close(
        self, principal: Principal, session_id: str, later: Later = at_once
    ) -> tuple[LiveSession, tuple[PendingAction, ...]]:
        """Close a session, and take its pending actions off the stack with reason "session closed".

        Those of which `later` is true are off the stack too, and discarded by `expire`, here or at another replica.
        """
        live = await self.owned(principal, session_id)
        now = self._clock.now()
        closed = await self._store.sessions.close_session(session_id, now)
        discarded = await self._store.pending.discard_session_pending(session_id, "session closed", now, later)
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
        """Note that the session's facts have changed; they are written behind, and at once where others must know."""
        live.dirty = True
        self._dirty[live.session.session_id] = live
        if self._store.crossing is not None and not live.taints_kept.issuperset(live.facts.taints):
            self._begin(self._departing(live.session.session_id))

    async def taint(self, live: LiveSession, taints: Collection[str]) -> None:
        """Have it on disk that the session is tainted so: once for each taint, after that it costs nothing.

        Raises `StateError`; the session is tainted all the same, as long as this process lives.
        """
        while not live.taints_kept.issuperset(taints):
            live.facts.taints.update(taints)
            live.dirty = True
            self._dirty[live.session.session_id] = live
            await self._departing(live.session.session_id)

    async def flush(self) -> None:
        """Write the facts that have changed. Called about once a second, and at the end."""
        async with self._writing:
            taken, self._dirty = self._dirty, {}
            try:
                await self._write(taken)
            finally:
                self._drop_idle()

    async def _write(self, taken: dict[str, LiveSession]) -> None:
        if not taken:
            return
        for live in taken.values():
            live.dirty = False
        taints = {session_id: frozenset(live.facts.taints) for session_id, live in taken.items()}
        try:
            await self._store.sessions.save_session_facts(
                {session_id: live.facts.to_json() for session_id, live in taken.items()}
            )
        except BaseException:
            for live in taken.values():  # what policy counts on must not be forgotten because a disk was full
                live.dirty = True
            self._dirty = taken | self._dirty
            raise
        for session_id, live in taken.items():
            live.taints_kept = taints[session_id]

    def in_memory(self, session_id: str) -> LiveSession | None:
        """The session if it is in memory."""
        return self._live.get(session_id)

    async def recount_pending(self, live: LiveSession) -> None:
        """Read again how many actions are pending and how many are of unknown outcome."""
        session_id = live.session.session_id
        live.pending_count = await self._store.pending.count_pending(session_id, self._clock.now())
        live.unknown_count = len(await self._store.pending.unknown_pending(session_id))

    async def expire(self, later: Later = at_once) -> tuple[PendingAction, ...]:
        """Take the pending actions that nobody resolved in time off their stacks (PREV-13); each for one replica.

        With those that were left over from closed sessions, which are discarded. Those of which `later` is true are
        left to other replicas for a while.
        """
        ended = await self._store.pending.expire_pending(self._clock.now(), later)
        expired = [action for action in ended if action.state is PendingState.EXPIRED]
        for session_id in {action.session_id for action in expired}:
            live = self._live.get(session_id)
            if live is not None:
                await self.recount_pending(live)
                live.facts.previews["expired"] += sum(action.session_id == session_id for action in expired)
                self.touch(live)
        return ended

    def __len__(self) -> int:
        return len(self._live)

    async def _find_or_open(self, session: Session) -> LiveSession:
        live = self._live.get(session.session_id)
        if live is not None:
            return live
        session_id = _checked_id(session.session_id)
        if is_made_for_another(session_id, session.owner):
            raise _not_theirs()
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
        own = SessionFacts.from_json(kept.own) if kept.own is not None else SessionFacts()
        taints_kept = frozenset(own.taints)
        own.catch_up(await self._store.journal.own_operations(record.session_id, max(0, own.journaled)))
        live = LiveSession(
            self._narrowed(record),
            own,
            tuple(map(SessionFacts.from_json, kept.others)),
            turnstile=Turnstile(record.session_id, self._store.crossing),
        )
        live.taints_kept = taints_kept
        await self.recount_pending(live)
        return self._live.setdefault(record.session_id, live)

    def _new(self, principal: Principal, session_id: str) -> Session:
        return Session(
            session_id,
            principal.id,
            self._clock.now(),
            roots=self._roots,
            owner_kind=principal.kind,
            owner_roles=tuple(sorted(role.value for role in principal.roles)),
        )

    def _narrowed(self, record: Session) -> Session:
        # Roots may have been narrowed since the session was opened; it never keeps more than is configured now (REF-4).
        return replace(record, roots=_common(self._roots, record.roots))

    # -- other replicas --

    def _changed_elsewhere(self, change: Change) -> None:
        if change.topic is Topic.EVERYTHING:
            for live in self._live.values():
                live.stale = True
        elif change.topic in _OF_SESSIONS and (found := self._live.get(change.session_id)) is not None:
            found.stale = True
            if not found.idle:  # calls of it are under way, and look at it before they run
                self._begin(self._read_again(found))

    async def _current(self, live: LiveSession) -> LiveSession:
        if live.stale:
            await self._read_again(live)
        return live

    async def _read_again(self, live: LiveSession) -> None:
        """Read what others may have changed of a session in memory."""
        session_id = live.session.session_id
        live.stale = False
        try:
            record, kept, _ = await asyncio.gather(
                self._store.sessions.get_session(session_id),
                self._store.sessions.load_session_facts(session_id),
                self.recount_pending(live),
            )
        except BaseException:
            live.stale = True
            raise
        live.elsewhere = tuple(map(SessionFacts.from_json, kept.others))
        if record is not None:
            live.session = self._narrowed(record)

    async def _arrived(self, session_id: str) -> None:
        """The session's calls may run here now; until a moment ago others may have run elsewhere."""
        live = self._live.get(session_id)
        if live is not None:
            await self._read_again(live)

    async def _departing(self, session_id: str) -> None:
        """Write what this replica saw of the session, so that the next one sees it."""
        async with self._writing:
            live = self._dirty.pop(session_id, None)
            if live is not None:
                await self._write({session_id: live})

    def _begin(self, errand: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(_excused(errand))
        self._errands.add(task)
        task.add_done_callback(self._errands.discard)

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


async def _excused(errand: Coroutine[None, None, None]) -> None:
    # Stale or dirty, the session stays marked as such: whoever needs it next tries again.
    with contextlib.suppress(StateError):
        await errand


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
        raise _not_theirs()
    if must_be_open and not live.session.is_open:
        raise RequestError(RequestFault.SESSION_CLOSED, f"session {live.session.session_id} is closed")
    return live


def _not_theirs() -> RequestError:
    return RequestError(RequestFault.NOT_YOUR_SESSION, "this session belongs to another principal")


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
