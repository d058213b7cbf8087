"""Connections that a test can cut: what comes in at one place goes on to another, as long as the wire is whole.

A cut wire refuses who comes and drops what is there; a stalled one takes everything and lets nothing through, as a
network does that loses every packet.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TypeAlias

CHUNK = 256 * 1024
GIVEN_UP_S = 11.0
"""When a system gives up a connection on which nothing is acknowledged, as the gateway wants it for PostgreSQL."""
Streams: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Reach: TypeAlias = Callable[[], Awaitable[Streams]]


class Damage(StrEnum):
    """What is the matter with a wire."""

    NONE = "none"
    CUT = "cut"
    STALLED = "stalled"


@dataclass(eq=False)
class Wire:
    """Carries connections to where `reach` leads. It belongs to the running event loop."""

    reach: Reach
    damage: Damage = Damage.NONE
    _open: "set[asyncio.Task[None]]" = field(default_factory=set)
    _flowing: asyncio.Event = field(default_factory=asyncio.Event)
    _giving_up: asyncio.TimerHandle | None = None

    def __post_init__(self) -> None:
        self._flowing.set()

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one connection until either end closes it, or the wire is cut."""
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            if self.damage is not Damage.CUT:
                await self._flowing.wait()
                await self._carry(reader, writer)
        except (OSError, asyncio.CancelledError):
            pass  # whoever is at the other end sees that it is gone
        finally:
            self._open.discard(task)
            writer.transport.abort()

    def break_(self, damage: Damage) -> None:
        """Damage it. What is under way is dropped when it is cut, and stands still when it is stalled."""
        self.damage = damage
        if damage is Damage.STALLED:
            self._flowing.clear()
            self._giving_up = asyncio.get_running_loop().call_later(GIVEN_UP_S, self.drop)
        else:
            self.drop()

    def mend(self) -> None:
        """Make it whole. Connections that stood still have been forgotten meanwhile, and are dropped."""
        self.damage = Damage.NONE
        if self._giving_up is not None:
            self._giving_up.cancel()
        self.drop()
        self._flowing.set()

    def drop(self) -> None:
        """End every connection."""
        for task in tuple(self._open):
            task.cancel()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reaching = asyncio.ensure_future(self.reach())
        try:
            far_reader, far_writer = await asyncio.shield(reaching)
        except asyncio.CancelledError:
            reaching.add_done_callback(_let_go)
            raise
        ways = [asyncio.create_task(self._pump(*way)) for way in ((reader, far_writer), (far_reader, writer))]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            far_writer.transport.abort()
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(CHUNK):
                await self._flowing.wait()
                writer.write(data)
                await writer.drain()


def _let_go(reaching: "asyncio.Future[Streams]") -> None:
    """End a connection that was made after nobody wanted it any more."""
    if not reaching.cancelled() and reaching.exception() is None:
        reaching.result()[1].transport.abort()


async def postgres_wire(server_directory: Path, directory: Path) -> tuple[Wire, asyncio.Server]:
    """A wire to a PostgreSQL server's socket, and what listens for its clients in `directory`."""
    name = ".s.PGSQL.5432"

    async def reach() -> Streams:
        return await asyncio.open_unix_connection(server_directory / name)

    wire = Wire(reach)
    return wire, await asyncio.start_unix_server(wire.carry, directory / name)
