"""What a call over MCP is like: progress, cancellation, structure, denials, previews (MCP-1, MCP-3)."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError
from mcp_bench import McpBench, mcp_bench, meta_of, text_of
from mcp_types import Tool
from waiting import eventually
from working_tools import PATIENCE_S, Work

WAYS = [("http", "legacy"), ("http", "2026-07-28"), ("socket", "legacy"), ("socket", "2026-07-28")]


@pytest.fixture
def work() -> Work:
    return Work()


@pytest.fixture
async def at(socket_directory: Path, work: Work) -> AsyncIterator[McpBench]:
    async with mcp_bench(socket_directory, tools=work.tools) as made:
        yield made


def by(at: McpBench, way: tuple[str, str], **more: Any) -> AbstractAsyncContextManager[Client]:
    transport, mode = way
    return at.over_http(mode, **more) if transport == "http" else at.over_socket(mode, **more)


@pytest.mark.req("MCP-1", "MCP-3")
async def test_progress_comes_as_it_was_sent_and_before_the_result(at: McpBench) -> None:
    told: list[tuple[float, float | None, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    for way in WAYS:
        told.clear()
        async with by(at, way) as client:
            answer = await client.call_tool("count", {"most": 3}, progress_callback=note)
            assert text_of(answer) == "3"
            assert told == [(1, 3, "at 1"), (2, 3, "at 2"), (3, 3, "at 3")]


@pytest.mark.req("MCP-1")
@pytest.mark.parametrize("name", ["wait", "write_slowly"])
async def test_who_cancels_a_call_cancels_the_tool(at: McpBench, work: Work, name: str) -> None:
    for way in WAYS:
        work.begun.clear()
        work.cancelled.clear()
        async with by(at, way) as client, anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, name, {})
            await asyncio.wait_for(work.begun.wait(), PATIENCE_S)
            tasks.cancel_scope.cancel()
        await asyncio.wait_for(work.cancelled.wait(), PATIENCE_S)
        await eventually(at.at.gateway.idle)
    assert at.at.ledger.ran == []


@pytest.mark.req("MCP-1", "MCP-3")
async def test_structured_results_come_with_their_schema(at: McpBench) -> None:
    for way in WAYS:
        async with by(at, way) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            answer = await client.call_tool("weather", {"town": "Bonn"})
            shapeless = await client.call_tool("shapeless", {})
        assert (tools["weather"].output_schema or {})["type"] == "object"
        assert answer.structured_content == {"town": "Bonn", "degrees": 21.5}
        assert json.loads(text_of(answer)) == answer.structured_content
        assert shapeless.structured_content == ([1, 2] if way[1] == "2026-07-28" else {"result": [1, 2]})


@pytest.mark.req("MCP-1")
async def test_annotations_say_what_holds_of_a_tool(at: McpBench) -> None:
    async with at.over_http() as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert hints(tools["echo"]) == (True, False, False)
    assert hints(tools["set_value"]) == (False, False, False)
    assert hints(tools["wreck"]) == (False, True, False)
    assert hints(tools["undeclared"]) == (False, True, True)
    assert "cannot be previewed or undone" in (tools["wreck"].description or "")


def hints(tool: Tool) -> tuple[bool | None, bool | None, bool | None]:
    found = tool.annotations
    assert found is not None
    return found.read_only_hint, found.destructive_hint, found.open_world_hint


@pytest.mark.req("MCP-1")
async def test_a_change_is_previewed_and_then_resolved(at: McpBench) -> None:
    for way in WAYS:
        at.at.ledger.value = "first"
        async with by(at, way) as client:
            shown = await client.call_tool("replace_value", {"value": "second"})
            assert at.at.ledger.value == "first"
            assert not shown.is_error
            assert "- first\n+ second" in text_of(shown)
            assert "resolve" in text_of(shown)
            pending = meta_of(shown)["dev.interlock/pending"]
            assert pending["label"] == "replace first by second"
            assert meta_of(shown)["dev.interlock/preview"] == {
                "would_affect": ["value"],
                "estimated_impact": {"values": 1},
            }
            assert 'It would affect: value\nEstimated impact: {"values": 1}' in text_of(shown)
            done = await client.call_tool("resolve", {"action": "apply", "reason": "as asked"})
        assert "now second" in text_of(done)
        assert at.at.ledger.value == "second"


@pytest.mark.req("MCP-1")
async def test_a_denial_is_an_error_that_says_why(at: McpBench) -> None:
    async with at.over_http() as client:
        denied = await client.call_tool("careful", {"text": "x"})
        unknown = await client.call_tool("no_such_tool", {})
    assert denied.is_error
    decision = meta_of(denied)["dev.interlock/decision"]
    assert decision["verdict"] == "deny"
    assert decision["reasons"][0]["message"] in text_of(denied)
    assert decision["policy_revision"] == at.at.gateway.endpoints.policy_revision
    assert unknown.is_error
    assert at.at.ledger.ran == []


@pytest.mark.req("MCP-1")
async def test_a_provider_that_dies_in_the_middle_of_a_change_leaves_it_unknown(at: McpBench, work: Work) -> None:
    async with at.over_http() as client:
        asked = asyncio.create_task(client.call_tool("write_slowly", {}))
        await asyncio.wait_for(work.begun.wait(), PATIENCE_S)
        await at.at.provider.stop(0)
        answer = await asyncio.wait_for(asked, PATIENCE_S)
    assert answer.is_error
    assert meta_of(answer)["dev.interlock/status"] == "outcome_unknown"
    assert "Do not repeat it" in text_of(answer)


@pytest.mark.req("MCP-1")
async def test_one_call_id_has_one_outcome(at: McpBench) -> None:
    meta: Any = {"dev.interlock/call_id": "c-1"}
    async with at.over_socket() as client:
        first = await client.call_tool("set_value", {"value": "v"}, meta=meta)
        again = await client.call_tool("set_value", {"value": "v"}, meta=meta)
    assert text_of(first) == text_of(again)
    assert meta_of(again)["dev.interlock/call_id"] == "c-1"
    assert at.at.ledger.names() == ["set_value"]


CROOKED: list[dict[str, Any]] = [
    {"dev.interlock/workdir": 5},
    {"dev.interlock/intent": "x" * 5000},
    {"dev.interlock/call_id": []},
]


@pytest.mark.req("MCP-1")
async def test_what_a_call_says_of_itself_in_meta_is_taken_and_what_is_none_refused(
    socket_directory: Path, work: Work
) -> None:
    root = str(socket_directory)
    said: Any = {"dev.interlock/workdir": root, "dev.interlock/intent": "look around"}
    async with mcp_bench(socket_directory, tools=work.tools, workspace_roots=(root,)) as at, at.over_socket() as client:
        assert text_of(await client.call_tool("where", {}, meta=said)) == root
        for crooked in CROOKED:
            with pytest.raises(MCPError) as refused:
                await client.call_tool("where", {}, meta=crooked)  # type: ignore[arg-type]  # as a client may get it wrong
            assert refused.value.error.data["field"] == next(iter(crooked))
