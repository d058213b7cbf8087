"""Schemas of a provider's tools, when they are read and when not again (PIPE-4, TOOL-4, REL-7)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from interlock_gateway.core.tool import ToolDefinition
from interlock_gateway.pipeline import schemas_aside
from interlock_gateway.pipeline.schemas_aside import SchemasAside
from interlock_gateway.registry import schemas
from interlock_gateway.registry.registry import ToolRegistry, Trust
from test_private_tools import Clock, PinsInMemory

TWICE: dict[str, Any] = {"items": {"$ref": "#"}, "contains": {"$ref": "#"}}
FOLLOWED = Trust(follow=True)


@asynccontextmanager
async def registering() -> AsyncIterator[ToolRegistry]:
    aside = SchemasAside()
    try:
        yield ToolRegistry(PinsInMemory(), {}, Clock(), aside)
    finally:
        aside.close()


@pytest.fixture(autouse=True)
def enough_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """However much else this machine has to do."""
    monkeypatch.setattr(schemas_aside, "ANSWER_S", 120.0)


def dear(name: str) -> ToolDefinition:
    return ToolDefinition(name=name, input_schema=dict(TWICE))


@pytest.mark.req("PIPE-4", "TOOL-5")
async def test_a_schema_is_read_once_for_as_long_as_its_tool_has_it() -> None:
    async with registering() as registry:
        first = await registry.register("p", [dear("a")], FOLLOWED)
        assert [problem.partition(":")[0] for problem in first.problems] == [
            "a of p is checked in a process of its own, which takes longer"
        ]
        changed = await registry.register("p", [replace(dear("a"), description="other words")], FOLLOWED)
        assert changed.problems == first.problems
        assert changed.tools[0].schema is first.tools[0].schema
        other = await registry.register("p", [ToolDefinition(name="a", input_schema={"type": "object"})], FOLLOWED)
        assert (other.problems, other.tools[0].schema.why_aside) == ((), "")
        confirmed = await registry.confirm("p", {"a": other.tools[0].sha256}, "ops", _nothing)
        assert confirmed[0].schema is other.tools[0].schema


@pytest.mark.req("PIPE-4", "REL-7", "TOOL-4")
async def test_schemas_that_take_all_the_time_there_is_for_a_list_cost_that_list_the_rest_of_its_dear_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with registering() as registry:
        monkeypatch.setattr(schemas, "ASIDE_S", 1e-9)
        plain = ToolDefinition(name="plain", input_schema={"type": "object"})
        found = await registry.register("p", [dear("first"), dear("second"), plain], FOLLOWED)
        assert [tool.name for tool in found.tools] == ["first", "plain"]
        assert any("second of p is refused: its input schema was not read" in problem for problem in found.problems)


@pytest.mark.req("REL-7", "TOOL-4")
async def test_nobody_waits_for_the_schemas_of_others_and_the_last_of_two_lists_counts() -> None:
    endless: dict[str, Any] = {"allOf": [{"pattern": f"^\\p{{L}}{{1,50}}x{at}$"} for at in range(400)]}
    async with registering() as registry:
        slow = asyncio.create_task(
            registry.register("slow", [ToolDefinition(name="slow", input_schema=endless)], FOLLOWED)
        )
        later = asyncio.create_task(registry.register("slow", [dear("slow")], FOLLOWED))
        await registry.register("other", [ToolDefinition(name="other", input_schema={"type": "object"})], FOLLOWED)
        assert not slow.done()
        assert "too long, or too much memory" in (await slow).problems[0]
        await later
        assert [tool.input_schema for tool in (one.definition for one in registry.tools_of("slow"))] == [TWICE]


async def _nothing() -> None:
    pass
