"""Which replica's calls of a session may run now (PIPE-8): advisory locks that a replica keeps until another asks.

A replica that serves a session alone asks the database once. While it has the lock, its calls of the session cost
nothing here; when another replica wants the session, it hears of it, lets the calls that run end, and gives the lock
away. Locks hang on the connection of the replica's lease: they end with it. Nobody ever waits inside the database.
"""

import asyncio
import json
import logging
import random
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import IntEnum

from interlock_gateway.pipeline.ports import StateError, StateUnavailableError
from interlock_gateway.state import replica_statements as sql
from interlock_gateway.state.presence import Presence
from interlock_gateway.state.standing import LOST

CHANNEL = "interlock_places"
# The server's table of locks holds 6,400 by default, for all replicas together.
MAX_KEPT = 400
# Who gave a lock away lets the other one in before it asks again.
_YIELD_S = (0.005, 0.02)
# A replica that died tells nobody that its locks are free.
_RETRY_S = (0.1, 1.0)
_REJOIN_WAIT_S = 5.0
_log = logging.getLogger(__name__)


class Mode(IntEnum):
    """How a lock is held; the greater one includes the lesser."""

    NONE = 0
    SHARED = 1
    EXCLUSIVE = 2


@dataclass(slots=True)
class _Place:
    """A session's lock: `mode` as this replica holds it, for `users` calls that run under it as `using`.

    `wanted` is what another replica asked for that `mode` is in the way of. `known` says that what others did in the
    session was read since the lock came; before that no call is let in.
    """

    session_id: str
    key: int
    mode: Mode = Mode.NONE
    users: int = 0
    using: Mode = Mode.NONE
    wanted: Mode = Mode.NONE
    waiting: "deque[tuple[Mode, asyncio.Future[None]]]" = field(default_factory=deque)
    stirred: asyncio.Event = field(default_factory=asyncio.Event)
    worker: "asyncio.Task[None] | None" = None
    tries: int = 0
    known: bool = False

    @property
    def idle(self) -> bool:
        return not self.users and not self.waiting


async def _nothing(_session_id: str) -> None:
    """Nobody attends."""


