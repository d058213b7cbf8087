"""Tools that are there for one principal alone: names, lists, and the pins of several gateways (TOOL-4, TOOL-5)."""

import time
from collections.abc import Iterable

import pytest
from interlock_gateway.core.session import Session, circle_of
from interlock_gateway.core.tool import PinState, ToolDefinition
from interlock_gateway.pipeline.resolve_tool import resolve_tool, unknown_tool_message
from interlock_gateway.pipeline.schemas_aside import SchemasAside
from interlock_gateway.registry.catalog import catalog
from interlock_gateway.registry.deferral import Deferral
from interlock_gateway.registry.pins import Pin
from interlock_gateway.registry.registry import ToolRegistry, Trust


class PinsInMemory:
    """What two gateways share."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], Pin] = {}

    async def load_pins(self) -> tuple[Pin, ...]:
        return tuple(self.kept.values())

    async def save_pin(self, pin: Pin) -> None:
        self.kept[pin.provider, pin.tool] = pin


class Clock:
    now = staticmethod(time.time)
    monotonic = staticmethod(time.monotonic)


def registry(pins: PinsInMemory | None = None) -> ToolRegistry:
    return ToolRegistry(pins or PinsInMemory(), {}, Clock(), SchemasAside())


def session(owner: str, **more: object) -> Session:
    return Session("s", owner, 0.0, **more)  # type: ignore[arg-type]  # what a test wants of it


def tools(*names: str, aliases: Iterable[str] = (), description: str = "") -> list[ToolDefinition]:
    return [ToolDefinition(name, description, aliases=tuple(aliases)) for name in names]


@pytest.mark.req("TOOL-4", "AUTH-2")
async def test_two_principals_have_one_name_each_and_neither_has_the_operators() -> None:
    made = registry()
    await made.register("shared", tools("deploy"), Trust())
    for who in ("alice", "bob"):
        done = await made.register(f"{who}/own", tools("note", "deploy", aliases=[f"{who}s"]), Trust(only_for=who))
        assert [tool.name for tool in done.tools] == ["note"]
        assert "the name deploy belongs to deploy of shared" in done.problems[0]
    for who in ("alice", "bob"):
        found = resolve_tool(made, session(who), "note")
        assert found is not None
        assert found.provider == f"{who}/own"
        assert resolve_tool(made, session(who), f"{who}s") is found
    assert resolve_tool(made, session("carol"), "note") is None
    assert resolve_tool(made, session("alice"), "bobs") is None
    assert made.find("note") is None
    assert "note" not in unknown_tool_message(made, session("carol"), "not")


@pytest.mark.req("TOOL-4")
async def test_a_name_that_the_operator_takes_later_is_the_operators() -> None:
    made = registry()
    await made.register("alice/own", tools("note"), Trust(only_for="alice"))
    await made.register("shared", tools("note"), Trust())
    found = resolve_tool(made, session("alice"), "note")
    assert found is not None
    assert found.provider == "shared"
    made.unregister("shared")
    again = resolve_tool(made, session("alice"), "note")
    assert again is not None
    assert again.provider == "alice/own"


@pytest.mark.req("DEFER-1", "TOOL-4")
async def test_what_others_brought_along_defers_nobody_elses_tools() -> None:
    made = registry()
    await made.register("shared", tools("a", "b"), Trust())
    await made.register("alice/own", tools(*(f"t{n}" for n in range(20))), Trust(only_for="alice"))
    deferral = Deferral(made, 5, ())

    def seen(owner: str, **more: object) -> tuple[list[str], int]:
        found = catalog(made, deferral, session(owner, **more), pending=False, confidence_field="_c")
        return [one.tool.name for one in found.tools], found.deferred

    assert seen("bob") == (["a", "b"], 0)
    assert seen("alice") == ([], 22)
    assert seen("alice", tools=("a", "t1")) == (["a", "t1"], 0)
    assert seen("bob", tools=("a", "t1")) == (["a"], 0)
    assert seen("alice", activated=("t1",)) == (["t1"], 21)


@pytest.mark.req("TOOL-5", "STATE-1")
async def test_a_definition_that_was_pinned_at_another_gateway_is_pinned_here_too() -> None:
    pins = PinsInMemory()
    first, second = registry(pins), registry(pins)
    for made in (first, second):
        await made.load()
    await first.register("alice/own", tools("note"), Trust(only_for="alice"))
    await second.reread()
    done = await second.register("alice/own", tools("note", description="changed"), Trust(only_for="alice"))
    assert [tool.pin_state for tool in done.tools] == [PinState.CHANGED]


@pytest.mark.req("EXT-1", "AUTH-2")
@pytest.mark.parametrize(
    ("owner", "circle"),
    [
        ("alice", "alice"),
        ("extmcp:proxy:ana", "extmcp:proxy"),
        ("extmcp:proxy:ana:more", "extmcp:proxy"),
        ("extmcp:spiffe%3A%2F%2Fx:ana", "extmcp:spiffe%3A%2F%2Fx"),
        ("extmcp", "extmcp"),
    ],
)
def test_agents_behind_one_gateway_are_a_circle(owner: str, circle: str) -> None:
    assert circle_of(owner) == circle


@pytest.mark.req("TOOL-4", "AUTH-2", "SEC-7")
async def test_what_one_principal_has_pinned_is_not_counted_to_another_whose_id_it_begins_with() -> None:
    made = registry()
    await made.register("spiffe://a/team/tools", tools("own"), Trust(only_for="spiffe://a/team"))
    own = made.pinned_bytes("spiffe://a/team")
    await made.register("spiffe://a/team/mallory/tools", tools("flood"), Trust(only_for="spiffe://a/team/mallory"))
    assert own > 0
    assert made.pinned_bytes("spiffe://a/team") == own


@pytest.mark.req("TOOL-4", "TOOL-7")
async def test_a_private_tool_is_not_listed_beside_one_for_everybody_that_came_later() -> None:
    made = registry()
    await made.register("alice/own", tools("deploy", description="Harmless."), Trust(only_for="alice"))
    await made.register("shared", tools("deploy", description="Deploys."), Trust())
    seen = catalog(made, Deferral(made, 5, ()), session("alice"), pending=False, confidence_field="c").tools
    assert [(one.tool.provider, one.tool.name) for one in seen] == [("shared", "deploy")]
    found = resolve_tool(made, session("alice"), "deploy")
    assert found is not None
    assert found.provider == "shared"
