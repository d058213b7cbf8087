"""Tools that are looked at while they work: they report progress, wait, are cancelled, and answer with structure."""

import asyncio
from dataclasses import dataclass, field
from typing import Any, TypedDict

from gateway_bench import Ledger, ledger_tools
from interlock.provider import Tool, ToolContext, ToolResult, tool

PATIENCE_S = 20.0


class Weather(TypedDict):
    """What `weather` answers."""

    town: str
    degrees: float


@dataclass
class Work:
    """What the tools did, and what they wait for."""

    heard: list[tuple[str, str]] = field(default_factory=list)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    released: asyncio.Event = field(default_factory=asyncio.Event)

    def tools(self, ledger: Ledger) -> list[Tool[..., Any]]:
        """The ledger's tools and these."""

        @tool(read_only=True, concurrency_safe=True)
        async def count(context: ToolContext, most: int) -> str:
            """Count, and tell."""
            for number in range(1, most + 1):
                await context.progress(f"at {number}", number, total=most)
            return str(most)

        @tool(read_only=True, concurrency_safe=True)
        async def wait() -> str:
            """Wait until let go."""
            return await self._waited()

        @tool(destructive=False, reversible=True)
        async def write_slowly() -> str:
            """Change something, once let go."""
            said = await self._waited()
            ledger.ran.append(("write_slowly", None))
            return said

        @tool(read_only=True, concurrency_safe=True)
        def weather(town: str) -> Weather:
            """Say how it is."""
            return {"town": town, "degrees": 21.50}

        @tool(read_only=True, concurrency_safe=True)
        def listen(context: ToolContext) -> str:
            """Tell what trace it hears of."""
            self.heard.append((context.traceparent, context.tracestate))
            return ""

        @tool(read_only=True, concurrency_safe=True)
        def where(context: ToolContext) -> str:
            """Tell where it works."""
            return context.workdir

        @tool(read_only=True, concurrency_safe=True)
        def shapeless() -> ToolResult:
            """Answer with a list."""
            return ToolResult(data=[1, 2])

        return [*ledger_tools(ledger), count, wait, write_slowly, weather, listen, where, shapeless]

    async def _waited(self) -> str:
        self.begun.set()
        try:
            await asyncio.wait_for(self.released.wait(), PATIENCE_S)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return "done"
