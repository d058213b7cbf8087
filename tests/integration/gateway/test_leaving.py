"""How a gateway says that it is about to end, and what is served where only health is told (REL-9)."""

import asyncio
import signal
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from gateway_bench import bench
from grpc_health.v1 import health_pb2, health_pb2_grpc
from interlock.provider import ToolResult, tool
from interlock.v1 import call_pb2, gateway_service_pb2, gateway_service_pb2_grpc
from interlock_gateway.config import Front, ServerConfig
from interlock_gateway.http2.status import Status
from interlock_gateway.transport.grpc import listening as grpc_listening
from interlock_gateway.transport.http2 import listener as http2_listener
from raw_wire import message, wired
from served_gateway import holding, served
from waiting import a_moment, eventually

Says = health_pb2.HealthCheckResponse


async def told(health: health_pb2_grpc.HealthStub, service: str = "") -> int:
    answer = await health.Check(health_pb2.HealthCheckRequest(service=service), timeout=10)
    return int(answer.status)


@pytest.mark.parametrize("front", Front)
async def test_the_address_for_health_tells_health_and_serves_nothing_else(
    socket_directory: Path, front: Front
) -> None:
    server = ServerConfig(listen=("unix:{state}/agent.sock",), front=front, health_listen="127.0.0.1:0", drain_s=5.0)
    async with (
        bench(socket_directory, server=server) as at,
        grpc.aio.insecure_channel(at.gateway.endpoints.health) as channel,
    ):
        health = health_pb2_grpc.HealthStub(channel)
        for service in ("", "interlock.v1.GatewayService", "live"):
            assert await told(health, service) == Says.SERVING
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await gateway_service_pb2_grpc.GatewayServiceStub(channel).CallTool(
                gateway_service_pb2.CallToolRequest(), timeout=10
            )
        assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
        described: Any = channel.unary_unary("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo")
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await described(b"", timeout=10)
        assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
        at.gateway.leave()
        assert await told(health) == Says.NOT_SERVING
        assert await told(health, "live") == Says.SERVING


@pytest.mark.req("REL-9")
async def test_calls_are_served_after_a_sigterm_until_balancers_have_noticed(socket_directory: Path) -> None:
    more = {
        "server": {
            "listen": ["unix:{state}/agent.sock"],
            "health_listen": "127.0.0.1:0",
            "drain_delay_s": 600,
            "drain_s": 10,
        }
    }
    async with holding(socket_directory) as held, served(socket_directory, more=more) as gateway:
        async with grpc.aio.insecure_channel(gateway.health) as channel:
            health = health_pb2_grpc.HealthStub(channel)
            watching = health.Watch(health_pb2.HealthCheckRequest())
            assert (await watching.read()).status == Says.SERVING
            gateway.process.send_signal(signal.SIGTERM)
            assert (await watching.read()).status == Says.NOT_SERVING
            assert (await gateway.agent.session("s").call("append", {"value": "late"})).text == "appended late"
            assert await told(health, "live") == Says.SERVING
        assert await gateway.ended_by(signal.SIGTERM) == 0
    assert held.ran == ["late"]


@pytest.mark.req("REL-9")
async def test_who_is_slow_to_take_a_large_answer_gets_all_of_it(
    socket_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http2_listener, "LAST_WORDS_S", 0.0)
    monkeypatch.setattr(grpc_listening, "LAST_WORDS_S", 0.0)
    much = "x" * 3_000_000

    @tool(read_only=True)
    def look() -> ToolResult:
        """Give more than a client takes that does not read."""
        return ToolResult(content="much", details={"much": much})

    server = ServerConfig(listen=("unix:{state}/agent.sock",), drain_s=30.0)
    asked = gateway_service_pb2.CallToolRequest(call=call_pb2.ToolCall(session_id="s", tool="look", input=b"{}"))
    async with (
        bench(socket_directory, tools=lambda _: [look], server=server) as at,
        wired(at.gateway.endpoints.agents[0]) as wire,
    ):
        stream_id = wire.begin()
        wire.http2.send_data(stream_id, message(asked.SerializeToString()), end_stream=True)
        wire.flush()
        await eventually(lambda: at.gateway.requests.ended["GatewayService/CallTool", "OK"] == 1)
        draining = asyncio.create_task(at.gateway.drain())
        for _ in range(5):
            await a_moment()
        assert not draining.done()
        answer = await wire.answered(stream_id)
        assert answer.status == Status.OK
        assert len(answer.data) > len(much)
        await draining
