"""Waiting for what nobody announces: another process or thread. Tests sleep here and nowhere else."""

import asyncio
import time
from collections.abc import Awaitable, Callable

POLL_S = 0.01


async def eventually(condition: Callable[[], bool], within_s: float = 30.0) -> None:
    """Return as soon as ``condition`` holds; raises AssertionError when it does not within ``within_s`` seconds."""
    try:
        async with asyncio.timeout(within_s):
            while not condition():  # noqa: ASYNC110 - nobody announces it, which is what this is for
                await asyncio.sleep(POLL_S)
    except TimeoutError:
        raise AssertionError(f"it did not come true within {within_s} s") from None


def eventually_blocking(condition: Callable[[], bool], within_s: float = 30.0) -> None:
    """Do the same where there is no event loop."""
    until = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < until, f"it did not come true within {within_s} s"
        time.sleep(POLL_S)


async def eventually_so(condition: Callable[[], Awaitable[bool]], within_s: float = 30.0) -> None:
    """Do the same with a condition that has to be asked for."""
    async with asyncio.timeout(within_s):
        while not await condition():  # noqa: ASYNC110 - nobody announces it, which is what this is for
            await asyncio.sleep(POLL_S)


async def a_moment() -> None:
    """Let the time pass in which what must not happen would."""
    await asyncio.sleep(POLL_S)
