"""How many questions are asked at once, and how many wait: a slow server must not make calls pile up (ENG-3)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from interlock_gateway.core.decision import DecisionError, GatewayErrorCode


class Slots:
    """Places for `most` questions, and for `queued` more that wait for one."""

    def __init__(self, most: int, queued: int) -> None:
        self._most, self._queued = most, queued
        self._free = asyncio.Semaphore(most)
        self._came: dict[object, float] = {}
        self.taken = 0

    @property
    def waiting(self) -> int:
        """How many questions wait for a place."""
        return len(self._came)

    def delay_s(self) -> float:
        """How long the first of those that wait has waited."""
        first = next(iter(self._came.values()), None)
        return 0.0 if first is None else asyncio.get_running_loop().time() - first

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """A place inside the block, in order of arrival. Raises `DecisionError` at once when too many wait already."""
        if self._free.locked():
            if self.waiting >= self._queued:
                raise busy()
            place = object()
            self._came[place] = asyncio.get_running_loop().time()
            try:
                await self._free.acquire()
            finally:
                del self._came[place]
        else:
            await self._free.acquire()
        self.taken += 1
        try:
            yield
        finally:
            self.taken -= 1
            self._free.release()


def busy() -> DecisionError:
    """Why a call is denied for which there is no place."""
    return DecisionError(GatewayErrorCode.POLICY_UNAVAILABLE, "too many calls wait for the policy server")
