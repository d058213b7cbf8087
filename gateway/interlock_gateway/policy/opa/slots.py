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
        self.taken = 0
        self.waiting = 0

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """A place inside the block, in order of arrival. Raises `DecisionError` at once when too many wait already."""
        if self._free.locked():
            if self.waiting >= self._queued:
                raise busy()
            self.waiting += 1
            try:
                await self._free.acquire()
            finally:
                self.waiting -= 1
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
