"""A client tells the gateway which trace it is a part of, and a tool is told its call's (OBS-2)."""

import subprocess
import sys
from pathlib import Path

import pytest
from interlock.provider import ToolContext, ToolServer, tool
from interlock.tracing import TraceContext, current_trace, part_of, read_metadata, trace_context
from opentelemetry import context as otel_context
from opentelemetry import trace as otel

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
OTHER = "00-11111111111111111111111111111111-2222222222222222-01"


def current_span(parent: str, state: str = "") -> object:
    """Make a span with that context OpenTelemetry's current one; what to detach again."""
    _, trace_id, span_id, flags = parent.split("-")
    span = otel.SpanContext(
        int(trace_id, 16),
        int(span_id, 16),
        is_remote=False,
        trace_flags=otel.TraceFlags(int(flags, 16)),
        trace_state=otel.TraceState.from_header([state]) if state else None,
    )
    return otel_context.attach(otel.set_span_in_context(otel.NonRecordingSpan(span)))


@pytest.mark.req("OBS-2")
def test_nothing_is_told_where_there_is_no_trace() -> None:
    assert current_trace() is None


@pytest.mark.req("OBS-2")
def test_the_current_span_of_opentelemetry_is_told_with_its_state() -> None:
    token = current_span(PARENT, "vendor=1")
    try:
        assert current_trace() == TraceContext(PARENT, "vendor=1")
    finally:
        otel_context.detach(token)  # type: ignore[arg-type]  # what `attach` gave
    assert current_trace() is None


@pytest.mark.req("OBS-2")
def test_what_is_said_explicitly_goes_before_the_current_span() -> None:
    token = current_span(OTHER)
    try:
        with trace_context(PARENT) as context:
            assert current_trace() == context
        found = current_trace()
        assert found is not None
        assert found.traceparent == OTHER
    finally:
        otel_context.detach(token)  # type: ignore[arg-type]  # as above


@pytest.mark.req("OBS-2")
@pytest.mark.parametrize("parent", ["", "00-0-0-01", PARENT.upper(), PARENT + "-x", PARENT.replace("00-", "ff-", 1)])
def test_what_is_no_traceparent_is_refused(parent: str) -> None:
    with pytest.raises(ValueError, match="traceparent"), trace_context(parent):
        pass


@pytest.mark.req("OBS-2")
def test_metadata_without_one_valid_traceparent_tells_nothing() -> None:
    assert read_metadata((("traceparent", PARENT), ("tracestate", "a=1"), ("tracestate", "b=2"))) == TraceContext(
        PARENT, "a=1,b=2"
    )
    assert read_metadata((("traceparent", PARENT), ("traceparent", PARENT))) is None
    assert read_metadata((("traceparent", "nonsense"),)) is None
    assert read_metadata(None) is None


@pytest.mark.req("OBS-2")
def test_a_handler_runs_as_a_part_of_the_calls_trace_in_opentelemetry_too() -> None:
    with part_of(TraceContext(PARENT, "vendor=1")):
        span = otel.get_current_span().get_span_context()
        assert (f"{span.trace_id:032x}", span.is_remote) == ("0af7651916cd43dd8448eb211c80319c", True)
        assert current_trace() == TraceContext(PARENT, "vendor=1")
    assert not otel.get_current_span().get_span_context().is_valid


@pytest.mark.req("OBS-2")
async def test_a_tool_in_a_thread_sees_its_trace_as_one_on_the_loop_does(socket_directory: Path) -> None:
    import grpc.aio
    from interlock.v1 import provider_pb2
    from interlock.v1 import tool_provider_service_pb2 as rpc

    seen: list[tuple[str, str, TraceContext | None]] = []

    @tool(read_only=True)
    def in_thread(context: ToolContext) -> str:
        """Tell."""
        seen.append((context.traceparent, context.tracestate, current_trace()))
        return ""

    @tool(read_only=True)
    async def on_loop(context: ToolContext) -> str:
        """Tell."""
        seen.append((context.traceparent, context.tracestate, current_trace()))
        return ""

    async with (
        ToolServer([in_thread, on_loop], f"unix:{socket_directory}/tools.sock") as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        execute = channel.unary_stream(
            "/interlock.v1.ToolProviderService/Execute",
            request_serializer=rpc.ExecuteRequest.SerializeToString,
            response_deserializer=rpc.ExecuteResponse.FromString,
        )
        for name in ("in_thread", "on_loop"):
            for result_only in (False, True):
                request = rpc.ExecuteRequest(invocation=provider_pb2.ToolInvocation(tool=name), result_only=result_only)
                metadata = (("traceparent", PARENT), ("tracestate", "vendor=1"))
                assert [answer async for answer in execute(request, metadata=metadata)]

    assert seen == [(PARENT, "vendor=1", TraceContext(PARENT, "vendor=1"))] * 4


@pytest.mark.req("OBS-2")
@pytest.mark.parametrize("module", ["interlock", "interlock.provider", "interlock._gateway", "interlock_gateway.app"])
def test_opentelemetry_is_loaded_by_nobody_who_did_not_ask_for_it(module: str) -> None:
    source = f"import {module}, interlock.tracing, sys; interlock.tracing.current_trace()"
    check = "assert not [name for name in sys.modules if name.startswith('opentelemetry')]"
    subprocess.run([sys.executable, "-c", f"{source}; {check}"], check=True, timeout=60)
