"""A server that has what OPA would answer, and answers something else: for what a real OPA does not do on demand."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeAlias

POLICY = {"revision": "r1", "profile": "standard", "enforced": True}
GOOD = {"result": {"decision": {"verdict": "allow", "said": "hello"}, "policy": POLICY}}
Serve: TypeAlias = Callable[["Client"], Awaitable[None]]


class Client:
    """One connection to the server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.last = b""

    async def request(self) -> bytes:
        """The next request's head and body. Raises `IncompleteReadError` at the end."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = next(int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
        return head + await self.reader.readexactly(length)

    async def send(self, *pieces: bytes) -> None:
        """Send bytes as they are."""
        for piece in pieces:
            self.writer.write(piece)
            await self.writer.drain()

    async def gone(self) -> None:
        """Wait until the other side has closed."""
        await self.reader.read()


class BrokenOpa:
    """Answers as `serve` does, which may be changed while it runs."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.serve: Serve = good
        self.connections = 0
        self.requests: list[bytes] = []
        self.open = 0

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until one side ends it."""
        self.connections += 1
        self.open += 1
        client = Client(reader, writer)
        try:
            while True:
                client.last = await client.request()
                self.requests.append(client.last)
                await self.serve(client)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.open -= 1
            writer.close()


@asynccontextmanager
async def broken_opa(path: Path) -> AsyncIterator[BrokenOpa]:
    """A server inside the block, which answers well until it is told otherwise."""
    opa = BrokenOpa(path)
    server = await asyncio.start_unix_server(opa.connected, path)
    try:
        yield opa
    finally:
        server.close()


def answered(body: object, status: str = "200 OK", *headers: str, kind: str = "application/json") -> bytes:
    """A whole answer; `body` is bytes as they are, or a value as JSON."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = (f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(content)}", *headers, "", "")
    return "\r\n".join(lines).encode() + content


def always(*pieces: bytes) -> Serve:
    """Answer every request with these bytes."""

    async def serve(client: Client) -> None:
        await client.send(*pieces)

    return serve


def then_ends(*pieces: bytes) -> Serve:
    """Answer with these bytes and close the connection."""

    async def serve(client: Client) -> None:
        await client.send(*pieces)
        client.writer.close()

    return serve


async def good(client: Client) -> None:
    """Answer as OPA would."""
    asked_for_policy = client.last.split(b" ", 2)[1].split(b"?")[0].endswith(b"/policy")
    await client.send(answered({"result": POLICY} if asked_for_policy else GOOD))


async def never(client: Client) -> None:
    """Read the request and say nothing."""
    await client.gone()


async def forever(client: Client) -> None:
    """Begin an answer that does not end."""
    await client.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        await client.send(b"1000\r\n" + b" " * 4096 + b"\r\n")
        await asyncio.sleep(0)


async def drop_by_drop(client: Client) -> None:
    """Begin an answer and send nothing more of it."""
    await client.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
    await client.gone()
