"""A watch ends with the credentials that it was begun with, whether anything happens or not."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest
from interlock_gateway.approvals.lasting import while_known
from interlock_gateway.approvals.watches import KEEPALIVE, WatchEvent
from interlock_gateway.core.session import Principal, Role
from interlock_gateway.errors import RequestError, RequestFault


class RealClock:
    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()


class Events:
    """Some events, and then silence or an end."""

    def __init__(self, count: int, *, ends: bool) -> None:
        self._count = count
        self._ends = ends
        self.closed = False

    async def told(self) -> AsyncIterator[WatchEvent]:
        try:
            for _ in range(self._count):
                yield KEEPALIVE
            if not self._ends:
                await asyncio.Event().wait()
        finally:
            self.closed = True


def approver(expires_at: float | None) -> Principal:
    return Principal("own:alice", "jwt", frozenset({Role.APPROVER}), expires_at=expires_at)


async def watched(events: Events, expires_at: float | None) -> int:
    count = 0
    async for _ in while_known(events.told(), approver(expires_at), RealClock()):
        count += 1
    return count


@pytest.mark.req("AUTH-1")
async def test_a_watch_ends_with_its_approvers_credentials() -> None:
    silent = Events(2, ends=False)
    with pytest.raises(RequestError) as caught:
        await watched(silent, time.time() + 0.05)
    assert caught.value.fault is RequestFault.UNAUTHENTICATED
    assert silent.closed
    lively = Events(10_000_000, ends=False)
    with pytest.raises(RequestError):
        await watched(lively, time.time() + 0.02)
    assert lively.closed


async def test_a_watch_without_an_end_of_its_own_goes_on() -> None:
    assert await watched(Events(3, ends=True), None) == 3
    assert await watched(Events(3, ends=True), time.time() + 60) == 3
