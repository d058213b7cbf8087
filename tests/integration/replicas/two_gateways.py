"""Two gateways as people run them, each a process with a state directory of its own, on one PostgreSQL database."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from interlock import Gateway as Client
from interlock.admin import Admin, Approvals
from interlock.errors import GatewayUnavailableError
from interlock.provider import (
    DryRunResult,
    StateChangedError,
    Tool,
    ToolContext,
    ToolResult,
    ToolServer,
    UndoInfo,
    tool,
)
from interlock.v1 import registry_pb2
from waiting import a_moment, eventually, eventually_so

STARTING_S = 60.0


@dataclass
class Ledger:
    """What the provider really did, with what overlapped; the tools wait at `gate` while it is closed."""

    ran: list[tuple[str, Any]] = field(default_factory=list)
    inside: set[str] = field(default_factory=set)
    overlaps: list[set[str]] = field(default_factory=list)
    value: str = "first"
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    waiting: int = 0

    def __post_init__(self) -> None:
        self.gate.set()

    @asynccontextmanager
    async def alone(self, name: str) -> AsyncIterator[None]:
        """Note who else is inside meanwhile."""
        if self.inside:
            self.overlaps.append({name, *self.inside})
        self.inside.add(name)
        try:
            await a_moment()
            yield
        finally:
            self.inside.discard(name)


def tools_of(ledger: Ledger) -> list[Tool[..., Any]]:
    """Tools of the kinds that matter between replicas."""

    @tool(read_only=True, concurrency_safe=True)
    def echo(text: str) -> str:
        """Say it again."""
        ledger.ran.append(("echo", text))
        return text

    @tool(destructive=False, reversible=True, undo_method="tool", undo_tool="note")
    async def note(text: str) -> ToolResult:
        """Change something, and take a moment for it."""
        async with ledger.alone(text):
            ledger.ran.append(("note", text))
        return ToolResult(content=f"noted {text}", undo=UndoInfo(tool="note", input={"text": f"undo {text}"}))

    @tool(destructive=False, reversible=True, undo_method="tool", undo_tool="note")
    async def hold(text: str) -> ToolResult:
        """Change something, and wait at the gate."""
        ledger.ran.append(("hold", text))
        ledger.waiting += 1
        await ledger.gate.wait()
        ledger.waiting -= 1
        return ToolResult(content=f"held {text}", undo=UndoInfo(tool="note", input={"text": f"undo {text}"}))

    @tool(destructive=True)
    async def replace_value(context: ToolContext, value: str) -> str:
        """Replace the value, after a preview."""
        if context.state_token and context.state_token != ledger.value:
            raise StateChangedError
        ledger.ran.append(("replace_value", value))
        ledger.value = value
        return f"now {value}"

    @replace_value.dry_run
    def would_replace(value: str) -> DryRunResult:
        return DryRunResult(
            would_affect=["value"],
            preview=f"- {ledger.value}\n+ {value}",
            estimated_impact={"values": 1},
            state_token=ledger.value,
            label=f"replace {ledger.value} by {value}",
        )

    @tool(destructive=True)
    async def wreck(what: str) -> str:
        """Destroy, without preview or undo: a person is asked first."""
        async with ledger.alone(what):
            ledger.ran.append(("wreck", what))
        return f"{what} is gone"

    return [echo, note, hold, replace_value, wreck]


@dataclass
class Replica:
    """One gateway process, and an agent and an operator at it, who give it up soon when it is gone."""

    process: asyncio.subprocess.Process
    agent: Client
    operator: Client
    log: Path

    def kill(self) -> None:
        """End it as a machine that fails does."""
        self.process.send_signal(signal.SIGKILL)

    async def ready(self) -> None:
        """Wait until it has the provider's tools."""

        async def connected() -> bool:
            states = {one.state for one in await Admin(self.operator).providers()}
            return states == {registry_pb2.PROVIDER_STATE_READY}

        await eventually_so(connected, STARTING_S)


@dataclass
class Two:
    """Two replicas, their provider, and how to start one again."""

    one: Replica
    other: Replica
    ledger: Ledger
    directory: Path
    url: str
    stack: AsyncExitStack

    async def start(self, name: str) -> Replica:
        """One more gateway, or one that was killed."""
        return await _started(self.directory, self.url, name, self.stack)


@asynccontextmanager
async def two_gateways(directory: Path, url: str, **more: str) -> AsyncIterator[Two]:
    """Two replicas with one provider, which lives here so that it sees everything; `more` is more of their settings."""
    ledger = Ledger()
    async with AsyncExitStack() as stack:
        address = f"unix:{directory}/ledger.sock"
        await stack.enter_async_context(ToolServer(tools_of(ledger), address, name="ledger", version="1"))
        starting = (_started(directory, url, name, stack, **more) for name in ("one", "other"))
        one, other = await asyncio.gather(*starting)
        yield Two(one, other, ledger, directory, url, stack)


async def _started(directory: Path, url: str, name: str, stack: AsyncExitStack, **more: str) -> Replica:
    settings = {
        "INTERLOCK__STATE__DIR": f"{directory}/{name}",
        "INTERLOCK__STATE__DATABASE": url,
        "INTERLOCK__STATE__LEASE_S": "2",
        "INTERLOCK__METRICS__LISTEN": "",
        "INTERLOCK__SERVER__LISTEN": "unix:{state}/agent.sock",
        "INTERLOCK__POLICY__TIMEOUT_S": "5",
        "INTERLOCK__PROVIDERS": f'[{{name: ledger, address: "unix:{directory}/ledger.sock"}}]',
        **more,
    }
    env = {key: value for key, value in os.environ.items() if not key.startswith("INTERLOCK_")} | settings
    log = directory / f"{name}.log"
    with log.open("a", encoding="utf-8") as errors:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "interlock_gateway.cli.main", "serve", "-o", "json"),
            env=env,
            stdout=subprocess.PIPE,
            stderr=errors,
        )
    stack.push_async_callback(_ended, process)
    assert process.stdout is not None
    async with asyncio.timeout(STARTING_S):
        line = await process.stdout.readline()
    assert line, log.read_text(encoding="utf-8")
    places = json.loads(line)
    agent = await stack.enter_async_context(Client(places["agents"][0], patience=0))
    operator = await stack.enter_async_context(Client(places["operators"][0], patience=0))
    replica = Replica(process, agent, operator, log)
    await replica.ready()
    return replica


async def _ended(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()
    await process.wait()


@asynccontextmanager
async def approver_at(*replicas: Replica) -> AsyncIterator["asyncio.Queue[str]"]:
    """Somebody who watches at these replicas; the ids of the checkpoints that they are asked about, each once."""
    seen: set[str] = set()
    asked: asyncio.Queue[str] = asyncio.Queue()

    async def watch(replica: Replica) -> None:
        with suppress(GatewayUnavailableError):  # it was killed
            async for event in Approvals(replica.operator).watch():
                if event.HasField("checkpoint") and event.checkpoint.checkpoint_id not in seen:
                    seen.add(event.checkpoint.checkpoint_id)
                    asked.put_nowait(event.checkpoint.checkpoint_id)

    async with asyncio.TaskGroup() as watches:
        tasks = [watches.create_task(watch(replica)) for replica in replicas]
        try:
            yield asked
        finally:
            for task in tasks:
                task.cancel()


async def held_up(ledger: Ledger, calls: int = 1) -> None:
    """Wait until that many calls wait at the gate."""
    await eventually(lambda: ledger.waiting == calls)
