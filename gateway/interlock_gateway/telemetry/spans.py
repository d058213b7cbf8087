"""Calls as spans (OBS-2), recorded on the event loop as plain values; whoever sends them makes of them what they need.

A call is one span, `execute_tool NAME` as OpenTelemetry's conventions for generative AI have it, and each of its steps
one below it. What a call asked for and what came back is in none of them.
"""

import logging
import random
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from interlock_gateway.config_telemetry import TracingConfig
from interlock_gateway.core.call import CallResult, CallStatus
from interlock_gateway.core.clock import Clock
from interlock_gateway.core.decision import Verdict
from interlock_gateway.core.tool import Effect
from interlock_gateway.core.trace import SAMPLED, TraceContext, read_trace
from interlock_gateway.errors import ProviderError
from interlock_gateway.pipeline.run import CallRun
from interlock_gateway.pipeline.tracing_port import Step, StepSpan, word_for
from interlock_gateway.telemetry.span_attributes import (
    EXECUTE_TOOL,
    TOOLS_CALL,
    Attribute,
    attributes_of,
    error_of,
    mcp_attributes,
    rpc_attributes,
)

SHORTEST_TURN_S = 0.0005
"""A call that waited less for its turn has no span for that."""
_RATIO_BITS = 64
_log = logging.getLogger(__name__)
_INSIDE = {Step.FACTS: Step.DECIDE}
_APPLY = "interlock.v1.ToolProviderService/ApplyPending"
_METHODS = {
    Step.PREVIEW: "interlock.v1.ToolProviderService/DryRun",
    Step.DISPATCH: "interlock.v1.ToolProviderService/Execute",
    Step.UNDO: "interlock.v1.ToolProviderService/GenerateUndo",
}


@dataclass(frozen=True, slots=True)
class SpanRecord:
    """One span that has ended. Times are Unix nanoseconds; `parent_id` is empty for a root, `error` for what went well.

    `kind` is `server`, `client` or `internal`; `remote_parent` says that the parent is another process's.
    """

    name: str
    kind: str
    context: TraceContext
    parent_id: str
    remote_parent: bool
    began_ns: int
    ended_ns: int
    attributes: Mapping[str, Attribute]
    links: tuple[TraceContext, ...] = ()
    error: str = ""


class Sampling:
    """Which calls are recorded."""

    def __init__(self, config: TracingConfig) -> None:
        self._follow = config.follow_parent
        self._bound = round(config.sample_ratio * (1 << _RATIO_BITS))
        self._denied = "denied" in config.always
        self._destructive = "destructive" in config.always
        self.may_change = bool(config.always)

    def at_first(self, parent: TraceContext | None, trace_id: str) -> bool:
        """Whether a call is recorded that nothing is known of but its trace; the same at every replica."""
        if parent is not None and self._follow:
            return parent.sampled
        return int(trace_id[16:], 16) < self._bound

    def once_decided(self, run: CallRun) -> bool:
        """Whether a call is recorded because of what it is, whatever was said at first."""
        if self._denied and run.decision is not None and run.decision.verdict is Verdict.DENY:
            return True
        tool = run.tool
        destructive = tool is not None and tool.classification.effect in (Effect.DESTRUCTIVE, Effect.UNDECLARED)
        return self._destructive and destructive


class SpanTracer:
    """Makes spans of calls, and hands each call's over when it has ended."""

    def __init__(
        self,
        sampling: Sampling,
        clock: Clock,
        hand_over: Callable[[list[SpanRecord]], None],
        address_of: Callable[[str], str],
        speaks_mcp: Callable[[str], bool] = lambda _name: False,
    ) -> None:
        self.speaks_mcp = speaks_mcp
        self.sampling = sampling
        self.clock = clock
        self.hand_over = hand_over
        self.address_of = address_of
        self._ids = random.Random(random.SystemRandom().getrandbits(256))  # noqa: S311 - ids of spans are no secrets

    def begun(self, run: CallRun) -> "TracedCall":
        """A call begins."""
        resolving = run.resolving
        parent = run.request.trace if resolving is None else resolving.trace.context
        return TracedCall(self, run, parent)

    def decided(self, run: CallRun) -> None:
        """There is a decision: what is to be recorded, and what not, is known from here on."""
        if isinstance(run.trace, TracedCall):
            run.trace.decided()

    def ended(self, run: CallRun, result: CallResult | None) -> None:
        """The call has its answer."""
        if isinstance(run.trace, TracedCall):
            run.trace.ended(result)

    def new_span_id(self) -> str:
        """A span's id."""
        return f"{self._ids.getrandbits(64) or 1:016x}"

    def new_trace_id(self) -> str:
        """A trace's id."""
        return f"{self._ids.getrandbits(128) or 1:032x}"


