"""Many connections to MCP over HTTP, slow ones and silent ones: they keep nobody out (MCP-1, SEC-8)."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from interlock_gateway.transport.mcp import http_door
from mcp_bench import McpBench, mcp_bench, text_of
from test_mcp_http_door import ACCEPT, ENVELOPE, MODERN
from waiting import eventually, eventually_so

MOST = 16
FEW = {"max_connections": MOST}
LITTLE, AT_ONCE = 4096, 50


@asynccontextmanager
async def connected(at: McpBench) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection on which nothing was said."""
    host, _, port = at.address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        yield reader, writer
    finally:
        writer.close()


def begun(at: McpBench, token: str, length: int) -> bytes:
    """A request of which the body does not come."""
    head = f"POST /mcp HTTP/1.1\r\nhost: {at.address}\r\nauthorization: Bearer {token}\r\n"
    return f"{head}content-type: application/json\r\ncontent-length: {length}\r\n\r\n{{".encode()


@pytest.mark.req("MCP-1")
async def test_connections_that_say_nothing_keep_nobody_out(socket_directory: Path) -> None:
    async with mcp_bench(socket_directory, mcp=FEW) as at, at.over_http() as client, AsyncExitStack() as crowd:
        for _ in range(4 * MOST):
            await crowd.enter_async_context(connected(at))
        assert text_of(await client.call_tool("echo", {"text": "before"})) == "before"
        async with at.over_http(token=at.other) as newcomer:
            assert text_of(await newcomer.call_tool("echo", {"text": "since"})) == "since"


@pytest.mark.req("MCP-1")
async def test_of_requests_that_do_not_arrive_nobody_has_so_many_that_others_find_no_place(
    socket_directory: Path,
) -> None:
    async with mcp_bench(socket_directory, mcp=FEW) as at, AsyncExitStack() as crowd:
        slow = [await crowd.enter_async_context(connected(at)) for _ in range(4 * MOST)]
        for _, writer in slow:
            writer.write(begun(at, at.other, 100_000))
            await writer.drain()
        refused = await asyncio.wait_for(slow[-1][0].readline(), 10)
        async with at.over_http() as client:
            assert text_of(await client.call_tool("echo", {"text": "mine"})) == "mine"

    assert refused == b"HTTP/1.1 503 Service Unavailable\r\n"


@pytest.mark.req("MCP-1")
async def test_one_connection_does_not_have_all_streams_of_what_changes(socket_directory: Path) -> None:
    listening = {"notifications": {"toolsListChanged": True}, "_meta": ENVELOPE}
    async with mcp_bench(socket_directory, mcp=FEW) as at:
        reader, writer = await asyncio.open_unix_connection(at.socket)
        for number in range(MOST):
            asked = {"jsonrpc": "2.0", "id": number, "method": "subscriptions/listen", "params": listening}
            writer.write(json.dumps(asked).encode() + b"\n")
        told = [json.loads(await asyncio.wait_for(reader.readline(), 10)) for _ in range(MOST)]
        async with at.over_http("2026-07-28") as client, client.listen(tools_list_changed=True) as stream:
            assert stream.honored.tools_list_changed
        writer.close()

    refused = [one["error"]["data"]["reason"] for one in told if "error" in one]
    assert refused
    assert set(refused) == {"LIMIT_REACHED"}


@pytest.mark.req("MCP-1")
async def test_a_stream_ends_with_its_connection_whatever_was_asked_behind_it(socket_directory: Path) -> None:
    listening = {"notifications": {"toolsListChanged": True}, "_meta": ENVELOPE}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": listening}
    body = json.dumps(asked).encode()
    async with mcp_bench(socket_directory, mcp=FEW) as at:
        named = {**ACCEPT, **MODERN, "host": at.address, "mcp-method": "subscriptions/listen"}
        named |= {"authorization": f"Bearer {at.token}", "content-length": str(len(body))}
        head = "".join(f"{name}: {value}\r\n" for name, value in named.items())

        async def is_heard() -> bool:
            async with connected(at) as (reader, writer):
                writer.write(2 * (f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + body))
                return await asyncio.wait_for(reader.readline(), 10) == b"HTTP/1.1 200 OK\r\n"

        assert not all([await is_heard() for _ in range(2 * MOST)])
        await eventually_so(is_heard, 10)


@pytest.mark.req("MCP-1", "SEC-8")
async def test_strangers_who_do_not_read_what_they_are_told_keep_nobody_out(
    socket_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[http_door._Connection] = []
    real = http_door._Connection.connection_made

    def connection_made(self: http_door._Connection, transport: asyncio.Transport) -> None:
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, LITTLE)
        real(self, transport)
        made.append(self)

    monkeypatch.setattr(http_door._Connection, "connection_made", connection_made)
    monkeypatch.setattr(http_door, "UNREAD_S", 0.0)
    async with mcp_bench(socket_directory, mcp={"max_connections": 1}) as at, AsyncExitStack() as crowd:
        for _ in range(2):
            await unread(at, crowd, made)
        async with at.http() as http:
            assert (await http.get(at.url)).status_code == 400


async def unread(at: McpBench, crowd: AsyncExitStack, made: list[http_door._Connection]) -> None:
    """A connection on which a stranger asks, and does not read what it is told."""
    count, line = len(made), socket.socket()
    crowd.callback(line.close)
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, LITTLE)
    line.settimeout(0)
    loop = asyncio.get_running_loop()
    host, _, port = at.address.rpartition(":")
    await loop.sock_connect(line, (host, int(port)))
    await eventually(lambda: len(made) > count)
    connection = made[-1]
    asked, state = f"GET / HTTP/1.1\r\nhost: {at.address}\r\n\r\n".encode(), connection.server_state
    while not connection.flow.write_paused:
        until = state.total_requests + AT_ONCE
        await loop.sock_sendall(line, asked * AT_ONCE)
        await answered(connection, until)


async def answered(connection: http_door._Connection, until: int) -> None:
    """Return when so many requests have been answered, or no more can be."""
    await eventually(lambda: connection.flow.write_paused or connection.server_state.total_requests >= until)
