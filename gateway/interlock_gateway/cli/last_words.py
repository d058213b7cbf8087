"""What MCP servers wrote to their stderr last, for somebody at a terminal whose server does not start."""

import logging
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from interlock_gateway.core.visible import visible_line
from interlock_gateway.providers.mcp import stdio_link

KEPT = 5
"""Different lines of each server."""
LONGEST = 300
"""Characters of each line."""


class LastWords(logging.Filter):
    """Keeps what is logged of servers' stderr, bounded and without their secrets, and lets pass what is to be shown."""

    def __init__(self, shown_from: int) -> None:
        super().__init__()
        self._shown_from = shown_from
        self._lines: dict[str, deque[str]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Keep the record's line; whether it is shown in the log as well."""
        if text := visible_line(getattr(record, "text", "")[:LONGEST]):
            lines = self._lines.setdefault(getattr(record, "provider", ""), deque(maxlen=KEPT))
            if text not in lines:  # it is started again, and says the same again
                lines.append(text)
        return record.levelno >= self._shown_from

    def of(self, provider: str) -> tuple[str, ...]:
        """The last lines of one server, oldest first, with nothing in them that moves a terminal."""
        return tuple(self._lines.get(provider, ()))


@contextmanager
def last_words() -> Iterator[LastWords]:
    """Listen to servers' stderr, whatever the level of the log, which shows neither more nor less for it."""
    log = logging.getLogger(stdio_link.__name__)
    level = log.level
    words = LastWords(log.getEffectiveLevel())
    log.setLevel(logging.INFO)
    log.addFilter(words)
    try:
        yield words
    finally:
        log.removeFilter(words)
        log.setLevel(level)
