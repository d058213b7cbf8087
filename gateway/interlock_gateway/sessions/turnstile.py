"""Which calls of one session may run now (PIPE-8): safe ones share, others run alone, in the order they arrived."""

import asyncio
from collections import deque
from collections.abc import Callable

from interlock_gateway.pipeline.ports import Crossing


class Turnstile:
    """A fair shared/exclusive lock. Not re-entrant; cancelling a waiter gives up its place and wakes the next.

    With a `crossing` the session's calls of other replicas are kept apart from those here, too.
    """

    __slots__ = ("_crossing", "_exclusive", "_session_id", "_shared", "_waiting")

    def __init__(self, session_id: str = "", crossing: Crossing | None = None) -> None:
        self._session_id = session_id
        self._crossing = crossing
        self._shared = 0
        self._exclusive = False
        self._waiting: deque[tuple[bool, asyncio.Future[None]]] = deque()

    @property
    def idle(self) -> bool:
        """Whether nothing holds it and nothing waits."""
        return not (self._shared or self._exclusive or self._waiting)

    def ahead(self) -> int:
        """How many calls are waiting already."""
        return len(self._waiting)

    async def acquire(self, *, shared: bool, standing: Callable[[], None] | None = None) -> float:
        """Wait for a place; for how many seconds calls of this session here were in the way.

        `standing` is called as soon as it stands in line: whoever comes after that goes behind it. Raises
        `StateUnavailableError` when other replicas cannot be kept out.
        """
        waited_s = await self._acquire_here(shared=shared, standing=standing)
        if self._crossing is None:
            return waited_s
        try:
            coming = self._crossing.enter(self._session_id, shared=shared)
            if coming is not None:
                await coming
        except BaseException:
            self._release_here(shared=shared)
            raise
        return waited_s

    def release(self, *, shared: bool) -> None:
        """Give the place back and let the next ones in."""
        if self._crossing is not None:
            self._crossing.leave(self._session_id)
        self._release_here(shared=shared)

    async def _acquire_here(self, *, shared: bool, standing: Callable[[], None] | None) -> float:
        if not self._waiting and self._free_for(shared=shared):
            self._take(shared=shared)
            if standing is not None:
                standing()
            return 0.0
        loop = asyncio.get_running_loop()
        began, place = loop.time(), loop.create_future()
        self._waiting.append((shared, place))
        if standing is not None:
            standing()
        try:
            await place
        except asyncio.CancelledError:
            self._leave(shared=shared, place=place)
            raise
        return loop.time() - began

    def _release_here(self, *, shared: bool) -> None:
        if shared:
            self._shared -= 1
        else:
            self._exclusive = False
        self._admit()

    def _free_for(self, *, shared: bool) -> bool:
        return not self._exclusive and (shared or not self._shared)

    def _take(self, *, shared: bool) -> None:
        if shared:
            self._shared += 1
        else:
            self._exclusive = True

    def _leave(self, *, shared: bool, place: "asyncio.Future[None]") -> None:
        if place.done() and not place.cancelled():
            self._release_here(shared=shared)  # it was admitted in the same moment it was cancelled
            return
        self._waiting = deque(entry for entry in self._waiting if entry[1] is not place)
        self._admit()

    def _admit(self) -> None:
        while self._waiting:
            shared, place = self._waiting[0]
            if place.cancelled():
                self._waiting.popleft()
                continue
            if not self._free_for(shared=shared):
                return
            self._waiting.popleft()
            self._take(shared=shared)
            place.set_result(None)
