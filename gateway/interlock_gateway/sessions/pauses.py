"""Which connections are not read for a moment, because calls that come there are refused (REL-8).

To refuse a call costs little. To read it alone from its connection, and answer it there, costs several times as much.
So what comes to such a connection stays where it is for a moment: then it is read at once, refused at once and answered
at once, as network drivers do when packets come faster than they can be served. What may stay there is bounded by the
socket's own buffer; whoever sends more waits.
"""

import asyncio
from collections import deque
from collections.abc import Callable

PAUSE_S = 0.02
"""How long nothing is read. Whoever is refused is to know it within 50 ms."""
READING_S = 0.001
"""The processor time that reading on may take in one turn of the loop, going by what it took there last."""
LATE_S = 0.01
LATE_READING_S = 0.004
"""What it may take when the first has waited so much longer than it was to."""


class Pauses:
    """Knows who is to be read again, and when. For the event loop's thread alone."""

    def __init__(self) -> None:
        self._paused: deque[tuple[float, float, Callable[[], None]]] = deque()
        self._giving_way: deque[tuple[float, Callable[[], None]]] = deque()
        self._next: asyncio.Handle | None = None

    def __len__(self) -> int:
        return len(self._paused) + len(self._giving_way)

    def pause(self, took_s: float, read_on: Callable[[], None]) -> None:
        """Call `read_on` in a moment. It took `took_s` of processor time to refuse what was read there last."""
        loop = asyncio.get_running_loop()
        self._paused.append((loop.time() + PAUSE_S, took_s, read_on))
        if self._next is None:
            self._next = loop.call_later(PAUSE_S, self._read_on)

    def give_way(self, took_s: float, read_on: Callable[[], None]) -> None:
        """Call `read_on` in the next turn that has time for it, before those that pause and are not late."""
        self._giving_way.append((took_s, read_on))
        if self._next is not None:
            self._next.cancel()
        self._next = asyncio.get_running_loop().call_soon(self._read_on)

    def end(self) -> None:
        """Have all be read, now."""
        paused, self._paused = self._paused, deque()
        giving_way, self._giving_way = self._giving_way, deque()
        for read_on in (*(one for _, one in giving_way), *(one for _, _, one in paused)):
            read_on()

    def _read_on(self) -> None:
        """Have those be read whose time has come, as many as one turn of the loop has time for, but one of each kind.

        Who gives way comes again and again, and must not keep out those who have paused.
        """
        loop = asyncio.get_running_loop()
        now, self._next = loop.time(), None
        is_late = bool(self._paused) and now - self._paused[0][0] > LATE_S
        left_s = READING_S
        for _ in range(len(self._giving_way)):
            if left_s <= 0:
                break
            took_s, read_on = self._giving_way.popleft()
            left_s -= took_s
            read_on()
        if is_late:
            left_s = LATE_READING_S
        while self._paused and left_s > 0:
            due, took_s, read_on = self._paused[0]
            if due > now + 0.001:
                break
            left_s -= took_s
            self._paused.popleft()
            read_on()
        self._go_on(now)

    def _go_on(self, now: float) -> None:
        """Come again when somebody is to be read: in the next turn, or when their time comes."""
        loop = asyncio.get_running_loop()
        if self._next is not None:
            self._next.cancel()
        if self._giving_way or (self._paused and self._paused[0][0] <= now + 0.001):
            self._next = loop.call_soon(self._read_on)
        else:
            self._next = loop.call_at(self._paused[0][0], self._read_on) if self._paused else None
