"""How much a server may say that nobody asked for, and how much of it is written to the log."""

from dataclasses import dataclass

UNASKED_A_SECOND = 2000
"""Notices, requests and garbage of one server in a second; what comes beyond is read when the next one begins."""
COUNTED_BYTES = 4096
"""A message counts once more for each so many bytes: to read a large one takes as long as many small ones."""
LINES_A_SECOND = 10
LINES_AT_ONCE = 200


STDERR_A_SECOND = 1024 * 1024
"""Bytes that are read of one server's stderr in a second: a server that writes more waits."""


@dataclass(slots=True)
class Throttle:
    """Counts what came unasked in one second, in pieces or in bytes; what was too much counts in the next ones.

    Times are the loop's seconds.
    """

    most: int = UNASKED_A_SECOND
    _since: float = 0.0
    _count: int = 0

    def pause_s(self, now: float, amount: int = 1) -> float:
        """Count so much more; how long to read nothing more."""
        if now - self._since >= 1.0:
            self._count = max(0, self._count - self.most * int(now - self._since))
            self._since = now
        self._count += amount
        return max(0.0, self._since + (self._count - 1) // self.most - now)


def cost_of(message: bytes) -> int:
    """What a message counts that nobody asked for."""
    return 1 + len(message) // COUNTED_BYTES


@dataclass(slots=True)
class LogBudget:
    """How many lines of a server's are logged: many at once, and few for as long as it goes on."""

    _at: float = 0.0
    _left: float = LINES_AT_ONCE
    dropped: int = 0

    def allows(self, now: float) -> bool:
        """Whether one more line is logged; one that is not is counted in `dropped`."""
        self._left = min(LINES_AT_ONCE, self._left + (now - self._at) * LINES_A_SECOND)
        self._at = now
        if self._left < 1:
            self.dropped += 1
            return False
        self._left -= 1
        return True
