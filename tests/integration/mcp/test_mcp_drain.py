"""What clients of MCP see of a gateway that ends or has too much to do, and what it costs whoever has none (MCP-1)."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from interlock_gateway.config import LimitsConfig
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_bench import McpBench, mcp_bench, socket_transport, text_of
from mcp_types import EmptyResult, Request
from served_gateway import holding, served
from waiting import eventually
from working_tools import PATIENCE_S, Work


@pytest.mark.req("MCP-1", "REL-9")
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_a_call_under_way_is_answered_before_the_gateway_ends(socket_directory: Path, mode: str) -> None:
    more = {
        "identity": {"anonymous_agents_on_loopback": True},
        "mcp": {"listen": ["unix:{state}/mcp.sock", "127.0.0.1:0"]},
    }
    async with holding(socket_directory) as held, served(socket_directory, more=more) as gateway:
        socket, address = gateway.mcp
        ways = (streamable_http_client(f"http://{address}/mcp"), socket_transport(socket.removeprefix("unix:")))
        other = Client(socket_transport(socket.removeprefix("unix:")), mode=mode)
        async with Client(ways[0], mode=mode) as web, Client(ways[1], mode=mode) as local, other:
            for client in (web, local):
                await client.list_tools()  # what the SDK's client holds results against, and would ask for after one
            calls = [asyncio.create_task(web.call_tool("hold", {"value": "web"}))]
            await held.has_begun("web")
            calls += [asyncio.create_task(local.call_tool("hold", {"value": "local"}))]
            await held.has_begun("local")
            ending = asyncio.create_task(gateway.ended_by(signal.SIGTERM))
            await refused_for_draining(other)
            held.released.set()
            assert [text_of(await call) for call in calls] == ["held web", "held local"]
        assert await ending == 0


async def refused_for_draining(client: Client) -> None:
    """Ask until no call is begun any more."""
    while True:
        try:
            await client.call_tool("append", {"value": "x"})
        except MCPError as error:
            assert error.error.data["reason"] == "DRAINING"  # noqa: PT017 - whether it is raised is a matter of time
            return


@pytest.mark.req("MCP-1")
async def test_more_than_there_is_room_for_is_refused_with_when_to_come_again(socket_directory: Path) -> None:
    work = Work()
    limits = LimitsConfig(max_calls_in_flight=1)
    async with mcp_bench(socket_directory, tools=work.tools, limits=limits) as at, at.over_socket() as client:
        waiting = asyncio.create_task(client.call_tool("wait", {}))
        await asyncio.wait_for(work.begun.wait(), PATIENCE_S)
        with pytest.raises(MCPError) as refused:
            await client.call_tool("echo", {"text": "x"})
        work.released.set()
        assert text_of(await waiting) == "done"
    assert refused.value.error.data["reason"] == "OVERLOADED"
    assert refused.value.error.data["retry_after_s"] > 0


@pytest.mark.req("MCP-1")
async def test_requests_over_mcp_are_counted_by_method(at: McpBench) -> None:
    async with at.over_http() as client:
        await client.call_tool("echo", {"text": "x"})
        with pytest.raises(MCPError):
            await client.session.send_request(Request(method="made/up", params={}), EmptyResult)
    ended = at.at.gateway.requests.ended
    assert ended["mcp/tools/call", "OK"] == 1
    assert ended["mcp/other", "INVALID_ARGUMENT"] == 1
    assert {method for method, _ in ended if "made" in method} == set()


@pytest.mark.req("REL-7")
def test_nothing_of_mcps_sdk_is_loaded_with_the_gateway() -> None:
    asked = "import sys, interlock_gateway.cli.serve; print([name for name in sys.modules if name.startswith('mcp')])"
    said = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


@pytest.mark.req("OBS-1", "MCP-1")
async def test_sessions_of_mcp_are_shown(at: McpBench) -> None:
    def shown(transport: str) -> float | None:
        registry = at.at.gateway.rooms.metrics.registry
        return registry.get_sample_value("interlock_mcp_sessions", {"transport": transport})

    assert (shown("socket"), shown("http")) == (0, 0)
    async with at.over_http(), at.over_socket(), at.over_socket("2026-07-28"):
        await eventually(lambda: (shown("socket"), shown("http")) == (2, 1))
    await eventually(lambda: (shown("socket"), shown("http")) == (0, 0))