class SessionLocks:
    """`Crossing` on PostgreSQL. Belongs to one event loop."""

    def __init__(self, presence: Presence, origin: str) -> None:
        self._presence = presence
        self._origin = origin
        self._places: OrderedDict[str, _Place] = OrderedDict()
        self._arriving: Callable[[str], Awaitable[None]] = _nothing
        self._departing: Callable[[str], Awaitable[None]] = _nothing

    def attend(self, arriving: Callable[[str], Awaitable[None]], departing: Callable[[str], Awaitable[None]]) -> None:
        """Call `arriving` when a session's lock has come here, `departing` before it leaves; both may raise."""
        self._arriving = arriving
        self._departing = departing

    def enter(self, session_id: str, *, shared: bool) -> Awaitable[None] | None:
        """Take the session for a call; `None` when it is here already, else to be awaited.

        Whoever awaits may be cancelled. Raises `StateUnavailableError` when the database cannot be asked. Calls of this
        replica are kept apart by its turnstile; `leave` follows each call that entered.
        """
        place = self._places.get(session_id)
        need = Mode.SHARED if shared else Mode.EXCLUSIVE
        if place is None or place.waiting or place.wanted or place.mode < need or not place.known:
            return self._wait(session_id, need)
        if not self._presence.standing.holds:
            return self._wait(session_id, need)
        place.users += 1
        place.using = need
        self._places.move_to_end(session_id)
        return None

    def leave(self, session_id: str) -> None:
        """The call that entered has ended."""
        place = self._places[session_id]
        place.users -= 1
        if place.users == 0:
            place.using = Mode.NONE
            if place.wanted or place.waiting:
                self._stir(place)

    def hear(self, payload: str) -> None:
        """What another replica told on the channel."""
        with suppress(ValueError, KeyError, TypeError):
            told = json.loads(payload)
            place = self._places.get(told["session"])
            if place is None or told["from"] == self._origin:
                return
            wanted = Mode(told["want"])
            if Mode.EXCLUSIVE in (wanted, place.mode) and wanted and place.mode:
                place.wanted = max(place.wanted, wanted)
            self._stir(place)

    def lost(self) -> None:
        """The connection is gone, and every lock with it."""
        for place in list(self._places.values()):
            place.mode = place.wanted = Mode.NONE
            if not place.idle:
                self._stir(place)
            elif place.worker is None:
                del self._places[place.session_id]

    def regained(self) -> None:
        """There is a lease again."""
        for place in self._places.values():
            self._stir(place)

    async def close(self) -> None:
        """End whoever works for the locks; they go with the connection."""
        workers = [place.worker for place in self._places.values() if place.worker is not None]
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)

    async def _wait(self, session_id: str, need: Mode) -> None:
        place = self._places.get(session_id)
        if place is None:
            place = self._places[session_id] = _Place(session_id, sql.lock_key("session", session_id))
            self._keep_few()
        self._places.move_to_end(session_id)
        admitted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        place.waiting.append((need, admitted))
        self._stir(place)
        try:
            await admitted
        except asyncio.CancelledError:
            if admitted.done() and not admitted.cancelled() and admitted.exception() is None:
                self.leave(session_id)  # it was admitted in the same moment it was cancelled
            self._stir(place)
            raise

    def _keep_few(self) -> None:
        for place in list(self._places.values())[: max(0, len(self._places) - MAX_KEPT)]:
            if place.idle and place.mode:
                place.wanted = Mode.EXCLUSIVE
                self._stir(place)

    def _stir(self, place: _Place) -> None:
        place.stirred.set()
        if place.worker is None:
            place.worker = asyncio.create_task(self._work(place))

    async def _work(self, place: _Place) -> None:
        try:
            while await self._stepped(place):
                pass
        finally:
            place.worker = None
            if place.idle and not place.mode:
                self._places.pop(place.session_id, None)

    async def _stepped(self, place: _Place) -> bool:
        try:
            return await self._step(place)
        except StateError as error:
            if self._presence.standing.holds:
                _refuse(place, str(error))
            return not place.idle  # without a lease the next step waits for one
        except Exception:  # noqa: BLE001 - whoever waits here would wait for ever, and hold up its session
            _log.exception("a session cannot be served", extra={"session_id": place.session_id})
            _refuse(place, "what happened in the session elsewhere cannot be read")
            return False

    async def _step(self, place: _Place) -> bool:
        """Do the next thing for the place; whether there may be more to do."""
        place.stirred.clear()
        while place.waiting and place.waiting[0][1].done():
            place.waiting.popleft()
        if not self._presence.standing.holds:
            return await self._wait_for_lease(place)
        if place.using > place.mode:
            return await self._take_back(place)
        if place.wanted:
            return await self._give_way(place)
        if not place.waiting:
            return False
        need, admitted = place.waiting[0]
        if place.mode < need or not place.known:
            return await self._ask(place, need)
        place.waiting.popleft()
        place.users += 1
        place.using = need
        admitted.set_result(None)
        return True

    async def _wait_for_lease(self, place: _Place) -> bool:
        if not place.waiting:
            return False
        if not await _stirred(place, _REJOIN_WAIT_S):
            _refuse(place, LOST)
        return True

    async def _take_back(self, place: _Place) -> bool:
        """Lock again what calls that were running when the connection was lost still need."""
        if not await self._try(place, place.using):
            _log.error(
                "a session is served elsewhere while a call of it runs here", extra={"session_id": place.session_id}
            )
            place.using = Mode.NONE
        return True

    async def _give_way(self, place: _Place) -> bool:
        downgrade = place.wanted is Mode.SHARED and place.using is Mode.SHARED
        if place.users and not downgrade:
            await place.stirred.wait()
            return True
        try:
            await self._departing(place.session_id)
        except StateError as error:
            _log.warning("what a session did could not be written before it left", extra={"problem": str(error)})
        if place.mode and downgrade:
            await self._presence.ask(sql.TRY_LOCK_SHARED, (place.key,))
        if place.mode:
            await self._presence.ask(sql.UNLOCK if place.mode is Mode.EXCLUSIVE else sql.UNLOCK_SHARED, (place.key,))
            place.mode = Mode.SHARED if downgrade else Mode.NONE
            await self._tell(place, Mode.NONE)
        place.wanted = Mode.NONE
        if place.waiting:
            await asyncio.sleep(random.uniform(*_YIELD_S))  # noqa: S311 - keeps two replicas from meeting again
        return not place.idle

    async def _ask(self, place: _Place, need: Mode) -> bool:
        if place.mode >= need:
            await self._arriving(place.session_id)
            place.known = True
            return True
        if await self._try(place, need):
            place.tries = 0
            return True
        await self._tell(place, need)
        place.tries += 1
        await _stirred(place, min(_RETRY_S[0] * 2**place.tries, _RETRY_S[1]))
        return True

    async def _try(self, place: _Place, need: Mode) -> bool:
        statement = sql.TRY_LOCK if need is Mode.EXCLUSIVE else sql.TRY_LOCK_SHARED
        if not (await self._presence.ask(statement, (place.key,)))[0][0]:
            return False
        if place.mode is Mode.SHARED:
            await self._presence.ask(sql.UNLOCK_SHARED, (place.key,))
        place.mode, place.known = need, False
        return True

    async def _tell(self, place: _Place, want: Mode) -> None:
        told = {"from": self._origin, "session": place.session_id, "want": want.value}
        await self._presence.ask(sql.NOTIFY, (CHANNEL, json.dumps(told)))


def _refuse(place: _Place, words: str) -> None:
    for _, admitted in place.waiting:
        if not admitted.done():
            admitted.set_exception(StateUnavailableError(words))
    place.waiting.clear()


async def _stirred(place: _Place, within_s: float) -> bool:
    try:
        async with asyncio.timeout(within_s):
            await place.stirred.wait()
    except TimeoutError:
        return False
    return True
