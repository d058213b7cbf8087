"""Many connections to MCP over HTTP, slow ones and silent ones: they keep nobody out (MCP-1, SEC-8)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from mcp_bench import McpBench, mcp_bench, text_of

MOST = 16
FEW = {"max_connections": MOST}


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
