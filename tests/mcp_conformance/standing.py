"""What stands while the suite runs: the reference server, and a gateway in front of it."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import mcp_gateway
from waiting import eventually_so

HERE = Path(__file__).resolve().parent
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "waits", "version": "1"}},
}
TAKES = {"Accept": "application/json, text/event-stream"}


@asynccontextmanager
async def reference_server(directory: Path) -> AsyncIterator[str]:
    """The reference server's URL."""
    command = (sys.executable, str(HERE / "reference_server.py"))
    async with mcp_gateway.printing(command, directory / "reference.log") as line:
        yield line


@asynccontextmanager
async def gateway(directory: Path, upstream: str, *, handshake: bool) -> AsyncIterator[str]:
    """The URL of a gateway in front of it, through which everything may pass, once it has its tools.

    With `handshake` it speaks the revision to it that its clients speak here: in the newest servers cannot send
    requests to clients, and what does that in a tool fails there, behind a gateway or not.
    """
    everything = {"url": upstream, "allow": ["sampling", "elicitation", "roots"], "handshake": handshake}
    # The suite asks for things that it never comes back to answer; calls that follow one another would wait for those.
    beside = {"*": {"concurrency_safe": True}}
    async with mcp_gateway.gateway(directory, everything, tools=beside) as url:
        await eventually_so(lambda: _has_tools(url))
        yield url


async def _has_tools(url: str) -> bool:
    async with httpx2.AsyncClient(headers=TAKES, timeout=30) as http:
        opened = await http.post(url, json=HELLO)
        if opened.status_code != httpx2.codes.OK:
            return False
        at = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
        await http.post(url, json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=at)
        listed = await http.post(url, json={"jsonrpc": "2.0", "id": 2, "method": "tools/list"}, headers=at)
        await http.delete(url, headers=at)
    return "test_simple_text" in listed.text
