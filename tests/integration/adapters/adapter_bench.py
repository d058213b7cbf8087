"""A gateway with tools of every kind, for agents of every framework."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from asked_people import asking
from gateway_bench import Bench, Ledger, bench, ledger_tools
from interlock import Session
from interlock.provider import Image, Tool, ToolError, ToolResult, tool
from players import PLAYERS, Player

__all__ = ["PICTURE", "PLAYERS", "Held", "Played", "Player", "Scene", "adapter_scene"]

PICTURE = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)


@dataclass
class Held:
    """A tool that has begun, and does not end unless it is cancelled."""

    begun: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass
class Scene:
    """The gateway, and what its tools did."""

    bench: Bench
    held: Held

    async def played(self) -> "Played":
        """A new session, and nothing that has run."""
        ledger = self.bench.ledger
        ledger.ran.clear()
        ledger.value = "first"
        self.held.begun.clear()
        self.held.cancelled.clear()
        return Played(self.bench, await self.bench.agent.open_session(deferred_threshold=100), self.held)


@dataclass
class Played:
    """One session, and what was done in it."""

    bench: Bench
    session: Session
    held: Held

    @property
    def ran(self) -> list[tuple[str, Any]]:
        """What the provider really did."""
        return self.bench.ledger.ran


def _tools(ledger: Ledger, held: Held) -> list[Tool[..., Any]]:
    @tool(read_only=True, name="files.read/one", concurrency_safe=True)
    def dotted(path: str) -> str:
        """Has a name that models' APIs refuse."""
        ledger.ran.append(("files.read/one", path))
        return f"content of {path}"

    @tool(read_only=True)
    def draw() -> ToolResult:
        """Answer with a text and a picture."""
        return ToolResult(content=["a dot", Image(PICTURE)])

    @tool(read_only=True)
    def oddly_called(config: str, run_manager: str, callbacks: str, tool_call_id: str, ctx: str) -> str:
        """Has arguments that are called as what frameworks put in."""
        return f"{config} {run_manager} {callbacks} {tool_call_id} {ctx}"

    @tool(read_only=True)
    def fail() -> str:
        """Answer with an error of the tool's own."""
        raise ToolError("no such file: a.txt")

    @tool(read_only=True)
    async def hold() -> str:
        """Take for ever."""
        held.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            held.cancelled.set()
        return ""

    @tool(destructive=False, reversible=True, requires_reverse_thinking=True)
    def ponder(value: str) -> str:
        """Do it after some thought."""
        ledger.ran.append(("ponder", value))
        return f"did {value}"

    return [*ledger_tools(ledger), dotted, draw, oddly_called, fail, hold, ponder]


@asynccontextmanager
async def adapter_scene(directory: Path) -> AsyncIterator[Scene]:
    """The gateway. People are asked about calls of `wreck`."""
    held = Held()
    async with bench(directory, tools=lambda ledger: _tools(ledger, held), policy=asking(directory, "wreck")) as made:
        yield Scene(made, held)
