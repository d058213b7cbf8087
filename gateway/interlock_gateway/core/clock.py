"""Time as a thing that is passed in, so that tests own it."""

from typing import Protocol


class Clock(Protocol):
    """The two times there are."""

    def now(self) -> float:
        """Unix time in seconds: for records and expiry."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back: for durations and deadlines."""
        ...
