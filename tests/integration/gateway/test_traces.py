"""Traces from agent to tool (OBS-2), against a collector that decodes what it is sent."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from gateway_bench import Bench, Ledger, bench, ledger_tools
from interlock.provider import Tool, ToolContext, tool
from interlock.tracing import trace_context
from interlock_gateway.config_telemetry import TracingConfig
from otlp_collector import Collector, Received, collecting
from waiting import eventually

TRACE = "0af7651916cd43dd8448eb211c80319c"
AGENT = "b7ad6b7169203331"
SAMPLED = f"00-{TRACE}-{AGENT}-01"
UNSAMPLED = f"00-{TRACE}-{AGENT}-00"
EXECUTE = "interlock.v1.ToolProviderService/Execute"


class Heard:
    """What a tool is told of its call's trace."""

    def __init__(self) -> None:
        self.parents: list[str] = []
        self.states: list[str] = []

    def tools(self, ledger: Ledger) -> list[Tool[..., Any]]:
        @tool(read_only=True, concurrency_safe=True)
        def listen(context: ToolContext) -> str:
            """Tell what it hears."""
            self.parents.append(context.traceparent)
            self.states.append(context.tracestate)
            return context.traceparent

        return [listen, *ledger_tools(ledger)]


@asynccontextmanager
async def traced(
    directory: Path, collector: Collector, heard: Heard | None = None, **tracing: Any
) -> AsyncIterator[Bench]:
    config = TracingConfig(endpoint=collector.endpoint, delay_s=0.02, **tracing)
    async with bench(directory, tools=(heard or Heard()).tools, tracing=config) as at:
        yield at


async def the_call(collector: Collector, name: str, count: int = 1) -> Received:
    await eventually(lambda: len(collector.named(name)) >= count)
    return collector.named(name)[count - 1]


def children(collector: Collector, span: Received) -> dict[str, Received]:
    return {one.name: one for one in collector.spans if one.parent_id == span.span_id}


@pytest.mark.req("OBS-2")
async def test_one_trace_leads_from_the_agent_through_the_gateway_to_the_tool(socket_directory: Path) -> None:
    heard = Heard()
    with collecting() as collector:
        async with traced(socket_directory, collector, heard) as at:
            with trace_context(SAMPLED, "vendor=its-own"):
                result = await at.agent.session("s-1").call("listen", {}, call_id="c-1")
            call = await the_call(collector, "execute_tool listen")
            below = children(collector, call)

    assert {span.trace_id for span in collector.spans} == {TRACE}
    assert (call.parent_id, call.kind, call.failed) == (AGENT, "server", False)
    assert result.decision is not None
    assert call.attributes["gen_ai.operation.name"] == "execute_tool"
    assert call.attributes["gen_ai.tool.name"] == "listen"
    assert call.attributes["gen_ai.tool.call.id"] == "c-1"
    assert call.attributes["interlock.session.id"] == "s-1"
    assert call.attributes["interlock.decision.id"] == result.decision.decision_id
    assert call.attributes["interlock.verdict"] == "allow"
    assert call.attributes["interlock.effect"] == "read_only"
    assert call.attributes["interlock.provider"] == "ledger"
    assert call.attributes["interlock.outcome"] == "completed"
    assert {"interlock.decide", EXECUTE, "interlock.result"} <= below.keys()
    sent = below[EXECUTE]
    assert sent.kind == "client"
    assert sent.attributes["rpc.system.name"] == "grpc"
    assert sent.attributes["rpc.response.status_code"] == "OK"
    assert sent.attributes["server.address"] == f"{socket_directory}/ledger.sock"
    assert heard.parents == [f"00-{TRACE}-{sent.span_id}-01"]
    assert heard.states == ["vendor=its-own"]
    decision_ids = {span.attributes["interlock.decision.id"] for span in collector.spans}
    assert decision_ids == {result.decision.decision_id}
    assert all(call.began_ns <= one.began_ns <= one.ended_ns <= call.ended_ns for one in below.values())
    assert collector.resources[0]["service.name"] == "interlock-gateway"


@pytest.mark.req("OBS-2")
async def test_with_tracing_off_what_the_agent_sent_is_passed_on_as_it_came(socket_directory: Path) -> None:
    heard = Heard()
    async with bench(socket_directory, tools=heard.tools) as at:
        with trace_context(SAMPLED, "vendor=its-own"):
            await at.agent.session("s-1").call("listen", {})
        await at.agent.session("s-1").call("listen", {})

    assert heard.parents == [SAMPLED, ""]
    assert heard.states == ["vendor=its-own", ""]


@pytest.mark.req("OBS-2")
async def test_a_change_has_spans_for_what_makes_it_durable_and_for_its_undo(socket_directory: Path) -> None:
    with collecting() as collector:
        async with traced(socket_directory, collector) as at:
            await at.agent.session("s-1").call("set_value", {"value": "second"})
            call = await the_call(collector, "execute_tool set_value")
            below = children(collector, call)

    assert {"interlock.journal", "interlock.audit", EXECUTE} <= below.keys()
    assert call.parent_id == ""
    assert len([one for one in collector.spans if one.name == "interlock.journal"]) == 2


@pytest.mark.req("OBS-2")
async def test_an_apply_is_below_its_resolve_and_linked_to_the_preview(socket_directory: Path) -> None:
    with collecting() as collector:
        async with traced(socket_directory, collector) as at:
            session = at.agent.session("s-1")
            await session.call("replace_value", {"value": "second"})
            await session.resolve("apply", "it is right")
            applied = await the_call(collector, "execute_tool replace_value", 2)
            previewed = collector.named("execute_tool replace_value")[0]
            resolve = await the_call(collector, "execute_tool resolve")

    assert "interlock.v1.ToolProviderService/DryRun" in children(collector, previewed)
    assert previewed.attributes["interlock.outcome"] == "preview"
    assert applied.attributes["interlock.call.kind"] == "apply"
    assert (applied.parent_id, applied.kind) == (resolve.span_id, "internal")
    assert applied.links == (previewed.span_id,)


