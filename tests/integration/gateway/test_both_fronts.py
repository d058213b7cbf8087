"""The two fronts serve alike: the same calls, the same statuses with the same details, to every kind of client."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import grpc.aio
import pytest
from access_table import asked
from gateway_bench import Bench, bench
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from interlock.v1 import call_pb2, gateway_service_pb2, gateway_service_pb2_grpc
from interlock_gateway.config import Front, IdentityConfig, LimitsConfig, ServerConfig

CALL = "/interlock.v1.GatewayService/CallTool"


@pytest.fixture(params=Front)
async def at(request: pytest.FixtureRequest, socket_directory: Path) -> AsyncIterator[Bench]:
    """A gateway with each of the fronts, and TCP without tokens."""
    server = ServerConfig(listen=("unix:{state}/agent.sock", "127.0.0.1:0"), front=request.param, drain_s=5.0)
    identity = IdentityConfig(anonymous_agents_on_loopback=True)
    limits = LimitsConfig(max_input_bytes=100_000)
    async with bench(socket_directory, server=server, identity=identity, limits=limits) as made:
        yield made


@pytest.fixture(params=["unix", "tcp"])
def address(request: pytest.FixtureRequest, at: Bench) -> str:
    """Each way in."""
    sockets, tcp = at.gateway.endpoints.agents
    return {"unix": sockets, "tcp": tcp}[request.param]


def echo(text: str) -> gateway_service_pb2.CallToolRequest:
    given = f'{{"text":"{text}"}}'.encode()
    return gateway_service_pb2.CallToolRequest(call=call_pb2.ToolCall(session_id="s", tool="echo", input=given))


async def test_a_call_of_a_client_on_asyncio_is_answered(at: Bench, address: str) -> None:
    async with grpc.aio.insecure_channel(address) as channel:
        stub = gateway_service_pb2_grpc.GatewayServiceStub(channel)
        texts = [f"{n}" * 3000 for n in range(8)]
        answers = await asyncio.gather(*(stub.CallTool(echo(text), timeout=20) for text in texts))
    assert [answer.result.content[0].text.text for answer in answers] == texts
    assert sorted(at.ledger.names()) == ["echo"] * 8


async def test_a_call_of_a_client_on_threads_is_answered(address: str) -> None:
    def call() -> str:
        with grpc.insecure_channel(address) as channel:
            stub = gateway_service_pb2_grpc.GatewayServiceStub(channel)
            events = list(stub.StreamTool(gateway_service_pb2.StreamToolRequest(call=echo("x").call), timeout=20))
            assert events[-1].WhichOneof("event") == "result"
            return str(stub.CallTool(echo("threads"), timeout=20).result.content[0].text.text)

    assert await asyncio.to_thread(call) == "threads"


@pytest.mark.req("SEC-7")
async def test_errors_have_the_same_details(at: Bench, address: str) -> None:
    refused = gateway_service_pb2.CallToolRequest(call=call_pb2.ToolCall(session_id="../x", tool="echo", input=b"{}"))
    async with grpc.aio.insecure_channel(address) as channel:
        invalid = await asked(channel, CALL, refused.SerializeToString())
        assert (invalid.code, invalid.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD")
        large = await asked(channel, CALL, echo("x" * 1_300_000).SerializeToString())
        assert (large.code, large.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_LARGE")
        unknown = await asked(channel, "/interlock.v1.GatewayService/Nothing", b"")
        assert unknown.code is grpc.StatusCode.UNIMPLEMENTED
    assert at.ledger.ran == []


async def test_health_is_told_and_watched(at: Bench, address: str) -> None:
    async with grpc.aio.insecure_channel(address) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        for service in ("", "interlock.v1.GatewayService"):
            answer = await stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=30)
            assert answer.status == health_pb2.HealthCheckResponse.SERVING
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.Check(health_pb2.HealthCheckRequest(service="no.such"), timeout=30)
        assert caught.value.code() is grpc.StatusCode.NOT_FOUND
        unknown = stub.Watch(health_pb2.HealthCheckRequest(service="no.such"))
        assert (await unknown.read()).status == health_pb2.HealthCheckResponse.SERVICE_UNKNOWN
        watching = stub.Watch(health_pb2.HealthCheckRequest())
        assert (await watching.read()).status == health_pb2.HealthCheckResponse.SERVING
        draining = asyncio.create_task(at.gateway.drain())
        assert (await watching.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING
        await draining


async def test_a_tool_can_ask_what_is_served(address: str) -> None:
    async with grpc.aio.insecure_channel(address) as channel:
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        asking = stub.ServerReflectionInfo()
        await asking.write(reflection_pb2.ServerReflectionRequest(list_services=""))
        listed = await asking.read()
        names = {service.name for service in listed.list_services_response.service}
        assert "interlock.v1.GatewayService" in names
        await asking.write(reflection_pb2.ServerReflectionRequest(file_containing_symbol="interlock.v1.GatewayService"))
        assert (await asking.read()).file_descriptor_response.file_descriptor_proto
        await asking.done_writing()
        assert await asking.read() == grpc.aio.EOF
        assert await asking.code() is grpc.StatusCode.OK
