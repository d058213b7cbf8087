"""Tracing, switched on: the tracer that the pipeline gets, and what becomes of its spans (OBS-2)."""

from typing import Protocol

from interlock_gateway.config_telemetry import TracingConfig
from interlock_gateway.core.clock import Clock
from interlock_gateway.telemetry.metrics import Metrics
from interlock_gateway.telemetry.otlp import SpanQueue, open_span_queue
from interlock_gateway.telemetry.spans import Sampling, SpanTracer


class Providers(Protocol):
    """What is known of providers by their names."""

    def address_of(self, name: str) -> str:
        """Where the provider is reached; empty for one that is built in."""
        ...

    def speaks_mcp(self, name: str) -> bool:
        """Whether it is an MCP server."""
        ...


def traced(
    config: TracingConfig, clock: Clock, metrics: Metrics, replica: str, providers: Providers
) -> tuple[SpanTracer, SpanQueue]:
    """A tracer, and the queue that sends its spans until it is closed. Raises `ConfigError`."""
    queue = open_span_queue(config, replica)
    metrics.watch_total(
        "interlock_spans",
        "Spans of calls, by what became of them.",
        lambda: {("sent",): queue.sent, ("dropped",): queue.dropped, ("failed",): queue.failed},
        "outcome",
    )
    metrics.watch("interlock_spans_waiting", "Spans that wait to be sent.", lambda: {(): queue.waiting})
    return SpanTracer(Sampling(config), clock, queue.offer, providers.address_of, providers.speaks_mcp), queue
