"""`interlock serve` as a process of its own, to be ended by signals; its provider stays in the test's process."""

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from interlock import Gateway as Client
from interlock.provider import DryRunResult, Tool, ToolServer, tool

PATIENCE_S = 30.0


@dataclass
class Held:
    """A provider whose calls wait until they are let go."""

    ran: list[str] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    released: asyncio.Event = field(default_factory=asyncio.Event)
    begun: dict[str, asyncio.Event] = field(default_factory=dict)

    def tools(self) -> list[Tool[..., Any]]:
        @tool(destructive=False, reversible=True)
        async def append(value: str) -> str:
            """Append at once."""
            self.ran.append(value)
            return f"appended {value}"

        @tool(destructive=False, reversible=True)
        async def hold(value: str) -> str:
            """Append, once let go."""
            return await self._held(value)

        @tool(destructive=True)
        async def hold_previewed(value: str) -> str:
            """Append after a preview, once let go."""
            return await self._held(value)

        @hold_previewed.dry_run
        def would(value: str) -> DryRunResult:
            return DryRunResult(preview=f"+ {value}", state_token="same", label=f"append {value}")

        @tool(read_only=True, concurrency_safe=True)
        async def look() -> str:
            """Look, once let go."""
            return await self._held("look")

        return [append, hold, hold_previewed, look]

    async def _held(self, value: str) -> str:
        self.begun.setdefault(value, asyncio.Event()).set()
        try:
            await self.released.wait()
        except asyncio.CancelledError:
            self.cancelled.append(value)
            raise
        self.ran.append(value)
        return f"held {value}"

    async def has_begun(self, value: str) -> None:
        await asyncio.wait_for(self.begun.setdefault(value, asyncio.Event()).wait(), PATIENCE_S)


@asynccontextmanager
async def holding(directory: Path) -> AsyncIterator[Held]:
    """The provider, served; it outlives the gateways before it."""
    held = Held()
    async with ToolServer(held.tools(), f"unix:{directory}/held.sock", name="held") as server:
        yield held
        held.released.set()
        await server.stop(0)


@dataclass
class Served:
    """A gateway that serves, and a client of it, which gives it up soon when it is gone."""

    process: Process
    agents: str
    agent: Client
    health: str = ""
    mcp: tuple[str, ...] = ()

    async def ended_by(self, number: signal.Signals) -> int:
        """Send a signal and wait for the end; the exit code."""
        self.process.send_signal(number)
        return await asyncio.wait_for(self.process.wait(), PATIENCE_S)


@asynccontextmanager
async def served(
    directory: Path, drain_s: float = 10.0, *, more: dict[str, Any] | None = None, path: Path | None = None
) -> AsyncIterator[Served]:
    """`interlock serve` on the state in `directory`, once it has said that it is ready; killed at the end.

    `more` is more of its configuration, `path` where else its Python finds packages.
    """
    config = directory / "interlock.yaml"
    settings = {
        "state": {"dir": str(directory / "state")},
        "server": {"listen": ["unix:{state}/agent.sock"], "drain_s": drain_s},
        "metrics": {"listen": ""},
        "policy": {"workers": 1, "timeout_s": 5},
        "providers": [{"name": "held", "address": f"unix:{directory}/held.sock"}],
        **(more or {}),
    }
    config.write_text(json.dumps(settings))  # JSON is YAML too
    env = {name: value for name, value in os.environ.items() if not name.startswith("INTERLOCK_")}
    if path is not None:
        env["PYTHONPATH"] = os.pathsep.join(filter(None, (str(path), env.get("PYTHONPATH", ""))))
    command = (sys.executable, "-m", "interlock_gateway.cli.main", "serve", "--config", str(config), "-o", "json")
    with (directory / "serve.log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=log, env=env)
    try:
        assert process.stdout is not None
        line = await asyncio.wait_for(process.stdout.readline(), PATIENCE_S)
        assert line, (directory / "serve.log").read_text()
        said = json.loads(line)
        async with Client(said["agents"][0], timeout=PATIENCE_S, patience=0) as agent:
            yield Served(process, said["agents"][0], agent, said["health"], tuple(said["mcp"]))
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
