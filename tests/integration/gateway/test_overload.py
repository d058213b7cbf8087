"""More calls than can be served: some are refused and never run, and whoever goes before them goes on (REL-8)."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import grpc.aio
import pytest
from asked_people import person
from gateway_bench import Bench, bench
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status
from grpc_health.v1 import health_pb2, health_pb2_grpc
from interlock import Gateway as Client
from interlock.admin import Approvals
from interlock.errors import RequestError
from interlock.v1 import call_pb2, gateway_service_pb2, gateway_service_pb2_grpc
from interlock_gateway.config import Front, IdentityConfig, LimitsConfig, ServerConfig
from interlock_gateway.sessions import gate as gate_module
from waiting import eventually

CALLS = 150


@pytest.fixture(params=Front)
async def at(request: pytest.FixtureRequest, socket_directory: Path) -> AsyncIterator[Bench]:
    """A gateway with each of the fronts."""
    server = ServerConfig(listen=("unix:{state}/agent.sock",), front=request.param, drain_s=5.0)
    async with bench(socket_directory, server=server) as made:
        yield made


def call_of(number: int) -> gateway_service_pb2.CallToolRequest:
    call = call_pb2.ToolCall(session_id=f"s{number % 10}", call_id=f"c{number}", tool="echo")
    call.input = f'{{"text":"{number}"}}'.encode()
    return gateway_service_pb2.CallToolRequest(call=call)


def told(error: grpc.aio.AioRpcError) -> tuple[str, float]:
    """The reason, and how many seconds to wait."""
    (raw,) = [value for key, value in error.trailing_metadata() if key == "grpc-status-details-bin"]
    reason, retry_s = "", 0.0
    for detail in Status.FromString(raw).details:
        info, retry = ErrorInfo(), RetryInfo()
        if detail.Unpack(info):
            reason = info.reason
        elif detail.Unpack(retry):
            retry_s = retry.retry_delay.ToNanoseconds() / 1e9
    return reason, retry_s


@pytest.mark.req("REL-8")
async def test_who_is_refused_is_told_when_to_come_again_and_leaves_no_trace(
    at: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate_module, "BURST_S", 0.03)
    gate = at.gateway.rooms.pipeline.gate
    policy_keeps_waiting = asyncio.Event()
    gate.delay_s = lambda: 0.0 if policy_keeps_waiting.is_set() else 1.0
    async with grpc.aio.insecure_channel(at.gateway.endpoints.agents[0]) as channel:
        stub = gateway_service_pb2_grpc.GatewayServiceStub(channel)

        async def made(number: int) -> grpc.aio.AioRpcError | None:
            try:
                await stub.CallTool(call_of(number), timeout=60)
            except grpc.aio.AioRpcError as error:
                return error
            return None

        calls = [asyncio.create_task(made(number)) for number in range(CALLS // 2)]
        while gate.waiting < 20:
            await asyncio.wait(calls, timeout=0.01)
        calls += [asyncio.create_task(made(number)) for number in range(CALLS // 2, CALLS)]
        while gate.refusals.total == 0:
            await asyncio.wait(calls, timeout=0.01)
        health = health_pb2_grpc.HealthStub(channel)
        answer = await health.Check(health_pb2.HealthCheckRequest(), timeout=30)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
        async with Client(at.gateway.endpoints.operators[0], timeout=30) as operator:
            assert await Approvals(operator).checkpoints() == []
        resolving = gateway_service_pb2.ResolveRequest(session_id="s0", action="RESOLVE_ACTION_APPLY", reason="nothing")
        assert (await stub.Resolve(resolving, timeout=30)).result.is_error
        policy_keeps_waiting.set()
        ended = await asyncio.gather(*calls)
        refused = {number: error for number, error in enumerate(ended) if error is not None}
        assert refused
        assert {error.code() for error in refused.values()} == {grpc.StatusCode.RESOURCE_EXHAUSTED}
        assert {told(error)[0] for error in refused.values()} == {"OVERLOADED"}
        assert all(told(error)[1] > 0 for error in refused.values())
        served = {str(number) for number in range(CALLS)} - {str(number) for number in refused}
        assert sorted(text for _, text in at.ledger.ran) == sorted(served)
        # The call id of a refused call is free: asked again, with another input even, it runs.
        again = call_of(min(refused))
        again.call.input = b'{"text":"again"}'
        assert (await stub.CallTool(again, timeout=60)).result.content[0].text.text == "again"
    assert at.gateway.rooms.pipeline.in_flight == 0


@pytest.mark.req("REL-8")
async def test_the_client_comes_again_after_the_time_it_was_told(at: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_module, "BURST_S", 0.0)
    monkeypatch.setattr(gate_module, "TARGET_S", 0.0)
    gate = at.gateway.rooms.pipeline.gate
    session = at.agent.session("s")
    await session.call("echo", {"text": "before"})
    kept_waiting = asyncio.Event()
    gate.delay_s = lambda: 0.0 if kept_waiting.is_set() else 1.0
    calls = [asyncio.create_task(session.call("echo", {"text": str(number)})) for number in range(20)]
    while gate.waiting == 0:
        await asyncio.wait(calls, timeout=0.01)
    calls += [asyncio.create_task(session.call("echo", {"text": str(number)})) for number in range(20, 40)]
    while gate.refusals.total == 0:
        await asyncio.wait(calls, timeout=0.01)
    kept_waiting.set()
    monkeypatch.setattr(gate_module, "BURST_S", 5.0)
    monkeypatch.setattr(gate_module, "TARGET_S", 5.0)
    assert [result.text for result in await asyncio.gather(*calls)] == [str(number) for number in range(40)]
    assert len(at.ledger.ran) == 41


@pytest.mark.req("REL-8", "CHK-4")
async def test_one_agent_does_not_hold_open_all_calls_that_may_be(socket_directory: Path) -> None:
    server = ServerConfig(listen=("unix:{state}/agent.sock", "127.0.0.1:0"), drain_s=5.0)
    identity = IdentityConfig(anonymous_agents_on_loopback=True)
    limits = LimitsConfig(max_waiting_calls=5)
    async with (
        bench(socket_directory, server=server, identity=identity, limits=limits) as at,
        person(at.gateway) as bob,
    ):
        held = at.gateway.rooms.pipeline.held
        mine = at.agent.session("mine")
        calls = [asyncio.create_task(mine.call("wreck", {"what": str(number)})) for number in range(4)]
        asked = [await bob.asked() for _ in calls]
        await eventually(lambda: len(held) == 4)
        with pytest.raises(RequestError):
            await mine.call("wreck", {"what": "too much"}, timeout=2)
        async with Client(at.gateway.endpoints.agents[1], timeout=30, patience=0) as another:
            calls.append(asyncio.create_task(another.session("theirs").call("wreck", {"what": "theirs"})))
            asked.append(await bob.asked())
            for checkpoint in asked:
                await bob.approves(checkpoint)
            assert {(await call).text for call in calls} == {"gone"}
    assert len(held) == 0
