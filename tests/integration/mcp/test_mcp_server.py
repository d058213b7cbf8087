"""The gateway as an MCP server, asked by the official SDK's client (MCP-1)."""

import pytest
from mcp_bench import McpBench, text_of


@pytest.mark.req("MCP-1")
async def test_tools_are_listed_and_called_by_every_way_in(at: McpBench) -> None:
    for way in (at.over_http, at.over_socket):
        for mode in ("legacy", "2026-07-28", "auto"):
            async with way(mode) as client:
                tools = {tool.name: tool for tool in (await client.list_tools()).tools}
                answer = await client.call_tool("echo", {"text": "hello"})
            assert {"echo", "wreck", "resolve", "read_artifact"} <= tools.keys()
            assert tools["echo"].annotations is not None
            assert tools["echo"].annotations.read_only_hint
            assert (text_of(answer), answer.is_error) == ("hello", False)
