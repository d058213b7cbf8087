"""Hears what other replicas tell: `LISTEN` on a connection of its own (STATE-1)."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress

import psycopg

from interlock_gateway.pipeline.ports import StateUnavailableError

Connect = Callable[[], Awaitable["psycopg.AsyncConnection[tuple[object, ...]]"]]
_BACKOFF_S = (0.05, 5.0)
_log = logging.getLogger(__name__)


class Listening:
    """Calls the function of each channel with what is told there; `missed` after what was told may have been lost.

    All are called on the event loop, and must not raise.
    """

    def __init__(
        self, connect: Connect, channels: Mapping[str, Callable[[str], None]], missed: Callable[[], None]
    ) -> None:
        self._connect = connect
        self._channels = channels
        self._missed = missed
        self._task: asyncio.Task[None] | None = None
        self._connection: psycopg.AsyncConnection[tuple[object, ...]] | None = None

    async def start(self) -> None:
        """Begin to listen: what is told from now on is heard. Raises `StateUnavailableError`."""
        try:
            connection = await self._listen()
        except (psycopg.Error, OSError) as error:
            await self._drop()
            raise StateUnavailableError(f"changes of other replicas cannot be heard: {error}") from error
        self._task = asyncio.create_task(self._go_on(connection))

    async def stop(self) -> None:
        """Hear no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        # Here, too: the task may have ended before its first step, or on its way to listening again.
        await self._drop()

    async def _listen(self) -> "psycopg.AsyncConnection[tuple[object, ...]]":
        await self._drop()
        connection = self._connection = await self._connect()
        for channel in self._channels:
            await connection.execute(f"LISTEN {channel}")
        return connection

    async def _go_on(self, connection: "psycopg.AsyncConnection[tuple[object, ...]]") -> None:
        while True:
            try:
                async for told in connection.notifies():
                    self._channels[told.channel](told.payload)
            except Exception as error:  # noqa: BLE001 - who stopped here would leave the replica deaf, and nobody would know
                _log.warning("other replicas are not heard", extra={"problem": str(error)})
            connection = await self._again()
            self._missed()

    async def _again(self) -> "psycopg.AsyncConnection[tuple[object, ...]]":
        pause = _BACKOFF_S[0]
        while True:
            try:
                return await self._listen()
            except (psycopg.Error, OSError):
                await asyncio.sleep(random.uniform(pause / 2, pause))  # noqa: S311 - spreads replicas, hides nothing
                pause = min(pause * 2, _BACKOFF_S[1])

    async def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(psycopg.Error, OSError):
                await connection.close()
