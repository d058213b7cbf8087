"""A real gateway on real sockets, with a provider whose tools record what ran: everything here goes over gRPC."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from interlock import Gateway as Client
from interlock.provider import (
    DryRunResult,
    PendingAction,
    StateChangedError,
    Tool,
    ToolContext,
    ToolError,
    ToolResult,
    ToolServer,
    UndoInfo,
    tool,
)
from interlock_gateway.app import running
from interlock_gateway.config import Config, PolicyConfig, ProviderConfig, ServerConfig, StateConfig
from interlock_gateway.config_telemetry import MetricsConfig
from interlock_gateway.serving import Gateway


class MovableClock:
    """The real clock, set forward by hand."""

    def __init__(self) -> None:
        self.ahead_s = 0.0

    def now(self) -> float:
        return time.time() + self.ahead_s

    def monotonic(self) -> float:
        return time.monotonic()


@dataclass
class Ledger:
    """What the provider really did, which is what counts."""

    ran: list[tuple[str, Any]] = field(default_factory=list)
    rejected: list[dict[str, Any]] = field(default_factory=list)
    value: str = "first"
    fail_apply: str = ""

    def names(self) -> list[str]:
        return [name for name, _ in self.ran]


def ledger_tools(ledger: Ledger) -> list[Tool[..., Any]]:  # noqa: C901 - a list of small tools
    """Tools of every kind that the gateway tells apart."""

    @tool(read_only=True, concurrency_safe=True, prompt_snippet="echo: say it again", aliases=["say"])
    def echo(text: str) -> str:
        """Say it again."""
        ledger.ran.append(("echo", text))
        return text

    @tool(read_only=True, min_confidence=70)
    def careful(text: str) -> str:
        """Say it again, when sure."""
        ledger.ran.append(("careful", text))
        return text

    @tool(destructive=False, reversible=True, undo_method="tool", undo_tool="set_value")
    def set_value(value: str) -> ToolResult:
        """Set the value."""
        before, ledger.value = ledger.value, value
        ledger.ran.append(("set_value", value))
        return ToolResult(content=f"was {before}", undo=UndoInfo(tool="set_value", input={"value": before}))

    @tool(destructive=True)
    def replace_value(context: ToolContext, value: str) -> ToolResult:
        """Replace the value, after a preview."""
        if context.state_token and context.state_token != ledger.value:
            raise StateChangedError
        if ledger.fail_apply == "tool":
            raise ToolError("the tool says no")
        if ledger.fail_apply == "crash":
            raise RuntimeError("secret internals")
        ledger.value = value
        ledger.ran.append(("replace_value", value))
        return ToolResult(content=f"now {value}", details={"by": "replace_value"})

    @replace_value.dry_run
    def would_replace(value: str) -> DryRunResult:
        if value == "impossible":
            raise ToolError("there is no such value")
        return DryRunResult(
            would_affect=["value"],
            preview=f"- {ledger.value}\n+ {value}",
            estimated_impact={"values": 1},
            state_token=ledger.value,
            label=f"replace {ledger.value} by {value}",
        )

    @tool(destructive=True)
    def wreck(what: str) -> str:
        """Destroy without preview or undo."""
        ledger.ran.append(("wreck", what))
        return "gone"

    @tool
    def undeclared(text: str) -> str:
        """Declare nothing."""
        ledger.ran.append(("undeclared", text))
        return text

    @tool(destructive=False, reversible=True)
    def propose(plan: str) -> ToolResult:
        """Push a pending action of its own."""
        return ToolResult(
            content=f"proposed {plan}",
            pending_action=PendingAction(label=plan, token=f"plan:{plan}", source_tool="planner"),
        )

    @propose.apply
    def apply_plan(token: str, reason: str, extra: dict[str, Any]) -> ToolResult:
        ledger.ran.append(("apply_plan", {"token": token, "reason": reason, "extra": extra}))
        return ToolResult(content=f"did {token}", details={"plan": token})

    @propose.reject
    def reject_plan(token: str, reason: str, extra: dict[str, Any]) -> str | None:
        ledger.rejected.append({"token": token, "reason": reason, "extra": extra})
        if token == "plan:loud":
            return "the planner heard you"
        if token == "plan:bad":
            raise ToolError("cannot reject this")
        return None

    @tool(destructive=False, reversible=True)
    def stand(label: str, *, clear: bool = False) -> ToolResult:
        """Register a standing handler, or clear it."""
        if clear:
            return ToolResult(content="cleared", clear_standing_handler=label)
        handler = PendingAction(label=label, token=label, source_tool="planner", has_reject=False)
        return ToolResult(content="standing", standing_handler=handler)

    @stand.apply
    def apply_standing(token: str, reason: str, extra: dict[str, Any]) -> str:
        ledger.ran.append(("apply_standing", {"token": token, "reason": reason, "extra": extra}))
        return f"stood in for {token}"

    return [echo, careful, set_value, replace_value, wreck, undeclared, propose, stand]


@dataclass
class Bench:
    """One gateway, one provider, one agent."""

    gateway: Gateway
    agent: Client
    ledger: Ledger
    clock: MovableClock
    directory: Path
    provider: ToolServer


def config_in(directory: Path, **changes: Any) -> Config:
    """A configuration whose sockets and state are in `directory`, with the ledger's provider in it."""
    # A decision that takes long because the machine is busy with other tests is no runaway policy.
    policy = changes.get("policy", PolicyConfig())
    # Nor does a test that does not ask for it want policies to be loaded behind its back.
    policy = policy.model_copy(update={"timeout_s": 5.0, "watch": policy.watch and "watch" in policy.model_fields_set})
    return Config(
        state=StateConfig(dir=directory / "state"),
        metrics=MetricsConfig(listen="127.0.0.1:0"),
        **{
            "server": ServerConfig(listen=("unix:{state}/agent.sock", "127.0.0.1:0"), drain_s=5.0),
            "providers": (ProviderConfig(name="ledger", address=f"unix:{directory}/ledger.sock"),),
            **changes,
            "policy": policy,
        },
    )


@asynccontextmanager
async def provided(directory: Path, tools: list[Tool[..., Any]], name: str = "ledger") -> AsyncIterator[ToolServer]:
    """Serve `tools` on a socket in `directory`."""
    async with ToolServer(tools, f"unix:{directory}/{name}.sock", name=name, version="1") as server:
        yield server


@asynccontextmanager
async def bench(
    directory: Path,
    *,
    ledger: Ledger | None = None,
    clock: MovableClock | None = None,
    tools: Callable[[Ledger], list[Tool[..., Any]]] = ledger_tools,
    **changes: Any,
) -> AsyncIterator[Bench]:
    """A running gateway with the ledger's provider connected."""
    ledger, clock = ledger or Ledger(), clock or MovableClock()
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(provided(directory, tools(ledger)))
        gateway = await stack.enter_async_context(running(config_in(directory, **changes), clock))
        await gateway.providers_settled(5.0)
        agent = await stack.enter_async_context(Client(gateway.endpoints.agents[0], patience=0))
        yield Bench(gateway, agent, ledger, clock, directory, server)
