"""Lets a thread run that the event loop waits for.

A thread that needs the interpreter's lock gets it when the holder is preempted, after a whole switch interval without a
release, or by luck. An event loop that never idles releases the lock and takes it back at once, many times in each
interval, so that the interval never passes: a thread was measured to wait up to 35 s for its turn.
"""

import asyncio
import time

PATIENCE_S = 0.001
NAP_S = 0.0002


class Patience:
    """Counts what the loop waits for. When none of it is answered for `PATIENCE_S`, the loop sleeps for `NAP_S`.

    To be used on the event loop's thread alone. An idle loop loses nothing by it: it would have slept anyway.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting = 0
        self._answered = 0
        self._watch: asyncio.TimerHandle | None = None

    def asked(self) -> None:
        """The thread was given one more thing to do."""
        self._waiting += 1
        if self._watch is None:
            self._look_later()

    def answered(self, count: int) -> None:
        """The thread has done `count` of them."""
        self._waiting -= count
        self._answered += count

    def _look_later(self) -> None:
        self._watch = self._loop.call_later(PATIENCE_S, self._look, self._answered)

    def _look(self, answered_before: int) -> None:
        self._watch = None
        if self._waiting == 0:
            return
        if self._answered == answered_before:
            time.sleep(NAP_S)
        self._look_later()
