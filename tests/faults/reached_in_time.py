"""How soon a tool learns that nobody waits for it any more: its caller hung up, or the deadline passed (REL-9)."""

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gateway_process import PATIENCE_S, GatewayProcess
from interlock.errors import RequestError
from interlock.provider import Tool, ToolServer, tool

WANTED_S = 0.2
_DEADLINE_S = 0.25


@dataclass
class Stuck:
    """A tool that never answers, and notes when it was told to stop."""

    begun: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    ended_at: float = 0.0

    def tools(self) -> list[Tool[..., Any]]:
        """The tool, as one that reads and as one that changes."""

        @tool(read_only=True, concurrency_safe=True)
        async def reads() -> str:
            """Never answer."""
            return await self._stuck()

        @tool(destructive=False, reversible=True)
        async def changes() -> str:
            """Never answer."""
            return await self._stuck()

        return [reads, changes]

    async def _stuck(self) -> str:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended_at = time.monotonic()
            self.ended.set()
        return ""


@dataclass
class Lags:
    """In seconds, from the hanging up and from the deadline; how many never came."""

    hung_up: list[float] = field(default_factory=list)
    deadline: list[float] = field(default_factory=list)
    lost: int = 0

    @property
    def late(self) -> int:
        """How many came later than wanted."""
        return sum(lag > WANTED_S for lag in (*self.hung_up, *self.deadline))


async def ends_reach_tools(directory: Path, calls: int) -> Lags:
    """Hang up on half of so many calls, and let the deadline of the others pass."""
    stuck, lags = Stuck(), Lags()
    (directory / "root").mkdir()
    async with ToolServer(stuck.tools(), f"unix:{directory}/stuck.sock", name="stuck"):
        process = GatewayProcess(directory, {"stuck": f"unix:{directory}/stuck.sock"})
        try:
            async with await process.start() as gateway:
                for number in range(calls):
                    name = ("reads", "changes")[number // 2 % 2]
                    hangs_up = number % 2 == 0
                    stuck.begun.clear()
                    stuck.ended.clear()
                    session = gateway.session(f"s{number}")  # a change that never answers is alone in its session
                    began = time.monotonic()
                    calling = asyncio.create_task(session.call(name, {}, timeout=30.0 if hangs_up else _DEADLINE_S))
                    await asyncio.wait_for(stuck.begun.wait(), PATIENCE_S)
                    due = began + _DEADLINE_S
                    if hangs_up:
                        calling.cancel()
                        due = time.monotonic()
                    with suppress(asyncio.CancelledError, RequestError):
                        await calling
                    try:
                        await asyncio.wait_for(stuck.ended.wait(), PATIENCE_S)
                    except TimeoutError:
                        lags.lost += 1
                        continue
                    (lags.hung_up if hangs_up else lags.deadline).append(stuck.ended_at - due)
        finally:
            await process.stop()
    return lags
