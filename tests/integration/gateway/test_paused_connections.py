"""What is refused a lot is read every now and then: who is, who is not, and what goes on meanwhile (REL-8)."""

import asyncio
from base64 import b64decode
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import grpc
import pytest
from gateway_bench import Bench, Ledger, bench, ledger_tools
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status as Details
from grpc_health.v1 import health_pb2
from interlock import Gateway as Client
from interlock.admin import Approvals
from interlock.provider import Tool, tool
from interlock.v1 import call_pb2, gateway_service_pb2, gateway_service_pb2_grpc
from interlock_gateway.config import IdentityConfig, TokenConfig
from interlock_gateway.http2.status import Status
from interlock_gateway.identity.authenticate import new_token
from interlock_gateway.sessions import gate as gate_module
from interlock_gateway.sessions import pauses as pauses_module
from interlock_gateway.sessions.gate import Gate
from interlock_gateway.transport.http2.alike import Alike
from ngh2 import ErrorCode
from raw_wire import Answered, Wire, message, wired
from waiting import eventually

HEALTH = b"/grpc.health.v1.Health/Check"
WATCH = b"/grpc.health.v1.Health/Watch"
LONG_S = 3600.0
PATIENCE_S = 20.0
AGENT = IdentityConfig().unix_agent


def call(tool_name: str = "echo", text: str = "x") -> bytes:
    made = call_pb2.ToolCall(session_id="s", tool=tool_name)
    made.input = b'{"text":"%b"}' % text.encode() if tool_name == "echo" else b"{}"
    return message(gateway_service_pb2.CallToolRequest(call=made).SerializeToString())


class Lingering:
    """A tool that lasts until it is cancelled."""

    def __init__(self) -> None:
        self.begun, self.cancelled = asyncio.Event(), asyncio.Event()

    def tools(self, ledger: Ledger) -> list[Tool[..., Any]]:
        @tool(read_only=True, concurrency_safe=True)
        async def linger() -> str:
            """Last."""
            self.begun.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
            return ""

        return [*ledger_tools(ledger), linger]


@pytest.fixture
def lingering() -> Lingering:
    return Lingering()


@pytest.fixture
async def at(socket_directory: Path, lingering: Lingering) -> AsyncIterator[Bench]:
    async with bench(socket_directory, tools=lingering.tools) as made:
        yield made


class Crowd:
    """Calls that wait, so that others are refused, until it goes."""

    def __init__(self, at: Bench) -> None:
        self.gate: Gate = at.gateway.rooms.pipeline.gate
        self.gate.delay_s = lambda: 1.0

    def comes(self, principal: str = AGENT, count: int = 1) -> None:
        while self.gate.begin(principal) is None:
            pass
        for _ in range(count - 1):
            self.gate.begin(principal)

    async def goes(self) -> None:
        self.gate.delay_s = lambda: 0.0
        # While any of them waits yet, who comes would have to wait, and is refused.
        await eventually(lambda: self.gate.waiting == 0)


@pytest.fixture
def crowd(at: Bench, monkeypatch: pytest.MonkeyPatch) -> Crowd:
    """Whoever comes when there is anybody is refused, and paused until the end of the test or of the crowd."""
    monkeypatch.setattr(gate_module, "TARGET_S", 0.0)
    monkeypatch.setattr(gate_module, "BURST_S", 0.0)
    monkeypatch.setattr(pauses_module, "PAUSE_S", LONG_S)
    return Crowd(at)


def retry_s(answer: Answered) -> float:
    raw = answer.fields[b"grpc-status-details-bin"]

    for detail in Details.FromString(b64decode(raw + b"=" * (-len(raw) % 4))).details:
        retry = RetryInfo()
        if detail.Unpack(retry):
            return float(retry.retry_delay.ToNanoseconds()) / 1e9
    return 0.0


async def refused(wire: Wire) -> None:
    answer = await wire.ask(call())
    assert answer.status == Status.RESOURCE_EXHAUSTED
    assert retry_s(answer) > 0


@pytest.mark.req("REL-8")
async def test_a_connection_on_which_a_call_was_refused_is_read_again_when_others_are_served(
    at: Bench, crowd: Crowd
) -> None:
    async with wired(at.gateway.endpoints.agents[0]) as wire:
        assert (await wire.ask(call())).status == Status.OK
        crowd.comes()
        await refused(wire)
        assert len(crowd.gate.pauses) == 1
        await crowd.goes()
        assert (await wire.ask(call(text="after"))).status == Status.OK
        assert len(crowd.gate.pauses) == 0
    assert at.ledger.ran == [("echo", "x"), ("echo", "after")]


