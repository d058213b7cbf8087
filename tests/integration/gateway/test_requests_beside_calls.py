"""Requests that are no calls: one agent cannot have all that are answered at once (REL-8)."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import grpc.aio
import pytest
from asked_people import person
from gateway_bench import bench
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status
from grpc_health.v1 import health_pb2, health_pb2_grpc
from interlock import Gateway as Client
from interlock.v1 import call_pb2, gateway_service_pb2_grpc
from interlock.v1 import gateway_service_pb2 as pb
from interlock_gateway.config import Front, IdentityConfig, LimitsConfig, ServerConfig
from interlock_gateway.serving import Gateway
from interlock_gateway.transport.grpc.beside_calls import Kind
from waiting import eventually

WAITING = pb.WaitCallRequest(session_id="s", call_id="c")


@pytest.fixture(params=Front)
async def gateway(request: pytest.FixtureRequest, socket_directory: Path) -> AsyncIterator[Gateway]:
    """A gateway with each of the fronts, where five requests may wait."""
    server = ServerConfig(listen=("unix:{state}/agent.sock", "127.0.0.1:0"), front=request.param, drain_s=5.0)
    identity = IdentityConfig(anonymous_agents_on_loopback=True)
    limits = LimitsConfig(max_waiting_calls=5, max_requests=5)
    async with bench(socket_directory, server=server, identity=identity, limits=limits) as at:
        yield at.gateway


@pytest.mark.req("REL-8")
async def test_an_agent_whose_requests_take_all_places_is_told_when_to_come_again(gateway: Gateway) -> None:
    places = gateway.requests.beside
    assert places is not None
    waiting = places[Kind.WAITING]
    mine, theirs = gateway.endpoints.agents
    async with grpc.aio.insecure_channel(mine) as channel, person(gateway) as bob:
        stub = gateway_service_pb2_grpc.GatewayServiceStub(channel)
        async with Client(mine, timeout=30, patience=0) as agent:
            await agent.session("s").call("wreck", {"what": "it"}, call_id="c", checkpoint_mode="detach")
        waits = [asyncio.ensure_future(stub.WaitCall(WAITING, timeout=30)) for _ in range(4)]
        await eventually(lambda: waiting.taken == 4)
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await stub.WaitCall(WAITING, timeout=30)
        assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert told(refused.value) == ("OVERLOADED", True)
        health = health_pb2_grpc.HealthStub(channel)
        answer = await health.Check(health_pb2.HealthCheckRequest(), timeout=30)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
        await waits_a_moment(theirs)
        await bob.approves_the_next()
        assert all(wait.call.call_id == "c" for wait in await asyncio.gather(*waits))
    assert waiting.taken == 0
    assert places.refusals.counts[Kind.WAITING] == 1


async def waits_a_moment(address: str) -> None:
    """An agent at `address` asks about a call of its own, and is answered."""
    async with Client(address, timeout=30, patience=0) as agent:
        await agent.session("t").call("wreck", {"what": "that"}, call_id="c", checkpoint_mode="detach")
    async with grpc.aio.insecure_channel(address) as channel:
        stub = gateway_service_pb2_grpc.GatewayServiceStub(channel)
        waiting = pb.WaitCallRequest(session_id="t", call_id="c", timeout=Duration(nanos=1_000_000))
        answer = await stub.WaitCall(waiting, timeout=30)
    assert answer.call.state == call_pb2.CALL_STATE_AWAITING_CHECKPOINT


def told(error: grpc.aio.AioRpcError) -> tuple[str, bool]:
    """The reason, and whether there is a time to wait."""
    (raw,) = [value for key, value in error.trailing_metadata() if key == "grpc-status-details-bin"]
    info, retry = ErrorInfo(), RetryInfo()
    for detail in Status.FromString(raw).details:
        detail.Unpack(info)
        detail.Unpack(retry)
    return info.reason, retry.retry_delay.ToNanoseconds() > 0
