"""Tracing, switched on: the tracer that the pipeline gets, and what becomes of its spans (OBS-2)."""

from collections.abc import Callable

from interlock_gateway.config_telemetry import TracingConfig
from interlock_gateway.core.clock import Clock
from interlock_gateway.telemetry.metrics import Metrics
from interlock_gateway.telemetry.otlp import SpanQueue, open_span_queue
from interlock_gateway.telemetry.spans import Sampling, SpanTracer


def traced(
    config: TracingConfig, clock: Clock, metrics: Metrics, replica: str, address_of: Callable[[str], str]
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
    return SpanTracer(Sampling(config), clock, queue.offer, address_of), queue