@pytest.mark.req("REL-8")
async def test_it_is_read_again_after_a_moment_while_others_wait_on(
    at: Bench, crowd: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pauses_module, "PAUSE_S", 0.001)
    async with wired(at.gateway.endpoints.agents[0]) as wire:
        crowd.comes()
        for _ in range(20):
            await refused(wire)
    assert at.ledger.ran == []


@pytest.mark.req("REL-8")
async def test_whose_calls_wait_longer_than_a_pause_is_read_every_now_and_then_though_nobody_is_refused(
    at: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pauses_module, "PAUSE_S", LONG_S)
    monkeypatch.setattr(gate_module, "BURST_S", LONG_S)
    crowd = Crowd(at)
    async with wired(at.gateway.endpoints.agents[0]) as wire:
        assert (await wire.ask(call())).status == Status.OK
        crowd.comes(count=500)
        waiting = wire.begin()
        wire.http2.send_data(waiting, call(text="waits"), end_stream=True)
        wire.flush()
        await eventually(lambda: len(crowd.gate.pauses) == 1)
        assert crowd.gate.refusals.total == 0
        await crowd.goes()
        assert (await wire.answered(waiting)).status == Status.OK
        assert len(crowd.gate.pauses) == 0
    assert at.ledger.ran == [("echo", "x"), ("echo", "waits")]


@pytest.mark.req("REL-8", "REL-9")
async def test_on_a_paused_connection_a_cancellation_reaches_the_provider(
    at: Bench, crowd: Crowd, lingering: Lingering, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pauses_module, "PAUSE_S", 0.02)
    async with wired(at.gateway.endpoints.agents[0]) as wire:
        lasting = wire.begin()
        wire.http2.send_data(lasting, call("linger"), end_stream=True)
        wire.flush()
        await asyncio.wait_for(lingering.begun.wait(), PATIENCE_S)
        crowd.comes()
        await refused(wire)
        assert len(crowd.gate.pauses) == 1
        wire.http2.reset_stream(lasting, ErrorCode.CANCEL)
        wire.flush()
        await asyncio.wait_for(lingering.cancelled.wait(), PATIENCE_S)


@pytest.mark.req("REL-8")
async def test_a_paused_client_that_goes_leaves_nothing_behind(
    at: Bench, crowd: Crowd, lingering: Lingering, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pauses_module, "PAUSE_S", 0.02)
    async with wired(at.gateway.endpoints.agents[0]) as wire:
        lasting = wire.begin()
        wire.http2.send_data(lasting, call("linger"), end_stream=True)
        wire.flush()
        await asyncio.wait_for(lingering.begun.wait(), PATIENCE_S)
        crowd.comes()
        await refused(wire)
    await asyncio.wait_for(lingering.cancelled.wait(), PATIENCE_S)
    assert len(crowd.gate.pauses) == 0
    assert at.gateway.rooms.pipeline.in_flight == 0


@pytest.mark.req("REL-8")
async def test_approvers_and_whoever_asks_for_health_are_read_as_ever(at: Bench, crowd: Crowd) -> None:
    agents = at.gateway.endpoints.agents[0]
    async with wired(agents) as wire, wired(agents) as prober, Client(at.gateway.endpoints.operators[0]) as operator:
        crowd.comes()
        await refused(wire)
        for _ in range(3):
            assert (await prober.ask(message(b""), path=HEALTH)).status == Status.OK
            assert await Approvals(operator).checkpoints() == []
        assert len(crowd.gate.pauses) == 1


@pytest.mark.req("REL-8")
async def test_a_connection_is_not_paused_on_which_something_is_under_way_that_is_no_call(
    at: Bench, crowd: Crowd
) -> None:
    async with wired(at.gateway.endpoints.agents[0]) as wire:
        watching = wire.begin(path=WATCH)
        wire.http2.send_data(watching, message(b""), end_stream=True)
        wire.flush()
        while not wire.answers[watching].data:
            await wire.read()
        crowd.comes()
        for _ in range(3):
            await refused(wire)
        assert len(crowd.gate.pauses) == 0


