"""When calls run out of time: one timer of the loop for all calls of a connection.

Most calls end long before their time is over. A timer for each would be set and taken back, and the loop has to go
round once more for every one that is taken back.
"""

import asyncio
import math
from typing import Protocol


class Expiring(Protocol):
    """What may run out of time."""

    def expire(self) -> None:
        """Its time is over."""


class Deadlines:
    """Tells whatever is watched when its time is over, unless it was forgotten before."""

    __slots__ = ("_due", "_loop", "_timer", "_timer_at")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._due: dict[Expiring, float] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = math.inf

    def watch(self, one: Expiring, seconds: float) -> None:
        """Call `one.expire()` in so many seconds."""
        at = self._loop.time() + seconds
        self._due[one] = at
        if at < self._timer_at:
            self._wake_at(at)

    def forget(self, one: Expiring) -> None:
        """It has ended, if it was watched at all."""
        self._due.pop(one, None)

    def close(self) -> None:
        """Forget all."""
        self._due.clear()
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._timer_at = None, math.inf

    def _wake_at(self, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._timer_at = self._loop.call_at(at, self._look), at

    def _look(self) -> None:
        # The loop may be a little early: its timers are counted in milliseconds.
        now = max(self._loop.time(), self._timer_at)
        self._timer, self._timer_at = None, math.inf
        for one in [one for one, at in self._due.items() if at <= now]:
            if self._due.pop(one, None) is not None:
                one.expire()
        if self._due and (first := min(self._due.values())) < self._timer_at:
            self._wake_at(first)
