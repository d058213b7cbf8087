"""Reverse thinking over MCP: the model reads the form, and fills it in with one more argument (REV-1)."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from mcp_bench import McpBench, mcp_bench, text_of
from people_at_clients import asking_tools

THOUGHT: dict[str, Any] = {
    "hidden_assumptions": ["nobody else sets the value"],
    "failure_scenarios": ["it is lost"],
    "verdict": "proceed",
    "verdict_reason": "it can be set back",
}
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
