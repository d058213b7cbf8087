"""Which calls of one session may run now (PIPE-8): safe ones share, others run alone, in the order they arrived."""

import asyncio
from collections import deque


class Turnstile:
    """A fair shared/exclusive lock. Not re-entrant; cancelling a waiter gives up its place and wakes the next."""

    __slots__ = ("_exclusive", "_shared", "_waiting")

    def __init__(self) -> None:
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

    async def acquire(self, *, shared: bool) -> None:
        """Wait for a place."""
        if not self._waiting and self._free_for(shared=shared):
            self._take(shared=shared)
            return
        place = asyncio.get_running_loop().create_future()
        self._waiting.append((shared, place))
        try:
            await place
        except asyncio.CancelledError:
            self._leave(shared=shared, place=place)
            raise

    def release(self, *, shared: bool) -> None:
        """Give the place back and let the next ones in."""
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
            self.release(shared=shared)  # it was admitted in the same moment it was cancelled
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
