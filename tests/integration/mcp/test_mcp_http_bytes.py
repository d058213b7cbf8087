"""Requests over HTTP as bytes: however they are cut or joined, one is one (SEC-1)."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from interlock_gateway.transport.mcp.http_door import MOST_QUEUED
from mcp_bench import McpBench, mcp_bench
from test_mcp_http_door import calling
from working_tools import Work

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
OPENING = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bytes", "version": "1"}},
}
Answer = tuple[int, dict[str, str], Any]


class Wire:
    """One connection, and answers as they come on it."""

    def __init__(self, at: McpBench, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._at = at
        self._reader = reader
        self.writer = writer
        self.session = ""

    def post(self, message: Any, *more: str, length: int | None = None) -> bytes:
        """A request's bytes."""
        body = json.dumps(message).encode()
        lines = ["POST /mcp HTTP/1.1", f"Host: {self._at.address}", f"Authorization: Bearer {self._at.token}"]
        lines += ["Accept: application/json, text/event-stream", "Content-Type: application/json", *more]
        lines += [f"Content-Length: {len(body) if length is None else length}"] if length != -1 else []
        lines += [f"Mcp-Session-Id: {self.session}"] if self.session else []
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + body

    async def answer(self) -> Answer:
        """The next answer."""
        head = (await asyncio.wait_for(self._reader.readuntil(b"\r\n\r\n"), 10)).decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
        length = int(headers.get("content-length", "0"))
        body = await self._reader.readexactly(length)
        is_json = headers.get("content-type", "").startswith("application/json")
        return int(head[0].split()[1]), headers, json.loads(body) if body and is_json else body

    async def ended(self) -> bool:
        """Whether the other end closes, with no further answer."""
        return b"HTTP/1.1" not in await asyncio.wait_for(self._reader.read(), 10)


@asynccontextmanager
async def wire(at: McpBench) -> AsyncIterator[Wire]:
    host, _, port = at.address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        opened = Wire(at, reader, writer)
        writer.write(opened.post(OPENING))
        status, headers, _ = await opened.answer()
        assert status == 200
        opened.session = headers["mcp-session-id"]
        yield opened
    finally:
        writer.close()


async def pong(on: Wire) -> bool:
    status, _, message = await on.answer()
    return status == 200 and message == {"jsonrpc": "2.0", "id": 1, "result": {}}


@pytest.mark.req("SEC-1", "MCP-1")
async def test_a_request_may_come_in_pieces_and_several_at_once(at: McpBench) -> None:
    async with wire(at) as on:
        whole = on.post(PING)
        for cut in (1, 40, len(whole) - 30, len(whole) - 1):
            on.writer.write(whole[:cut])
            await on.writer.drain()
            await asyncio.wait_for(at.at.gateway.rooms.directory.settled(5), 5)
            on.writer.write(whole[cut:])
            assert await pong(on)
        on.writer.write(whole * 3 + whole[:50])
        assert [await pong(on) for _ in range(3)] == [True] * 3
        on.writer.write(whole[50:])
        assert await pong(on)


@pytest.mark.req("SEC-1")
async def test_a_body_in_chunks_is_read_as_well_and_what_follows_it_is_a_request_again(at: McpBench) -> None:
    async with wire(at) as on:
        head = on.post(PING, "Transfer-Encoding: chunked", length=-1).partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
        body = json.dumps(PING).encode()
        on.writer.write(head + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body) + on.post(PING))
        assert await pong(on)
        assert await pong(on)


@pytest.mark.req("SEC-1")
@pytest.mark.parametrize(
    "odd",
    [
        ("Transfer-Encoding: chunked",),
        ("Content-Length: 5",),
        ("Host: elsewhere.example",),
        ("Content-Length: +46",),
        ("X-Folded: a\r\n b", "Content-Length: 3"),
        ("No-Colon",),
        ("Name : value",),
        ("X-Bad: a\x00b",),
    ],
)
async def test_what_could_be_read_in_two_ways_is_refused_and_nothing_after_it_is_read(
    at: McpBench, odd: tuple[str, ...]
) -> None:
    async with wire(at) as on:
        on.writer.write(on.post(PING, *odd) + on.post(PING))
        status, _, _ = await on.answer()
        assert status == 400
        assert await on.ended()


