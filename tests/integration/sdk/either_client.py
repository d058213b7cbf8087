"""A session of either client, so that one test holds both."""

import asyncio
from collections.abc import Callable
from typing import Any


class Either:
    """A session of either client, to be awaited: what blocks runs in a thread, what iterates becomes a list."""

    def __init__(self, session: Any, *, threads: bool) -> None:
        self._session = session
        self._threads = threads

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._session, name)
        iterates = name in ("stream", "stream_batch", "rollback")

        async def invoke(*args: Any, **kwargs: Any) -> Any:
            if self._threads:
                return await asyncio.to_thread(
                    lambda: list(method(*args, **kwargs)) if iterates else method(*args, **kwargs)
                )
            return [one async for one in method(*args, **kwargs)] if iterates else await method(*args, **kwargs)

        return invoke
