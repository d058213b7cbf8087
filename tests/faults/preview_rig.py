"""A gateway whose clock, policies, tool and world can be changed between a preview and its resolve (REL-5)."""

import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from interlock.provider import DryRunResult, Tool, ToolContext, ToolProvider, ToolServer, tool
from interlock.provider._provider import NOBODY, Caller
from interlock.v1 import tool_provider_service_pb2 as rpc
from interlock_gateway.app import running
from interlock_gateway.config import Config, PolicyConfig, ProviderConfig, ServerConfig, StateConfig
from interlock_gateway.config_telemetry import MetricsConfig
from interlock_gateway.policy.embedded.engine import EmbeddedEngine
from interlock_gateway.policy.embedded.pool_settings import PoolSettings
from interlock_gateway.policy.loader import load_bundle
from interlock_gateway.serving import Gateway

SAME, OTHER, DENIES, SETS = "same", "another revision", "denies applies", "sets a field at applies"
_FINDING = """package interlock.custom

findings contains {{
	"verdict": "{verdict}",
	"code": "custom",
	"message": "changed meanwhile",
	"rule": "custom/changed",
	"obligations": {obligations},
}} if {{
	{condition}
}}
"""
_APPLIES = 'input.call.phase == "apply"'
OVERLAYS = {
    SAME: "",
    OTHER: _FINDING.format(verdict="none", obligations="{}", condition='input.call.phase == "never"'),
    DENIES: _FINDING.format(verdict="deny", obligations="{}", condition=_APPLIES),
    SETS: _FINDING.format(verdict="none", obligations='{"set": {"value": "something else"}}', condition=_APPLIES),
}


@dataclass
class LateClock:
    """The machine's time, and as much more as a test says."""

    later_s: float = 0.0

    def now(self) -> float:
        return time.time() + self.later_s

    def monotonic(self) -> float:
        return time.monotonic()


@dataclass
class Applied:
    """One run of the tool: the bytes that came, and whether the world was as it was previewed."""

    raw: bytes
    stale: bool


@dataclass
class Shelf:
    """The world, what was done to it, and whether the tool declares something else than before."""

    value: str = "first"
    applied: list[Applied] = field(default_factory=list)
    redeclared: bool = False
    raw: bytes = b""

    def tools(self) -> list[Tool[..., Any]]:
        """One tool that trusts whoever calls it: it does not look whether the world has changed."""

        @tool(destructive=True)
        async def change(context: ToolContext, value: Any) -> str:
            """Change the world."""
            del value
            self.applied.append(Applied(self.raw, stale=context.state_token != self.value))
            return "changed"

        @change.dry_run
        def would(value: Any) -> DryRunResult:
            return DryRunResult(preview=f"{self.value} becomes {value}", state_token=self.value, label="change")

        @tool(read_only=True)
        def look() -> str:
            """Look at the world."""
            return self.value

        return [change, look]


class Provider(ToolProvider):
    """The shelf's tools, with the bytes that come."""

    def __init__(self, shelf: Shelf) -> None:
        super().__init__(shelf.tools(), name="shelf", version="1")
        self._shelf = shelf

    def describe(self) -> rpc.DescribeResponse:
        """What is declared now."""
        described = super().describe()
        if self._shelf.redeclared:
            for one in described.tools:
                one.description += " And more."
        return described

    async def execute(self, request: rpc.ExecuteRequest, caller: Caller = NOBODY) -> Any:
        """Run a call."""
        self._shelf.raw = request.invocation.input
        return await super().execute(request, caller)


class Policies:
    """Engines with different policies, of which one is in force."""

    def __init__(self, engines: dict[str, Any]) -> None:
        self._engines = engines
        self.active = SAME

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engines[self.active], name)


@dataclass
class PreviewRig:
    """Everything that a preview depends on."""

    gateway: Gateway
    clock: LateClock
    shelf: Shelf
    policies: Policies
    database: Path

    async def redeclare(self, *, redeclared: bool) -> None:
        """Have the tool declared with other words, or as before, and the gateway learn of it."""
        self.shelf.redeclared = redeclared
        directory = self.gateway.rooms.directory
        for connection in directory.connections():
            await directory._describe(connection)

    def tamper(self, session_id: str) -> None:
        """Change the input of what is pending, in the database."""
        with closing(sqlite3.connect(self.database, timeout=10.0)) as connection:
            changed = b'{"value":"tampered"}'
            connection.execute("UPDATE pending_actions SET input = ? WHERE session_id = ?", (changed, session_id))
            connection.commit()


@asynccontextmanager
async def preview_rig(directory: Path) -> AsyncIterator[PreviewRig]:
    """A gateway in this process; the directory's path has to fit a socket's."""
    clock, shelf, address = LateClock(), Shelf(), f"unix:{directory}/shelf.sock"
    config = Config(
        state=StateConfig(dir=directory / "state"),
        server=ServerConfig(listen=("unix:{state}/agent.sock",), drain_s=5.0),
        metrics=MetricsConfig(listen=""),
        policy=PolicyConfig(timeout_s=10.0, workers=1),
        providers=(ProviderConfig(name="shelf", address=address),),
    )
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(ToolServer(Provider(shelf), address))
        gateway = await stack.enter_async_context(running(config, clock))
        await gateway.providers_settled(10.0)
        engines: dict[str, Any] = {}
        for name, source in OVERLAYS.items():
            overlays = []
            if source:
                custom = directory / name.replace(" ", "-") / "custom"
                custom.mkdir(parents=True)
                (custom / "changed.rego").write_text(source)
                overlays = [custom.parent]
            # So many destructive calls are more than a person would be left out of.
            bundle = load_bundle(overlays=overlays, changes={"budget": {"destructive_per_day": 1_000_000}})
            engine = EmbeddedEngine(bundle, PoolSettings(workers=1, timeout_s=10.0))
            stack.push_async_callback(engine.close)
            await engine.start()
            engines[name] = engine
        policies = Policies(engines)
        object.__setattr__(gateway.rooms.parts, "engine", policies)
        yield PreviewRig(gateway, clock, shelf, policies, directory / "state" / "state.db")
