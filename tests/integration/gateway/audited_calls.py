"""A gateway whose log is verified and read once it is closed, and tools that are slow enough to hang up on."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gateway_bench import Bench, Ledger, bench, ledger_tools
from interlock.provider import Tool, tool
from interlock.v1 import gateway_service_pb2 as pb
from interlock.v1 import gateway_service_pb2_grpc as rpc
from interlock_gateway.audit.read import StoredRecord, read_records
from interlock_gateway.audit.verify import LogEnd, verify
from waiting import eventually


@dataclass
class Slow:
    """What the slow tools are doing."""

    started: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> str:
        self.started.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.set()
        return "never"


def tools_of(ledger: Ledger, slow: Slow) -> list[Tool[..., Any]]:
    @tool(destructive=False)
    def crash() -> str:
        """Break."""
        raise RuntimeError("internals")

    @tool(destructive=False)
    async def slow_change() -> str:
        """Change slowly."""
        return await slow.run()

    @tool(read_only=True)
    async def slow_read() -> str:
        """Read slowly."""
        return await slow.run()

    @tool(destructive=True)
    async def slow_preview() -> str:
        """Preview slowly."""
        return "never"

    @slow_preview.dry_run
    async def would() -> str:
        return await slow.run()

    return [*ledger_tools(ledger), crash, slow_change, slow_read, slow_preview]


@dataclass
class Audited:
    """A gateway, and after it was closed what its log holds."""

    at: Bench
    slow: Slow
    records: list[StoredRecord] = field(default_factory=list)

    def of(self, call_id: str, kind: str = "receipt") -> dict[str, Any]:
        """The one record of that kind of a call."""
        (found,) = (one.record for one in self.records if one.record.get("call_id") == call_id and one.kind == kind)
        return dict(found)

    def counted(self, kind: str) -> Counter[str]:
        return Counter(str(one.record["call_id"]) for one in self.records if one.kind == kind)


@asynccontextmanager
async def audited(directory: Path) -> AsyncIterator[Audited]:
    """A gateway whose log is verified, with the public key alone, and read once it is closed."""
    slow = Slow()
    async with bench(directory, tools=lambda ledger: tools_of(ledger, slow)) as at:
        result = Audited(at, slow)
        yield result
        await eventually(at.gateway.idle)
    state = directory / "state"
    report = verify(state / "audit", (state / "audit-key.pem.pub").read_bytes())
    assert (report.problem, report.end, report.uncovered) == ("", LogEnd.CLOSED, 0)
    result.records = list(read_records(state / "audit"))


def receipts_in(directory: Path) -> dict[str, dict[str, Any]]:
    """The receipts that a gateway which has ended left in `directory`, by the call's id."""
    records = read_records(directory / "state" / "audit")
    return {str(one.record["call_id"]): dict(one.record) for one in records if one.kind == "receipt"}


async def cancelled(found: Audited, name: str, call_id: str, where: str = "s") -> None:
    """Begin a call of a slow tool, and hang up once it is at the provider."""
    found.slow.started.clear()
    found.slow.ended.clear()
    calling = asyncio.create_task(found.at.agent.session(where).call(name, {}, call_id=call_id, timeout=30))
    await asyncio.wait_for(found.slow.started.wait(), 30)
    calling.cancel()
    await asyncio.gather(calling, return_exceptions=True)
    await asyncio.wait_for(found.slow.ended.wait(), 30)


async def malformed(at: Bench, call_id: str) -> None:
    async with at.agent.connection.open_async() as channel:
        request = pb.CallToolRequest()
        request.call.session_id, request.call.call_id = "s", call_id
        request.call.tool, request.call.input = "echo", b'{"text":'
        await rpc.GatewayServiceStub(channel).CallTool(request, timeout=10)
