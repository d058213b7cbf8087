"""The SDK's attachments and the gateways that come and go before them (SDK-1, REL-9)."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from interlock.errors import GatewayUnavailableError
from interlock.provider import attach_tools, tool
from interlock.provider._attach import Attachment
from interlock.results import CallStatus
from served_gateway import PATIENCE_S, Served, served
from waiting import eventually, eventually_so

CONFIG: dict[str, Any] = {
    "providers": [],
    "identity": {"unix_agent": "alice"},
    "attached": {"providers": [{"principal": "alice", "trust": "declared"}]},
}


class Waiting:
    """A tool that waits until it is let go."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.released = asyncio.Event()

    def attached(self, directory: Path) -> Attachment:
        @tool(destructive=False, reversible=True)
        async def hold(value: str) -> str:
            self.begun.set()
            await self.released.wait()
            return f"held {value}"

        @tool(read_only=True)
        async def ping() -> str:
            return "pong"

        return attach_tools([hold, ping], f"unix:{directory}/state/agent.sock", name="own")


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as made:
        yield made


async def answers(gateway: Served) -> bool:
    try:
        return (await gateway.agent.session("again").call("ping", {})).text == "pong"
    except GatewayUnavailableError:  # channels to one address wait together before they connect again
        return False


@pytest.mark.req("SDK-1", "STATE-2")
async def test_tools_are_there_again_after_the_gateway_was_killed(
    socket_directory: Path, stack: AsyncExitStack
) -> None:
    waiting = Waiting()
    async with served(socket_directory, more=CONFIG) as first:
        await stack.enter_async_context(waiting.attached(socket_directory))
        assert await answers(first)
        call = asyncio.create_task(first.agent.session("s").call("hold", {"value": "a"}, call_id="c1"))
        await asyncio.wait_for(waiting.begun.wait(), PATIENCE_S)
        await first.ended_by(signal.SIGKILL)
        call.cancel()
    async with served(socket_directory, more=CONFIG) as second:
        await eventually_so(lambda: answers(second))
        told = await second.agent.session("s").call("hold", {"value": "a"}, call_id="c1")
        assert told.status is CallStatus.OUTCOME_UNKNOWN


@pytest.mark.req("SDK-1", "REL-9")
async def test_what_is_under_way_ends_before_a_gateway_does_and_the_next_has_the_tools(
    socket_directory: Path, stack: AsyncExitStack
) -> None:
    waiting = Waiting()
    async with served(socket_directory, more=CONFIG) as first:
        await stack.enter_async_context(waiting.attached(socket_directory))
        call = asyncio.create_task(first.agent.session("s").call("hold", {"value": "a"}))
        await asyncio.wait_for(waiting.begun.wait(), PATIENCE_S)
        first.process.send_signal(signal.SIGTERM)
        await eventually(lambda: "draining" in (socket_directory / "serve.log").read_text())
        waiting.released.set()
        assert (await call).text == "held a"
        assert await asyncio.wait_for(first.process.wait(), PATIENCE_S) == 0
    async with served(socket_directory, more=CONFIG) as second:
        await eventually_so(lambda: answers(second))
