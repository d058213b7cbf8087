"""What operators are told of providers besides their tools: how many calls they run, and when they are tried again."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from answering_tools import Answers, answering
from attaching import agents
from gateway_bench import Bench, Ledger, bench
from interlock.provider import Tool, ToolServer, attach_tools, tool
from interlock.v1 import registry_pb2
from interlock_gateway.config import ProviderConfig
from interlock_gateway.config_attached import AttachedConfig, AttachedProviderConfig
from raw_provider import operating
from waiting import eventually_so

BELIEVED = AttachedConfig(providers=(AttachedProviderConfig(principal="alice", trust="declared"),))


class Gate:
    """A tool that waits until it is let go on."""

    def __init__(self) -> None:
        self.inside = asyncio.Semaphore(0)
        self.open = asyncio.Event()

    def tools(self, _ledger: Ledger | None = None) -> list[Tool[..., Any]]:
        """The tool."""

        @tool(read_only=True, concurrency_safe=True)
        async def hold() -> str:
            """Wait."""
            self.inside.release()
            await self.open.wait()
            return "held"

        return [hold]


async def told_of(at: Bench, name: str) -> registry_pb2.ProviderInfo:
    async with operating(at) as admin:
        return next(one for one in await admin.providers() if one.name == name)


@asynccontextmanager
async def holding(gate: Gate, agent: Any) -> AsyncIterator[None]:
    """While two calls are at the provider."""
    calls = [asyncio.create_task(agent.session("s").call("hold", {})) for _ in range(2)]
    for _ in calls:
        await asyncio.wait_for(gate.inside.acquire(), 20)
    yield
    gate.open.set()
    assert [result.text for result in await asyncio.gather(*calls)] == ["held", "held"]


@pytest.mark.req("TOOL-4")
async def test_the_calls_that_a_provider_is_running_are_counted(socket_directory: Path) -> None:
    gate = Gate()
    async with bench(socket_directory, tools=gate.tools) as at:
        assert (await told_of(at, "ledger")).calls_in_flight == 0
        async with holding(gate, at.agent):
            assert (await told_of(at, "ledger")).calls_in_flight == 2
        assert (await told_of(at, "ledger")).calls_in_flight == 0


@pytest.mark.req("TOOL-4", "SDK-1")
async def test_so_are_those_of_a_provider_that_is_attached(socket_directory: Path) -> None:
    gate = Gate()
    async with (
        agents(socket_directory, attached=BELIEVED) as at,
        at.client("alice") as alice,
        attach_tools(gate.tools(), at.address, token=at.tokens["alice"]) as attached,
    ):
        async with holding(gate, alice):
            assert (await told_of(at.bench, attached.provider)).calls_in_flight == 2
        info = await told_of(at.bench, attached.provider)
        assert (info.calls_in_flight, info.HasField("retry_after")) == (0, False)


@pytest.mark.req("TOOL-4", "REL-4")
async def test_of_a_provider_that_is_not_there_it_is_told_when_it_is_tried_again(socket_directory: Path) -> None:
    more = (ProviderConfig(name="raw", address=f"unix:{socket_directory}/raw.sock"),)
    async with bench(socket_directory, providers=more) as at:

        async def waits() -> bool:
            info = await told_of(at, "raw")
            assert info.HasField("retry_after")
            return 0.2 < info.retry_after.ToTimedelta().total_seconds() <= 10.0

        await eventually_so(waits)
        assert (await told_of(at, "raw")).state == registry_pb2.PROVIDER_STATE_UNREACHABLE
        async with ToolServer(Gate().tools(), f"unix:{socket_directory}/raw.sock", name="raw"):

            async def is_back() -> bool:
                return (await told_of(at, "raw")).state == registry_pb2.PROVIDER_STATE_READY

            await eventually_so(is_back)
            assert not (await told_of(at, "raw")).HasField("retry_after")


@pytest.mark.req("ART-1")
async def test_an_artifact_says_when_it_was_stored_first(socket_directory: Path) -> None:
    async with bench(socket_directory, tools=lambda _: answering(Answers())) as at:
        began = time.time()
        session = at.agent.session("s")
        artifact = (await session.call("head", {})).artifact
        assert artifact is not None
        assert artifact.created_at is not None
        assert began - 0.001 <= artifact.created_at.timestamp() <= time.time()
        at.clock.ahead_s = 100.0
        assert (await session.call("head", {})).artifact == artifact
        assert (await session.stat_artifact(artifact.uri)).created_at == artifact.created_at