@pytest.mark.req("OBS-2")
async def test_an_action_that_a_tool_pushed_is_applied_by_another_method(socket_directory: Path) -> None:
    with collecting() as collector:
        async with traced(socket_directory, collector) as at:
            session = at.agent.session("s-1")
            await session.call("propose", {"plan": "quiet"})
            await session.resolve("apply", "it is right")
            applied = await the_call(collector, "execute_tool propose", 2)
            pushed = collector.named("execute_tool propose")[0]
    assert "interlock.v1.ToolProviderService/ApplyPending" in children(collector, applied)
    assert applied.links == (pushed.span_id,)


@pytest.mark.req("OBS-2")
async def test_an_undo_is_linked_to_what_it_takes_back(socket_directory: Path) -> None:
    with collecting() as collector:
        async with traced(socket_directory, collector) as at:
            session = at.agent.session("s-1")
            await session.call("set_value", {"value": "second"})
            with trace_context(SAMPLED):
                assert [line async for line in session.rollback(count=1)]
            undo = await the_call(collector, "execute_tool set_value", 2)
            done = collector.named("execute_tool set_value")[0]

    assert undo.attributes["interlock.call.kind"] == "undo"
    assert undo.links == (done.span_id,)
    assert (undo.trace_id, undo.parent_id) == (TRACE, AGENT)


@pytest.mark.req("OBS-2")
async def test_unsampled_calls_leave_no_spans_but_those_that_are_denied_or_destroy(socket_directory: Path) -> None:
    heard = Heard()
    with collecting() as collector:
        async with traced(socket_directory, collector, heard) as at:
            session = at.agent.session("s-1")
            with trace_context(UNSAMPLED):
                await session.call("listen", {})
                await session.call("no_such_tool", {})
                await session.call("replace_value", {"value": "second"})
            await the_call(collector, "execute_tool replace_value")
            await the_call(collector, "execute_tool")

    assert not collector.named("execute_tool listen")
    assert heard.parents[0].startswith(f"00-{TRACE}-")
    assert heard.parents[0].endswith("-00")
    assert collector.named("execute_tool")[0].attributes["interlock.verdict"] == "deny"


@pytest.mark.req("OBS-2")
async def test_the_ratio_alone_counts_when_callers_are_not_followed(socket_directory: Path) -> None:
    heard = Heard()
    with collecting() as collector:
        async with traced(socket_directory, collector, heard, follow_parent=False, sample_ratio=0.0, always=()) as at:
            with trace_context(SAMPLED):
                await at.agent.session("s-1").call("listen", {})
            await at.agent.session("s-1").call("no_such_tool", {})
    assert not collector.spans
    assert heard.parents[0].endswith("-00")


@pytest.mark.req("OBS-2")
@pytest.mark.parametrize("state", ["gone", "held", "broken"])
async def test_a_collector_in_trouble_delays_no_call_and_what_is_lost_is_counted(
    socket_directory: Path, state: str
) -> None:
    with collecting(held=state == "held") as collector:
        if state == "broken":
            collector.answers = 500
        if state == "gone":
            collector.port = 1
        async with traced(socket_directory, collector, queue=100, batch=10, timeout_s=0.5) as at:
            session = at.agent.session("s-1")
            async with asyncio.timeout(30):
                for _ in range(60):
                    assert (await session.call("echo", {"text": "hello"})).completed
            metrics = at.gateway.rooms.metrics.registry
            lost = ("dropped", "failed")

            def count() -> float:
                return sum(metrics.get_sample_value("interlock_spans_total", {"outcome": one}) or 0 for one in lost)

            await eventually(lambda: count() > 0)
            assert (metrics.get_sample_value("interlock_spans_waiting") or 0) <= 100
            assert metrics.get_sample_value("interlock_spans_total", {"outcome": "sent"}) == 0
            collector.released.set()


@pytest.mark.req("OBS-2")
async def test_an_answer_that_is_repeated_says_so_and_names_the_first_decision(socket_directory: Path) -> None:
    with collecting() as collector:
        async with traced(socket_directory, collector) as at:
            session = at.agent.session("s-1")
            first = await session.call("set_value", {"value": "second"}, call_id="c-1")
            await session.call("set_value", {"value": "second"}, call_id="c-1")
            again = await the_call(collector, "execute_tool set_value", 2)
    assert first.decision is not None
    assert again.attributes["interlock.repeated"] is True
    assert again.attributes["interlock.decision.id"] == first.decision.decision_id
    assert not children(collector, again)


@pytest.mark.req("OBS-2")
async def test_no_span_holds_what_a_call_brought_or_took(socket_directory: Path) -> None:
    canary = f"canary{random.randrange(10**12):012}"
    with collecting() as collector:
        async with traced(socket_directory, collector) as at:
            session = at.agent.session("s-1")
            at.ledger.value = canary
            await session.call("echo", {"text": canary})
            await session.call("set_value", {"value": canary})
            await session.call("replace_value", {"value": canary})
            at.ledger.fail_apply = "crash"
            await session.resolve("apply", canary)
            await session.resolve("discard", canary)
            await session.call(canary, {"text": canary})
            await session.call("echo", {canary: canary})
            await session.evaluate("echo", {"text": canary})
            await the_call(collector, "evaluate echo")
    assert collector.raw
    assert canary.encode() not in collector.raw
