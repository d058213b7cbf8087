"""Traces of calls that wait for people, come in batches or by another front, and what is no trace (OBS-2)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc.aio
import pytest
from asked_people import person
from gateway_bench import Bench, Ledger, bench, ledger_tools
from interlock.provider import Tool, ToolContext, tool
from interlock.tracing import trace_context
from interlock.v1 import call_pb2
from interlock.v1 import gateway_service_pb2 as pb
from interlock_gateway.config import Front, ServerConfig
from interlock_gateway.config_telemetry import TracingConfig
from otlp_collector import Collector, collecting
from waiting import eventually

FIRST = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
SECOND = "00-11111111111111111111111111111111-2222222222222222-01"


def listening(heard: list[str]) -> Any:
    """The ledger's tools, and one that tells its `traceparent`."""

    def tools(ledger: Ledger) -> list[Tool[..., Any]]:
        @tool(read_only=True, concurrency_safe=True)
        def listen(context: ToolContext) -> str:
            """Tell what it hears."""
            heard.append(context.traceparent)
            return ""

        return [listen, *ledger_tools(ledger)]

    return tools


@asynccontextmanager
async def traced(directory: Path, collector: Collector, **changes: Any) -> AsyncIterator[Bench]:
    tracing = TracingConfig(endpoint=collector.endpoint, delay_s=0.02)
    async with bench(directory, tracing=tracing, **changes) as at:
        yield at


@pytest.mark.req("OBS-2")
async def test_a_call_that_waited_goes_on_in_the_trace_of_who_asks_and_is_linked_to_how_it_began(
    socket_directory: Path,
) -> None:
    with collecting() as collector:
        async with traced(socket_directory, collector) as at, person(at.gateway) as bob:
            session = at.agent.session("s-1")
            with trace_context(FIRST):
                await session.call("wreck", {"what": "x"}, call_id="c-1", checkpoint_mode="detach")
            await bob.approves_the_next()
            with trace_context(SECOND):
                assert (await session.wait_call("c-1", timeout=20)).settled
            await eventually(lambda: len(collector.named("execute_tool wreck")) == 2)

    began, went_on = collector.named("execute_tool wreck")
    assert (began.trace_id, went_on.trace_id) == (FIRST[3:35], SECOND[3:35])
    assert began.attributes["interlock.outcome"] == "awaiting_checkpoint"
    assert "interlock.ask" in {span.name for span in collector.spans if span.parent_id == began.span_id}
    assert went_on.links == (began.span_id,)
    assert went_on.attributes["interlock.outcome"] == "completed"
    assert went_on.attributes["interlock.checkpoint.id"] == began.attributes["interlock.checkpoint.id"]
    assert went_on.attributes["interlock.checkpoint.wait_s"] >= 0


@pytest.mark.req("OBS-2")
async def test_a_call_that_is_held_open_stays_in_its_callers_trace(socket_directory: Path) -> None:
    with collecting() as collector:
        async with traced(socket_directory, collector) as at, person(at.gateway) as bob:
            with trace_context(FIRST):
                call = asyncio.create_task(at.agent.session("s-1").call("wreck", {"what": "x"}))
            await bob.approves_the_next()
            assert (await call).completed
            await eventually(lambda: len(collector.named("execute_tool wreck")) == 2)
    began, went_on = collector.named("execute_tool wreck")
    assert {began.trace_id, went_on.trace_id} == {FIRST[3:35]}
    assert {began.parent_id, went_on.parent_id} == {FIRST[36:52]}
    assert went_on.links == (began.span_id,)


@pytest.mark.req("OBS-2")
async def test_every_call_of_a_batch_is_a_span_of_its_own_in_the_trace_of_the_batch(socket_directory: Path) -> None:
    with collecting() as collector:
        async with traced(socket_directory, collector) as at:
            with trace_context(FIRST):
                await at.agent.session("s-1").batch([("echo", {"text": "a"}), ("set_value", {"value": "b"})])
            await eventually(lambda: bool(collector.named("execute_tool set_value")))
            await eventually(lambda: bool(collector.named("execute_tool echo")))
    calls = collector.named("execute_tool echo") + collector.named("execute_tool set_value")
    assert {(span.trace_id, span.parent_id) for span in calls} == {(FIRST[3:35], FIRST[36:52])}


@pytest.mark.req("OBS-2")
async def test_a_watched_call_through_grpcios_front_is_traced_like_any_other(socket_directory: Path) -> None:
    heard: list[str] = []
    server = ServerConfig(listen=("unix:{state}/agent.sock",), front=Front.GRPCIO)
    with collecting() as collector:
        async with traced(socket_directory, collector, server=server, tools=listening(heard)) as at:
            with trace_context(FIRST):
                assert [event async for event in at.agent.session("s-1").stream("listen", {})]
            await eventually(lambda: bool(collector.named("execute_tool listen")))
    (call,) = collector.named("execute_tool listen")
    assert (call.trace_id, call.parent_id) == (FIRST[3:35], FIRST[36:52])
    assert heard[0].startswith(FIRST[:35])


@pytest.mark.req("OBS-2")
@pytest.mark.parametrize("front", list(Front))
async def test_what_is_no_trace_is_passed_on_by_nobody_and_harms_no_call(socket_directory: Path, front: Front) -> None:
    heard: list[str] = []
    server = ServerConfig(listen=("unix:{state}/agent.sock",), front=front)
    sent: list[tuple[tuple[str, str], ...]] = [
        (("traceparent", "nonsense"),),
        (("traceparent", FIRST.upper()),),
        (("tracestate", "vendor=1"),),
        (("traceparent", f"00-{'0' * 32}-{'0' * 16}-01"),),
        (("baggage", "user=alice"), ("traceparent", FIRST), ("tracestate", "not a state")),
    ]
    async with (
        bench(socket_directory, server=server, tools=listening(heard)) as at,
        grpc.aio.insecure_channel(at.gateway.endpoints.agents[0]) as channel,
    ):
        call = channel.unary_unary(
            "/interlock.v1.GatewayService/CallTool",
            request_serializer=pb.CallToolRequest.SerializeToString,
            response_deserializer=pb.CallToolResponse.FromString,
        )
        request = pb.CallToolRequest(call=call_pb2.ToolCall(session_id="s-1", tool="listen"))
        for metadata in sent:
            await call(request, metadata=metadata, timeout=30)
    assert heard == ["", "", "", "", FIRST]


@pytest.mark.req("OBS-2", "AUD-1")
async def test_a_receipt_names_the_trace(socket_directory: Path) -> None:
    with collecting() as collector:
        async with traced(socket_directory, collector) as at:
            with trace_context(FIRST):
                await at.agent.session("s-1").call("set_value", {"value": "b"}, call_id="c-1")
            await eventually(lambda: bool(collector.named("execute_tool set_value")))
    (span,) = collector.named("execute_tool set_value")
    log = b"".join(
        path.read_bytes() for path in sorted((socket_directory / "state" / "audit").glob("receipts-*.jsonl"))
    )
    assert log.count(f'"trace_id":"{FIRST[3:35]}","span_id":"{span.span_id}"'.encode()) == 2
