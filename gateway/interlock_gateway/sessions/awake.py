"""Keeping the event loop awake while one call is under way alone (PERF-2).

Such a call is waited for all the time: by the loop for its decision, for its tool, and for the next call of the same
agent. Each wait takes a tenth of a millisecond or two, and a processor that falls asleep in it takes about half as long
again to wake and to be as fast as before. With several calls under way the loop does not sleep anyway.
"""

import asyncio
from collections.abc import Callable
from time import monotonic

AWAKE_S = 0.0012
"""As long as a call takes here and the next of the same agent takes to come, if its tool is fast."""
AWAKE_PROCESSORS = 2
"""With fewer, being awake would take from those who are waited for."""


class Awake:
    """Keeps the loop of the thread that calls `begin` awake for `seconds`, as long as `may_be` says that it may be."""

    def __init__(self, seconds: float, may_be: Callable[[], bool]) -> None:
        self._seconds = seconds
        self._may_be = may_be
        self._until = 0.0
        self._turning = False

    def begin(self) -> None:
        """A call has begun, and is the only one."""
        self._until = monotonic() + self._seconds
        if not self._turning:
            self._turning = True
            loop = asyncio.get_running_loop()
            loop.call_soon(self._turn, loop)

    def _turn(self, loop: asyncio.AbstractEventLoop) -> None:
        """Have the loop look at what has come in, once more."""
        if monotonic() < self._until and self._may_be():
            loop.call_soon(self._turn, loop)
        else:
            self._turning = False
