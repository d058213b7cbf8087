"""Clients of MCP hear that the tools have changed (MCP-1)."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gateway_bench import Ledger, provided
from interlock.provider import Tool, tool
from interlock_gateway.config import DeferredConfig, ProviderConfig
from mcp.client.subscriptions import ToolsListChanged
from mcp_bench import McpBench, mcp_bench
from mcp_types import ToolListChangedNotification
from working_tools import PATIENCE_S


def other_tools(_: Ledger) -> list[Tool[..., Any]]:
    @tool(read_only=True)
    def newcomer() -> str:
        """Be there later than others."""
        return "here"

    return [newcomer]


def noting(heard: asyncio.Event) -> Callable[[Any], Any]:
    """A handler of what a server says unasked."""

    async def note(message: Any) -> None:
        if isinstance(message, ToolListChangedNotification):
            heard.set()

    return note


@pytest.mark.req("MCP-1")
@pytest.mark.parametrize("transport", ["http", "socket"])
async def test_a_client_is_told_of_tools_that_come_and_go(at: McpBench, transport: str) -> None:
    heard = asyncio.Event()
    way = at.over_http if transport == "http" else at.over_socket
    directory, rooms = at.at.directory, at.at.gateway.rooms
    async with way(message_handler=noting(heard)) as client:
        assert "newcomer" not in {tool.name for tool in (await client.list_tools()).tools}
        async with provided(directory, other_tools(at.at.ledger), "other"):
            rooms.directory.add(ProviderConfig(name="other", address=f"unix:{directory}/other.sock"), configured=False)
            await asyncio.wait_for(heard.wait(), PATIENCE_S)
            assert "newcomer" in {tool.name for tool in (await client.list_tools()).tools}
            heard.clear()
            await rooms.directory.remove("other")
            await asyncio.wait_for(heard.wait(), PATIENCE_S)
        assert "newcomer" not in {tool.name for tool in (await client.list_tools()).tools}


@pytest.mark.req("MCP-1")
@pytest.mark.parametrize("transport", ["http", "socket"])
async def test_a_client_without_a_handshake_listens_for_it(at: McpBench, transport: str) -> None:
    way = at.over_http if transport == "http" else at.over_socket
    async with way("2026-07-28") as client, client.listen(tools_list_changed=True) as events:
        at.at.gateway.rooms.parts.registry.set_away("ledger")
        heard = await asyncio.wait_for(anext(aiter(events)), PATIENCE_S)
    assert isinstance(heard, ToolsListChanged)


@pytest.mark.req("MCP-1", "DEFER-2")
async def test_tools_that_were_found_and_activated_are_listed(socket_directory: Path) -> None:
    heard = asyncio.Event()
    async with (
        mcp_bench(socket_directory, deferred=DeferredConfig(threshold=2)) as at,
        at.over_socket(message_handler=noting(heard)) as client,
    ):
        before = {tool.name for tool in (await client.list_tools()).tools}
        assert {"search_tools", "activate_tools"} <= before
        assert "echo" not in before
        found = await client.call_tool("search_tools", {"query": "say it again"})
        assert "echo" in str(found.content)
        await client.call_tool("activate_tools", {"names": ["echo"]})
        await asyncio.wait_for(heard.wait(), PATIENCE_S)
        assert "echo" in {tool.name for tool in (await client.list_tools()).tools}
        assert not (await client.call_tool("echo", {"text": "x"})).is_error
