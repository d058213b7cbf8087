"""What is made when it is first needed, by whoever needs it: whether it has to be made anew."""

import asyncio
from typing import Any, TypeVar

T = TypeVar("T")


def failed(making: "asyncio.Task[Any]") -> bool:
    """Whether it came to nothing: what it wanted may be there the next time, such as memory or a file descriptor."""
    return making.done() and (making.cancelled() or making.exception() is not None)


async def succeeded(making: "asyncio.Task[T] | None") -> T | None:
    """What came of it, once it is over; `None` when that is nothing."""
    if making is None:
        return None
    await asyncio.wait((making,))
    return None if failed(making) else making.result()