class TracedCall:
    """One call under way."""

    __slots__ = ("_context", "_over", "_parent", "_recording", "_run", "_steps", "_tracer")

    def __init__(self, tracer: SpanTracer, run: CallRun, parent: TraceContext | None) -> None:
        self._tracer = tracer
        self._run = run
        self._parent = parent
        trace_id = parent.trace_id if parent is not None else tracer.new_trace_id()
        sampled = tracer.sampling.at_first(parent, trace_id)
        flags, state = (parent.flags & ~SAMPLED, parent.state) if parent is not None else (0, "")
        self._context = TraceContext(trace_id, tracer.new_span_id(), flags | sampled, state)
        self._recording = sampled or tracer.sampling.may_change
        self._steps: list[_Step] = []
        self._over = False

    @property
    def context(self) -> TraceContext:
        """The call's span."""
        return self._context

    @property
    def exemplar(self) -> str:
        """The trace's id, of a call that is recorded for sure."""
        return self._context.trace_id if self._context.sampled else ""

    def step(self, step: Step) -> AbstractContextManager[StepSpan]:
        """A span for what is inside the block."""
        return _Step(self, step) if self._recording else _Unrecorded(self._context)

    def decided(self) -> None:
        """Record it after all, or not at all."""
        if not self._context.sampled:
            if self._tracer.sampling.once_decided(self._run):
                self._sample()
            else:
                self._recording = False
                self._steps.clear()

    def ended(self, result: CallResult | None) -> None:
        """Hand the call's spans over."""
        denied = result is not None and result.status is CallStatus.DENIED and not self._over
        if denied and not self._context.sampled and self._tracer.sampling.once_decided(self._run):
            self._sample()
        self._finish(result, error_of(result) if result is not None else "")

    def abandoned(self, why: str) -> None:
        """The call ended without an answer."""
        self._finish(None, why)

    def _sample(self) -> None:
        was = self._context
        self._context = TraceContext(was.trace_id, was.span_id, was.flags | SAMPLED, was.state)

    def _finish(self, result: CallResult | None, error: str) -> None:
        if self._over:
            return
        self._over = True
        if not self._context.sampled:
            return
        try:
            self._tracer.hand_over(self._records(result, error))
        except Exception:  # noqa: BLE001 - what is told of a call never changes what it is answered
            _log.exception("the spans of a call could not be made")

    def _records(self, result: CallResult | None, error: str) -> list[SpanRecord]:
        run = self._run
        parent, remote = self._parent, run.resolving is None
        records = [step.record() for step in self._steps if step.ended]
        records.append(
            SpanRecord(
                name=_name_of(run),
                kind="server" if remote and not run.undoes else "internal",
                context=self._context,
                parent_id=parent.span_id if parent is not None else "",
                remote_parent=remote and parent is not None,
                began_ns=self.at_ns(run.started),
                ended_ns=self.at_ns(self.now()),
                attributes=attributes_of(run, result, error),
                links=_links(run),
                error=error,
            )
        )
        return records

    # -- for its steps --

    def at_ns(self, monotonic: float) -> int:
        """A moment of the monotonic clock in Unix nanoseconds."""
        return int((self._run.received_at + monotonic - self._run.started) * 1e9)

    def now(self) -> float:
        """The monotonic clock."""
        return self._tracer.clock.monotonic()

    def inside(self, span_id: str) -> TraceContext:
        """The context of a step with that id."""
        call = self._context
        return TraceContext(call.trace_id, span_id, call.flags, call.state)

    def new_span_id(self) -> str:
        """A span's id."""
        return self._tracer.new_span_id()

    def add(self, step: "_Step") -> None:
        """A step has begun."""
        self._steps.append(step)

    def parent_of(self, step: Step) -> str:
        """The id of the span that a step belongs to."""
        outer = _INSIDE.get(step)
        if outer is not None:
            for begun in reversed(self._steps):
                if begun.step is outer:
                    return begun.span_id
        return self._context.span_id

    def attributes_of(self, step: Step, status: str) -> dict[str, Attribute]:
        """What is said of a step."""
        run = self._run
        attributes: dict[str, Attribute] = {"interlock.decision.id": run.decision_id}
        if step not in _METHODS or run.tool is None:
            return attributes
        attributes["interlock.provider"] = run.tool.provider
        method = self.method_of(step)
        if method.startswith(TOOLS_CALL):
            attributes |= mcp_attributes(self._tracer.address_of(run.tool.provider))
        elif method:
            attributes |= rpc_attributes(method, self._tracer.address_of(run.tool.provider), status)
        return attributes

    def method_of(self, step: Step) -> str:
        """The RPC or MCP request that a step is; empty for one that goes to no other process."""
        tool = self._run.tool
        if tool is None or not self._tracer.address_of(tool.provider):
            return ""
        if self._tracer.speaks_mcp(tool.provider):
            return f"{TOOLS_CALL} {tool.name}" if step is Step.DISPATCH else ""
        return _APPLY if step is Step.DISPATCH and self._run.sender is not None else _METHODS.get(step, "")


