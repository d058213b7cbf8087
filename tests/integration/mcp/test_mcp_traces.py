"""A trace that a client of MCP is in goes on through the gateway to the tool (OBS-2)."""

import sys
from pathlib import Path
from typing import Any

import pytest
from interlock_gateway.config import PolicyConfig, ProviderConfig
from interlock_gateway.config_providers import McpUpstreamConfig
from interlock_gateway.config_telemetry import TracingConfig
from mcp_bench import mcp_bench, text_of
from otlp_collector import collecting
from waiting import eventually
from working_tools import Work

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.req("OBS-2", "MCP-1")
async def test_a_clients_trace_goes_on_to_the_tool(socket_directory: Path) -> None:
    work = Work()
    meta: Any = {"traceparent": PARENT, "tracestate": "vendor=1"}
    with collecting() as collector:
        tracing = TracingConfig(endpoint=collector.endpoint, delay_s=0.02)
        async with mcp_bench(socket_directory, tools=work.tools, tracing=tracing) as at:
            async with at.over_http() as client:
                await client.call_tool("listen", {}, meta=meta)
            async with at.over_socket("2026-07-28") as client:
                await client.call_tool("listen", {}, meta=meta)
            await eventually(lambda: len(collector.named("execute_tool listen")) == 2)
    for span, (traceparent, tracestate) in zip(collector.named("execute_tool listen"), work.heard, strict=True):
        assert span.trace_id == PARENT.split("-")[1]
        assert span.parent_id == PARENT.split("-")[2]
        assert traceparent.split("-")[1] == PARENT.split("-")[1]
        assert traceparent.split("-")[2] != PARENT.split("-")[2]
        assert tracestate == "vendor=1"


@pytest.mark.req("OBS-2")
async def test_what_is_no_trace_is_left_out(socket_directory: Path) -> None:
    work = Work()
    meta: Any = {"traceparent": "00-zz-b7ad6b7169203331-01", "tracestate": 7, "baggage": "a=b"}
    async with mcp_bench(socket_directory, tools=work.tools) as at, at.over_http() as client:
        assert not (await client.call_tool("listen", {}, meta=meta)).is_error
        assert not (await client.call_tool("listen", {}, meta={"traceparent": 5})).is_error  # type: ignore[arg-type]  # what a client may get wrong
    assert work.heard == [("", ""), ("", "")]


@pytest.mark.req("OBS-2")
async def test_spans_say_that_a_call_came_and_went_by_mcp(socket_directory: Path) -> None:
    command = (sys.executable, "-m", "mcp_server_time", "--local-timezone", "UTC")
    spec = ProviderConfig(name="clock", mcp=McpUpstreamConfig(command=command))
    with collecting() as collector:
        tracing = TracingConfig(endpoint=collector.endpoint, delay_s=0.02)
        watching = PolicyConfig(profile="observe")
        async with mcp_bench(socket_directory, tracing=tracing, providers=(spec,), policy=watching) as at:
            await at.at.gateway.providers_settled(20.0)
            async with at.over_socket() as client:
                answer = await client.call_tool("get_current_time", {"timezone": "UTC"})
                assert "UTC" in text_of(answer)
            await eventually(lambda: bool(collector.named("execute_tool get_current_time")))
    (call,) = collector.named("execute_tool get_current_time")
    assert (call.attributes["mcp.method.name"], call.attributes["mcp.protocol.version"]) == ("tools/call", "2025-11-25")
    (sent,) = collector.named("tools/call get_current_time")
    assert (sent.kind, sent.trace_id, sent.attributes["network.transport"]) == ("client", call.trace_id, "pipe")