@pytest.mark.req("SEC-1")
async def test_a_call_does_not_run_whose_answer_is_that_nothing_can_be_read(at: McpBench) -> None:
    async with wire(at) as on:
        on.writer.write(on.post(calling("echo", {"text": "x"})) + b"no request\r\n\r\n")
        status, _, _ = await on.answer()
        assert status == 400
        assert await on.ended()
    assert at.at.ledger.ran == []


@pytest.mark.req("SEC-1")
async def test_that_nothing_can_be_read_is_not_said_in_place_of_an_answer_to_come(socket_directory: Path) -> None:
    work = Work()
    async with mcp_bench(socket_directory, tools=work.tools) as at, wire(at) as on:
        on.writer.write(on.post(calling("wait", {})))
        await asyncio.wait_for(work.begun.wait(), 10)
        on.writer.write(b"no request\r\n\r\n")
        with suppress(ConnectionError):
            assert await on.ended()
        work.released.set()


@pytest.mark.req("SEC-1")
async def test_what_follows_a_body_is_no_header(at: McpBench) -> None:
    async with wire(at) as on:
        session, on.session = on.session, ""
        head = on.post(PING, "Transfer-Encoding: chunked", length=-1).partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
        body = json.dumps(PING).encode()
        trailer = f"Mcp-Session-Id: {session}".encode()
        on.writer.write(head + b"%x\r\n%b\r\n0\r\n%b\r\n\r\n" % (len(body), body, trailer))
        status, _, _ = await on.answer()
    assert status == 400


@pytest.mark.req("SEC-8")
async def test_requests_are_not_queued_without_end_before_the_first_is_answered(socket_directory: Path) -> None:
    work = Work()
    async with mcp_bench(socket_directory, tools=work.tools) as at:
        stranger = f"GET / HTTP/1.1\r\nHost: {at.address}\r\n\r\n".encode()
        async with wire(at) as on:
            on.writer.write(stranger * MOST_QUEUED)
            assert {(await on.answer())[0] for _ in range(MOST_QUEUED)} == {404}
            on.writer.write(on.post(calling("wait", {})))
            await asyncio.wait_for(work.begun.wait(), 10)
            on.writer.write(stranger * (MOST_QUEUED + 1))
            with suppress(ConnectionError):
                assert await on.ended()
        work.released.set()


@pytest.mark.req("SEC-1")
async def test_bytes_of_a_refused_body_are_never_read_as_a_request(at: McpBench) -> None:
    async with wire(at) as on:
        smuggled = on.post(PING)
        refused = on.post(PING, length=10_000_000).replace(b"POST /mcp", b"POST /elsewhere", 1)
        on.writer.write(refused + smuggled)
        status, _, _ = await on.answer()
        assert status == 404
        on.writer.write(smuggled)
        on.writer.write_eof()
        assert await on.ended()


@pytest.mark.req("SEC-1", "SEC-2")
@pytest.mark.parametrize("endless", [b"POST /mcp", b"POST /mcp HTTP/1.1\r\nA: ", b""])
async def test_a_head_that_never_ends_ends_the_connection(at: McpBench, endless: bytes) -> None:
    async with wire(at) as on:
        chunked = on.post(PING, "Transfer-Encoding: chunked", length=-1).partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
        on.writer.write(endless or chunked + b"5;")
        with suppress(ConnectionError):
            for _ in range(40):
                on.writer.write(b"x" * 10_000)
                await on.writer.drain()
            assert await on.ended()


@pytest.mark.req("MCP-1")
async def test_a_client_that_would_rather_speak_another_protocol_is_told_that_it_cannot(at: McpBench) -> None:
    async with wire(at) as on:
        on.writer.write(on.post(PING, "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c") + on.post(PING))
        status, _, _ = await on.answer()
        assert status == 400
        assert await on.ended()


@pytest.mark.req("SEC-1", "MCP-1")
@pytest.mark.parametrize("target", [b"http://evil.example/mcp", b"//evil.example/mcp", b"*", b"evil.example:80"])
async def test_a_target_that_names_a_host_itself_is_refused(at: McpBench, target: bytes) -> None:
    async with wire(at) as line:
        line.writer.write(line.post(PING).replace(b"/mcp", target, 1))
        status, _, _ = await line.answer()
    assert status in {400, 404}
