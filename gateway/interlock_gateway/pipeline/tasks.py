"""Work that outlives the request that began it: what was dispatched is journaled even if the client has gone."""

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

T = TypeVar("T")


class TaskKeeper:
    """Runs coroutines that a cancelled caller must not take down with it, and waits for them at the end."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[object]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def start(self, work: Coroutine[object, object, T]) -> "asyncio.Task[T]":
        """Run `work` to its end, whoever waits for it."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def drain(self) -> None:
        """Wait until all of it has ended."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _ended(self, task: "asyncio.Task[T]") -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # its caller may have gone; looked at here so that nobody complains
