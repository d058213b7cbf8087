"""Running what a plug-in wrote: for so long, and whatever it raises is one kind of failure."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


class PluginFailedError(Exception):
    """A plug-in raised, did not answer in time, or tried to end the process; says which, in a few words."""


async def bounded(work: Callable[[], Awaitable[T]], timeout_s: float) -> T:
    """What `work` gives. Raises `PluginFailedError`.

    It is not waited for any longer even if it ignores that it is cancelled. Only what blocks the loop is out of reach.
    """
    task = asyncio.create_task(_kept_in(work))
    try:
        await asyncio.wait({task}, timeout=timeout_s)
    finally:
        if not task.done():
            task.cancel()
            task.add_done_callback(_look_at)
    if not task.done():
        raise PluginFailedError(f"it did not answer within {timeout_s:g} s")
    if task.cancelled():
        raise PluginFailedError("it cancelled itself")
    if (error := task.exception()) is not None:
        raise PluginFailedError(f"it raised {type(error).__name__}") from error
    return task.result()


async def _kept_in(work: Callable[[], Awaitable[T]]) -> T:
    try:
        return await work()
    except (SystemExit, KeyboardInterrupt) as error:
        # The event loop hands these two on to whoever runs it: the gateway would end.
        raise RuntimeError(f"it raised {type(error).__name__}") from error


def _look_at(task: "asyncio.Task[T]") -> None:
    if not task.cancelled():
        task.exception()  # it was given up; looked at so that nobody complains
