"""Reverse thinking over MCP: the model reads the form, and fills it in with one more argument (REV-1)."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from interlock_gateway.config import PolicyConfig
from mcp import MCPError
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_bench import McpBench, mcp_bench, text_of
from passing_servers import docs_server, in_front_of
from people_at_clients import asking_tools
from policy_overlays import overlay_in

THOUGHT: dict[str, Any] = {
    "hidden_assumptions": ["nobody else sets the value"],
    "failure_scenarios": ["it is lost"],
    "verdict": "proceed",
    "verdict_reason": "it can be set back",
}
REFLECTS = """package interlock.custom

# METADATA
# title: Think before reading
findings contains {"verdict": "reflect", "code": "think", "message": "think first", "rule": "custom/think"} if {
	startswith(input.tool.name, "docs/")
	not input.call.deliverable.verdict
}
"""
MODES = ("legacy", "2026-07-28")


@pytest.fixture
async def thinking(socket_directory: Path) -> AsyncIterator[McpBench]:
    async with mcp_bench(socket_directory, tools=asking_tools) as made:
        yield made


@pytest.mark.req("MCP-1", "REV-1")
@pytest.mark.parametrize("mode", MODES)
async def test_the_model_reads_the_form_and_the_same_call_with_a_deliverable_goes_on(
    thinking: McpBench, mode: str
) -> None:
    async with thinking.over_http(mode) as client:
        asked = await client.call_tool("ponder", {"value": "b"})
        done = await client.call_tool("ponder", {"value": "b", "_interlock_deliverable": THOUGHT})

    assert "_interlock_deliverable" in text_of(asked)
    assert "failure_scenarios" in text_of(asked)
    assert asked.meta is not None
    assert asked.meta["dev.interlock/reflection"]["schema"]["required"] == list(THOUGHT)
    assert text_of(done) == "did b"
    assert thinking.at.ledger.ran == [("ponder", "b")]


@pytest.mark.req("MCP-1", "REV-2")
async def test_a_deliverable_in_meta_counts_too_and_one_that_is_unfit_is_refused_in_words(thinking: McpBench) -> None:
    async with thinking.over_http() as client:
        misfits: tuple[Any, ...] = ("think", [], {"verdict": "proceed"})
        unfit = [await client.call_tool("ponder", {"value": "b", "_interlock_deliverable": given}) for given in misfits]
        meta: Any = {"dev.interlock/deliverable": THOUGHT}
        done = await client.call_tool("ponder", {"value": "b"}, meta=meta)
        aborted = await client.call_tool(
            "ponder", {"value": "c", "_interlock_deliverable": {**THOUGHT, "verdict": "abort"}}
        )

    assert all("The deliverable cannot be taken" in text_of(answer) for answer in unfit)
    assert text_of(done) == "did b"
    assert "You chose to give this call up" in text_of(aborted)
    assert thinking.at.ledger.ran == [("ponder", "b")]


@pytest.mark.req("MCP-3", "REV-1")
@pytest.mark.parametrize("mode", MODES)
async def test_what_is_read_by_a_call_is_read_once_its_deliverable_comes_in_meta(
    socket_directory: Path, mode: str
) -> None:
    policy = PolicyConfig(overlays=(overlay_in(socket_directory, REFLECTS),))
    meta: Any = {"dev.interlock/deliverable": THOUGHT}
    async with in_front_of(socket_directory, docs_server(), policy=policy) as at, at.over_http(mode) as client:
        with pytest.raises(MCPError) as resource:
            await client.read_resource("docs://page", cache_mode="bypass")
        with pytest.raises(MCPError) as prompt:
            await client.get_prompt("greet", {"who": "Ada"})
        read = await client.read_resource("docs://page", meta=meta, cache_mode="bypass")
        greeting = await client.get_prompt("greet", {"who": "Ada"}, meta=meta)

    for caught in (resource.value.error, prompt.value.error):
        assert "dev.interlock/deliverable" in caught.message
        assert "failure_scenarios" in caught.message
        assert "_interlock_deliverable" not in caught.message
        assert caught.data["dev.interlock/reflection"]["schema"]["required"] == list(THOUGHT)
    assert [getattr(one, "text", None) for one in read.contents] == ["the page of docs"]
    assert len(greeting.messages) == 1


@pytest.mark.req("MCP-3", "REV-1")
@pytest.mark.filterwarnings(f"ignore::{MCPDeprecationWarning.__module__}.{MCPDeprecationWarning.__name__}")
async def test_what_is_sent_without_a_call_is_sent_once_its_deliverable_comes_in_meta(socket_directory: Path) -> None:
    policy = PolicyConfig(overlays=(overlay_in(socket_directory, REFLECTS),))
    meta: Any = {"dev.interlock/deliverable": THOUGHT}
    async with in_front_of(socket_directory, docs_server(), policy=policy) as at, at.over_http() as client:
        with pytest.raises(MCPError) as caught:
            await client.subscribe_resource("docs://page")
        await client.subscribe_resource("docs://page", meta=meta)

    assert "dev.interlock/deliverable" in caught.value.error.message
    assert caught.value.error.data["dev.interlock/reflection"]["schema"]["required"] == list(THOUGHT)