@pytest.mark.req("REL-8")
async def test_of_what_comes_together_calls_are_refused_and_everything_else_is_answered(
    at: Bench, crowd: Crowd
) -> None:
    async with wired(at.gateway.endpoints.agents[0]) as wire:
        crowd.comes()
        before = crowd.gate.refusals.total
        calls, others = [], []
        for number in range(24):
            calls.append(wire.begin(grpc_timeout=b"%dm" % (5000 + number)))
            wire.http2.send_data(calls[-1], call(), end_stream=number % 3 > 0)
            if number % 8 == 0:
                others.append(wire.begin(path=HEALTH))
                wire.http2.send_data(others[-1], message(b""), end_stream=True)
        wire.flush()
        for stream_id in calls:
            answer = await wire.answered(stream_id)
            assert answer.status == Status.RESOURCE_EXHAUSTED
            assert retry_s(answer) > 0
        serving = health_pb2.HealthCheckResponse(status=health_pb2.HealthCheckResponse.SERVING)
        for stream_id in others:
            answer = await wire.answered(stream_id)
            assert answer.data == message(serving.SerializeToString())
        assert crowd.gate.refusals.total - before == len(calls)
        await crowd.goes()
    assert at.ledger.ran == []


@pytest.mark.req("REL-8")
async def test_a_client_of_grpcio_is_refused_more_than_its_window_holds_and_served_after_it(
    at: Bench, crowd: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pauses_module, "PAUSE_S", 0.005)
    unseen, take_unseen = list[int](), Alike.take_unseen

    def noted(alike: Alike, stream_ids: Sequence[int]) -> None:
        unseen.extend(stream_ids)
        take_unseen(alike, stream_ids)

    monkeypatch.setattr(Alike, "take_unseen", noted)
    made = call_pb2.ToolCall(session_id="s", tool="echo", input=b'{"text":"%b"}' % (b"x" * 8000))
    large = gateway_service_pb2.CallToolRequest(call=made)
    async with grpc.aio.insecure_channel(at.gateway.endpoints.agents[0]) as channel:
        agent = gateway_service_pb2_grpc.GatewayServiceStub(channel)
        crowd.comes()
        for _ in range(6):
            calls = [agent.CallTool(large, timeout=PATIENCE_S + number % 7) for number in range(150)]
            for one in calls:
                assert await one.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
                details = dict(await one.trailing_metadata() or ())
                assert isinstance(details["grpc-status-details-bin"], bytes)
        assert len(unseen) > 150
        await crowd.goes()
        made.input = b'{"text":"after"}'
        answer = await agent.CallTool(gateway_service_pb2.CallToolRequest(call=made), timeout=PATIENCE_S)
        assert answer.result.status == 1
    assert at.ledger.ran == [("echo", "after")]


@pytest.mark.req("REL-8", "AUTH-1")
async def test_whoever_is_refused_has_nobody_else_refused_who_calls_on_the_same_connection(
    socket_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (token, digest), (other, other_digest) = new_token(), new_token()
    tokens = (TokenConfig(principal="greedy", sha256=digest), TokenConfig(principal="other", sha256=other_digest))
    monkeypatch.setattr(gate_module, "BURST_S", 0.0)
    async with (
        bench(socket_directory, identity=IdentityConfig(tokens=tokens)) as at,
        wired(at.gateway.endpoints.agents[1]) as wire,
    ):
        crowd = Crowd(at)
        crowd.comes("greedy", 500)
        asked: dict[bytes, list[int]] = {token.encode(): [], other.encode(): [], b"nobody": []}
        for number in range(12):
            given = list(asked)[number % 3]
            asked[given].append(wire.begin(authorization=b"Bearer " + given))
            wire.http2.send_data(asked[given][-1], call(text=given.decode()), end_stream=True)
        wire.flush()
        for stream_id in asked[token.encode()]:
            assert (await wire.answered(stream_id)).status == Status.RESOURCE_EXHAUSTED
        for stream_id in asked[b"nobody"]:
            assert (await wire.answered(stream_id)).status == Status.UNAUTHENTICATED
        await crowd.goes()
        for stream_id in asked[other.encode()]:
            assert (await wire.answered(stream_id)).status == Status.OK
        assert at.ledger.ran == [("echo", other)] * 4
