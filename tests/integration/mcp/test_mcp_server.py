"""The gateway as an MCP server, asked by the official SDK's client (MCP-1)."""

import pytest
from mcp_bench import McpBench, text_of


@pytest.mark.req("MCP-1")
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_tools_are_listed_and_called_over_http(at: McpBench, mode: str) -> None:
    async with at.over_http(mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        answer = await client.call_tool("echo", {"text": "hello"})
    assert {"echo", "wreck", "resolve", "read_artifact"} <= tools.keys()
    assert tools["echo"].annotations is not None
    assert tools["echo"].annotations.read_only_hint
    assert (text_of(answer), answer.is_error) == ("hello", False)


@pytest.mark.req("MCP-1")
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28", "auto"])
async def test_tools_are_listed_and_called_over_the_socket(at: McpBench, mode: str) -> None:
    async with at.over_socket(mode) as client:
        assert "echo" in {tool.name for tool in (await client.list_tools()).tools}
        assert text_of(await client.call_tool("echo", {"text": "hello"})) == "hello"
