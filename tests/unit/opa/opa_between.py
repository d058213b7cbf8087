"""What stands between a gateway and a real OPA: it hands on what is asked, or answers in OPA's place."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeAlias

Instead: TypeAlias = Callable[[str], Awaitable[bytes | None]]
"""The answer to `METHOD /path`, without what follows `?`; `None` to ask OPA."""


async def nothing(_asked: str) -> bytes | None:
    """Let OPA answer all of it."""
    return None


def to(asked: str, answer: bytes) -> Instead:
    """Answer this one so, and let OPA answer all else."""

    async def instead(heard: str) -> bytes | None:
        return answer if heard == asked else None

    return instead


class Between:
    """One request for each connection; `instead` may be changed while it runs."""

    def __init__(self, opa: str) -> None:
        self._opa = opa
        self.instead: Instead = nothing

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            lines = head.lower().split(b"\r\n")
            length = next((int(line[15:]) for line in lines if line.startswith(b"content-length:")), 0)
            body = await reader.readexactly(length)
            method, target, _ = head.decode().split(" ", 2)
            answer = await self.instead(f"{method} {target.partition('?')[0]}")
            writer.write(await self._asked(head, body) if answer is None else answer)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _asked(self, head: bytes, body: bytes) -> bytes:
        reader, writer = await asyncio.open_unix_connection(self._opa)
        try:
            writer.write(head.removesuffix(b"\r\n") + b"Connection: close\r\n\r\n" + body)
            return await reader.read()
        finally:
            writer.close()


@asynccontextmanager
async def between(path: Path, opa: str) -> AsyncIterator[Between]:
    """It listens on a socket inside the block, in front of an OPA at another."""
    made = Between(opa)
    server = await asyncio.start_unix_server(made.connected, path)
    try:
        yield made
    finally:
        server.close()
