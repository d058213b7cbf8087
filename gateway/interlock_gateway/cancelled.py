"""Ending a task, as something that an exit stack does."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable


def cancelled(task: "asyncio.Task[None]") -> Callable[[], Awaitable[None]]:
    """What cancels `task` and waits until it has ended."""

    async def cancel() -> None:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    return cancel
