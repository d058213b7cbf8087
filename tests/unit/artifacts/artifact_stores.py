"""Artifact stores for the tests, and what they put into them."""

from collections.abc import AsyncIterator


class ManualClock:
    """Stands still unless `step` says how much later each look at it is."""

    def __init__(self, step: float = 0.0) -> None:
        self.time = 1000.0
        self.step = step

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        self.time += self.step
        return self.time


async def pieces(data: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]
