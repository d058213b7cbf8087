"""What else there is of a provider besides its tools: called under names that are listed nowhere (MCP-3)."""

import pytest
from interlock_gateway.config import ToolOverride
from interlock_gateway.core.session import Session
from interlock_gateway.core.tool import Effect, PinState, ToolDefinition, ToolMetadata
from interlock_gateway.pipeline.schemas_aside import SchemasAside
from interlock_gateway.providers.mcp.passing import passing_tools
from interlock_gateway.registry.deferral import Deferral
from interlock_gateway.registry.registry import ToolRegistry, Trust
from test_private_tools import Clock, PinsInMemory

EVERYTHING = frozenset({"resources", "prompts"})
PASSING = passing_tools("docs", EVERYTHING, {"resources": {}, "prompts": {}})
READ, GET = "docs/resources/read", "docs/prompts/get"


def tool(name: str) -> ToolDefinition:
    return ToolDefinition(name, metadata=ToolMetadata(read_only=True))


@pytest.mark.req("MCP-3")
async def test_what_passes_is_found_and_listed_nowhere_and_is_not_pinned() -> None:
    pins = PinsInMemory()
    registry = ToolRegistry(pins, {}, Clock(), SchemasAside())
    await registry.register("docs", [tool("search")], Trust(floor=True))
    registry.pass_on("docs", PASSING)

    read = registry.find(READ)
    assert read is not None
    assert (read.provider, read.classification.effect, read.pin_state) == ("docs", Effect.READ_ONLY, PinState.PINNED)
    assert read.classification.open_world
    assert [one.name for one in registry.tools()] == ["search"]
    assert [one.name for one in registry.all_tools()] == ["search"]
    assert [pin.tool for pin in await pins.load_pins()] == ["search"]
    registry.pass_on("docs", ())
    assert registry.find(READ) is None
    registry.pass_on("docs", PASSING)
    registry.unregister("docs")
    assert registry.find(GET) is None


@pytest.mark.req("MCP-3", "SEC-1")
async def test_nobody_else_has_a_name_of_what_passes_whoever_came_first() -> None:
    registry = ToolRegistry(PinsInMemory(), {}, Clock(), SchemasAside())
    await registry.register("evil", [tool(READ)], Trust())
    registry.pass_on("docs", PASSING)
    late = await registry.register("late", [tool(GET)], Trust())

    assert [registry.find(name).provider for name in (READ, GET)] == ["docs", "docs"]  # type: ignore[union-attr]  # they are there
    assert "belongs to" in late.problems[0]


@pytest.mark.req("MCP-3", "DEFER-1")
async def test_what_passes_is_never_deferred_and_operators_may_say_what_it_is() -> None:
    override = ToolOverride(read_only=False, destructive=True)
    registry = ToolRegistry(PinsInMemory(), {READ: override}, Clock(), SchemasAside())
    await registry.register("docs", [tool(f"t{number}") for number in range(5)], Trust())
    registry.pass_on("docs", PASSING)
    deferral, session = Deferral(registry, 3, ()), Session("s", "agent", 0.0)

    read, get, listed = (registry.find(name) for name in (READ, GET, "t1"))
    assert read is not None
    assert get is not None
    assert listed is not None
    assert [deferral.hides(session, one) for one in (read, get, listed)] == [False, False, True]
    assert read.classification.effect is Effect.DESTRUCTIVE


@pytest.mark.parametrize(
    ("passes", "capabilities", "names"),
    [
        (EVERYTHING, {"resources": {}, "prompts": {}}, [READ, GET]),
        (EVERYTHING, {"prompts": {}}, [GET]),
        (frozenset({"resources"}), {"resources": {}, "prompts": {}}, [READ]),
        (frozenset[str](), {"resources": {}, "prompts": {}}, []),
    ],
)
def test_what_passes_is_what_is_there_and_let_through(
    passes: frozenset[str], capabilities: dict[str, object], names: list[str]
) -> None:
    assert [one.name for one in passing_tools("docs", passes, capabilities)] == names