class _Unrecorded:
    """A step of a call that is not recorded."""

    __slots__ = ("context",)

    def __init__(self, context: TraceContext) -> None:
        self.context = context

    def failed(self, kind: str, status: str = "") -> None:
        """Nobody is told."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return


class _Step:
    """A step of a call that may be recorded."""

    __slots__ = ("_began", "_call", "_ended", "_error", "_parent_id", "_status", "span_id", "step")

    def __init__(self, call: TracedCall, step: Step) -> None:
        self._call = call
        self.step = step
        self.span_id = call.new_span_id()
        self._parent_id = call.parent_of(step)
        self._began = call.now()
        self._ended: float | None = None
        self._error = ""
        self._status = ""

    @property
    def context(self) -> TraceContext:
        """The step's span."""
        return self._call.inside(self.span_id)

    @property
    def ended(self) -> bool:
        """Whether it has ended, and is worth a span."""
        if self._ended is None:
            return False
        return self.step is not Step.TURN or self._ended - self._began >= SHORTEST_TURN_S

    def failed(self, kind: str, status: str = "") -> None:
        """It did not go well."""
        self._error, self._status = kind, status

    def record(self) -> SpanRecord:
        """Its span, once it has ended."""
        call, ended = self._call, self._began if self._ended is None else self._ended
        method = call.method_of(self.step)
        attributes = call.attributes_of(self.step, self._status)
        if self._error:
            attributes["error.type"] = self._error
        return SpanRecord(
            name=method or self.step.value,
            kind="client" if method else "internal",
            context=self.context,
            parent_id=self._parent_id,
            remote_parent=False,
            began_ns=call.at_ns(self._began),
            ended_ns=call.at_ns(ended),
            attributes=attributes,
            error=self._error,
        )

    def __enter__(self) -> Self:
        self._call.add(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended = self._call.now()
        if kind is not None and not self._error:
            self._error = word_for(error) if error is not None else kind.__name__
            self._status = error.status if isinstance(error, ProviderError) else ""


def _name_of(run: CallRun) -> str:
    """Of few different ones: a tool that is not there has no name here."""
    operation = "evaluate" if run.dry else EXECUTE_TOOL
    return f"{operation} {run.tool.name}" if run.tool is not None else operation


def _links(run: CallRun) -> tuple[TraceContext, ...]:
    """The call from which this one goes on: the one that waited for a person, was previewed, or is taken back."""
    found = read_trace([run.follows]) if run.follows else None
    return (found,) if found is not None else ()
