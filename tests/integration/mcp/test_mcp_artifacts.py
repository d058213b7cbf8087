"""Results that are too large, over MCP: a link, and `resources/read` of the whole or of a part (MCP-1, ART-3)."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from gateway_bench import Ledger, ledger_tools
from interlock.provider import Tool, tool
from mcp import Client, MCPError
from mcp_bench import McpBench, mcp_bench, meta_of, text_of
from mcp_types import TextResourceContents

LINES = 5000


def tools(ledger: Ledger) -> list[Tool[..., object]]:
    @tool(read_only=True, concurrency_safe=True)
    def many() -> str:
        """Say a lot."""
        return "\n".join(f"line {number}" for number in range(1, LINES + 1))

    return [*ledger_tools(ledger), many]


@pytest.fixture
async def at(socket_directory: Path) -> AsyncIterator[McpBench]:
    async with mcp_bench(socket_directory, tools=tools) as made:
        yield made


@pytest.mark.req("MCP-1", "ART-3")
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_a_shortened_result_links_to_the_whole_which_is_read_by_lines_and_bytes(at: McpBench, mode: str) -> None:
    async with at.over_http(mode) as client:
        answer = await client.call_tool("many", {})
        (link,) = [part for part in answer.content if part.type == "resource_link"]
        whole = await read(client, link.uri)
        some = await read(client, f"{link.uri}?first_line=4999&lines=5")
        piece = await read(client, f"{link.uri}?offset=5&length=8")
    assert whole.text.splitlines()[-1] == f"line {LINES}"
    assert some.text.splitlines() == ["line 4999", "line 5000"]
    assert meta_of(some)["dev.interlock/range"]["end"] is True
    assert piece.text == "1\nline 2"
    assert meta_of(answer)["dev.interlock/artifact"]["uri"] == link.uri


async def read(client: Client, uri: str) -> TextResourceContents:
    (content,) = (await client.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    return content


@pytest.mark.req("MCP-1")
async def test_a_range_that_makes_no_sense_is_refused(at: McpBench) -> None:
    async with at.over_http() as client:
        answer = await client.call_tool("many", {})
        uri = meta_of(answer)["dev.interlock/artifact"]["uri"]
        for query in ("lines=x", "first_line=1&offset=2", "first_line=1&first_line=2", "length=-1", "", "more=1"):
            with pytest.raises(MCPError) as refused:
                await client.read_resource(f"{uri}?{query}")
            assert refused.value.error.code == -32602, query


@pytest.mark.req("MCP-1", "ART-1")
async def test_an_artifact_is_read_by_nobody_but_its_sessions_owner(at: McpBench) -> None:
    async with at.over_http() as client, at.over_http(token=at.other) as stranger:
        uri = meta_of(await client.call_tool("many", {}))["dev.interlock/artifact"]["uri"]
        with pytest.raises(MCPError) as refused:
            await stranger.read_resource(uri)
        denied = await stranger.call_tool("read_artifact", {"uri": uri})
    assert refused.value.error.data["reason"] == "NOT_YOUR_SESSION"
    assert denied.is_error
    assert "line 1" not in text_of(denied)


@pytest.mark.req("MCP-1")
async def test_a_resource_that_is_not_there_is_not_found(at: McpBench) -> None:
    async with at.over_http() as client:
        with pytest.raises(MCPError) as refused:
            await client.read_resource("file:///etc/passwd")
        assert [one.uri_template for one in (await client.list_resource_templates()).resource_templates]
        assert (await client.list_resources()).resources == []
    assert refused.value.error.code == -32002
