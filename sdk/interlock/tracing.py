"""Being a part of a trace (W3C Trace Context): what a client tells the gateway, and what a tool is told.

Nothing has to be done in a process that uses OpenTelemetry: what is current there is told, and a tool's handler runs as
a part of the call's trace. OpenTelemetry is never loaded from here.
"""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

__all__ = ["TraceContext", "current_trace", "trace_context"]

_PARENT = re.compile(r"00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})", re.ASCII)
_STATE = re.compile(r"[\x20-\x7e]*", re.ASCII)
MAX_STATE = 512


@dataclass(frozen=True, slots=True)
class TraceContext:
    """One span of one trace: its `traceparent`, of version 00, and its `tracestate`, which may be empty.

    Raises ValueError for what is no such thing.

    >>> TraceContext("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01").trace_id
    '0af7651916cd43dd8448eb211c80319c'
    """

    traceparent: str
    tracestate: str = ""

    def __post_init__(self) -> None:
        if _PARENT.fullmatch(self.traceparent) is None:
            raise ValueError("traceparent is 00-TRACE_ID-SPAN_ID-FLAGS, in lower-case hexadecimal digits")
        if len(self.tracestate) > MAX_STATE or _STATE.fullmatch(self.tracestate) is None:
            raise ValueError(f"tracestate has at most {MAX_STATE} characters of printable ASCII")

    @property
    def trace_id(self) -> str:
        """The trace's id, 32 hexadecimal digits."""
        return self.traceparent[3:35]

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """It as gRPC metadata."""
        parent = ("traceparent", self.traceparent)
        return (parent, ("tracestate", self.tracestate)) if self.tracestate else (parent,)


_GIVEN: ContextVar[TraceContext | None] = ContextVar("interlock_trace", default=None)


@contextmanager
def trace_context(traceparent: str, tracestate: str = "") -> Iterator[TraceContext]:
    """Make what is asked of a gateway inside the block a part of this trace, by any client.

    Raises ValueError for a `traceparent` that is none.
    """
    context = TraceContext(traceparent, tracestate)
    token = _GIVEN.set(context)
    try:
        yield context
    finally:
        _GIVEN.reset(token)


def current_trace() -> TraceContext | None:
    """What requests are a part of now: that of the innermost `trace_context`, else OpenTelemetry's current span."""
    return _GIVEN.get() or _current_span()


def read_metadata(metadata: Any) -> TraceContext | None:
    """The trace in a request's metadata; None without a valid one."""
    parents: list[str] = []
    states: list[str] = []
    for key, value in metadata or ():
        if key == "traceparent" and isinstance(value, str):
            parents.append(value)
        elif key == "tracestate" and isinstance(value, str):
            states.append(value)
    if len(parents) != 1:
        return None
    try:
        return TraceContext(parents[0], ",".join(states))
    except ValueError:
        return None


@contextmanager
def part_of(context: TraceContext | None) -> Iterator[None]:
    """Run a tool's handler inside the block as a part of the call's trace."""
    if context is None:
        yield
    elif (api := _opentelemetry()) is not None:
        attached = sys.modules["opentelemetry.context"]
        token = attached.attach(api.set_span_in_context(_remote_span(api, context)))
        try:
            yield
        finally:
            attached.detach(token)
    else:
        with trace_context(context.traceparent, context.tracestate):
            yield


def _opentelemetry() -> Any:
    """OpenTelemetry's API, if this process has loaded it: who has not has no current span either."""
    return sys.modules.get("opentelemetry.trace")


def _current_span() -> TraceContext | None:
    api = _opentelemetry()
    if api is None:
        return None
    span = api.get_current_span().get_span_context()
    if not span.is_valid:
        return None
    state = span.trace_state.to_header()
    parent = f"00-{span.trace_id:032x}-{span.span_id:016x}-{int(span.trace_flags):02x}"
    return TraceContext(parent, state if len(state) <= MAX_STATE else "")


def _remote_span(api: Any, context: TraceContext) -> Any:
    _, trace_id, span_id, flags = context.traceparent.split("-")
    state = api.TraceState.from_header([context.tracestate]) if context.tracestate else None
    remote = api.SpanContext(int(trace_id, 16), int(span_id, 16), True, api.TraceFlags(int(flags, 16)), state)  # noqa: FBT003 -- it is remote
    return api.NonRecordingSpan(remote)
