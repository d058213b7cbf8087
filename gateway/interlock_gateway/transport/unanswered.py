"""How many requests wait for their answers to have left, so that a gateway that ends knows when all of them have."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class Unanswered:
    """Counts requests from when they were read until their answers are written."""

    def __init__(self) -> None:
        self._count = 0
        self._none = asyncio.Event()
        self._none.set()

    async def none(self) -> None:
        """Return when every answer has been written."""
        await self._none.wait()

    def begin(self) -> None:
        """One more waits."""
        self._count += 1
        self._none.clear()

    def end(self) -> None:
        """One less does."""
        self._count -= 1
        if not self._count:
            self._none.set()

    @contextmanager
    def one(self) -> Iterator[None]:
        """One waits inside the block."""
        self.begin()
        try:
            yield
        finally:
            self.end()
