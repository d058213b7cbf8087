"""What is asked of a provider in the words of `ToolProviderService`, whatever carries them (PIPE-7).

Errors become the three kinds of `ProviderError` in one place.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

from interlock.v1 import provider_pb2
from interlock.v1 import tool_provider_service_pb2 as service_pb2

from interlock_gateway.core.operation import UndoInfo
from interlock_gateway.core.outcome import (
    DryRun,
    Invocation,
    OutputEvent,
    Preview,
    ProgressEvent,
    Rendering,
    Resolution,
    ToolOutcome,
)
from interlock_gateway.core.tool import ToolDefinition
from interlock_gateway.core.trace import TraceContext
from interlock_gateway.errors import OutcomeUnknownError, ProviderDownError, ProviderError, ProviderFailedError
from interlock_gateway.http2.status import Status, StatusError
from interlock_gateway.providers.kept import Described
from interlock_gateway.providers.port import EventSink, ignore_events
from interlock_gateway.providers.wire import (
    MAX_LABEL,
    MAX_MESSAGE,
    MAX_OUTPUT,
    MAX_SUMMARY,
    bounded,
    bounded_list,
    definition_from_wire,
    extra_to_wire,
    invocation_to_wire,
    json_object,
    json_value,
    outcome_from_wire,
    outcome_to_wire,
    resolution_to_wire,
    seconds,
    undo_from_wire,
)

TOOLS_AT_ONCE = 20
"""How many definitions are read before somebody else has a turn."""

# The provider itself answered with one of these: it refused or failed, and says so.
_ANSWERED = frozenset(
    {
        Status.INVALID_ARGUMENT,
        Status.NOT_FOUND,
        Status.UNIMPLEMENTED,
        Status.UNAUTHENTICATED,
        Status.PERMISSION_DENIED,
        Status.FAILED_PRECONDITION,
    }
)


class CallingProvider:
    """Everything about calls; connections are the subclass's.

    `stub` has the methods of `ToolProviderService`: each takes its request, `timeout` and `trace`, and raises
    `StatusError`; `Execute` hands each message to `on_message`. `execute_once` is a call that nobody listens to.
    """

    def __init__(self, name: str, stub: Any, execute_once: Callable[..., Awaitable[Any]]) -> None:
        self.name = name
        self._stub = stub
        self._execute_once = execute_once
        self._knows_result_only = False

    async def ready(self, deadline_s: float) -> None:
        """Return when the provider can be called; raises `ProviderDownError`."""
        raise NotImplementedError

    async def execute(self, invocation: Invocation, on_event: EventSink = ignore_events) -> ToolOutcome:
        """Run the tool; progress and output go to `on_event` as they come."""
        await self.ready(invocation.deadline_s)
        request = _execute_request(invocation)
        try:
            if on_event is ignore_events and self._knows_result_only:
                return self._outcome(await self._result_only(request, invocation))
            reading = _Reading(on_event)
            await self._stub.Execute(
                request, timeout=invocation.deadline_s, on_message=reading.take, trace=invocation.trace
            )
            return self._outcome(reading.result())
        except StatusError as error:
            raise self._mapped(error) from None

    async def _result_only(
        self, request: service_pb2.ExecuteRequest, invocation: Invocation
    ) -> provider_pb2.ToolResult:
        """The one message of a call that nobody listens to, read as a unary call: half the cost of a stream."""
        request.result_only = True
        answer = await self._execute_once(request, timeout=invocation.deadline_s, trace=invocation.trace)
        if answer.WhichOneof("event") != "result":
            raise OutcomeUnknownError(f"provider {self.name} answered with something that is no result")
        return cast("provider_pb2.ToolResult", answer.result)

    async def dry_run(self, invocation: Invocation) -> DryRun:
        """Say what the call would do."""
        await self.ready(invocation.deadline_s)
        request = service_pb2.DryRunRequest(invocation=invocation_to_wire(invocation))
        answer = await self._unary(self._stub.DryRun, request, invocation.deadline_s, invocation.trace)
        impact = json_value(answer.estimated_impact, "estimated_impact") if answer.estimated_impact else None
        return DryRun(
            preview=Preview(bounded_list(answer.would_affect), answer.preview, impact),
            state_token=answer.state_token,
            label=bounded(answer.label, MAX_LABEL),
            details=json_object(answer.details, "details"),
            is_error=answer.is_error,
            tool_error=answer.tool_error,
            error_message=bounded(answer.error_message, MAX_MESSAGE),
        )

    async def render_call(self, invocation: Invocation) -> Rendering:
        """What a person should read about the call before it runs."""
        await self.ready(invocation.deadline_s)
        request = service_pb2.RenderCallRequest(invocation=invocation_to_wire(invocation))
        answer = await self._unary(self._stub.RenderCall, request, invocation.deadline_s, invocation.trace)
        return _rendering(answer.rendering)

    async def render_result(self, invocation: Invocation, outcome: ToolOutcome) -> Rendering:
        """What a person should read about the call's result."""
        await self.ready(invocation.deadline_s)
        request = service_pb2.RenderResultRequest(
            invocation=invocation_to_wire(invocation), result=outcome_to_wire(outcome)
        )
        answer = await self._unary(self._stub.RenderResult, request, invocation.deadline_s, invocation.trace)
        return _rendering(answer.rendering)

    async def generate_undo(self, invocation: Invocation, outcome: ToolOutcome) -> UndoInfo | None:
        """Say how what just ran would be undone."""
        await self.ready(invocation.deadline_s)
        request = service_pb2.GenerateUndoRequest(
            invocation=invocation_to_wire(invocation), result=outcome_to_wire(outcome)
        )
        answer = await self._unary(self._stub.GenerateUndo, request, invocation.deadline_s, invocation.trace)
        return undo_from_wire(answer.undo) if answer.HasField("undo") else None

    async def apply_pending(self, resolution: Resolution) -> ToolOutcome:
        """Apply an action the provider pushed."""
        await self.ready(resolution.deadline_s)
        request = service_pb2.ApplyPendingRequest(resolution=resolution_to_wire(resolution))
        answer = await self._unary(self._stub.ApplyPending, request, resolution.deadline_s, resolution.trace)
        return self._outcome(answer.result)

    async def reject_pending(self, resolution: Resolution) -> ToolOutcome | None:
        """Discard an action the provider pushed."""
        await self.ready(resolution.deadline_s)
        request = service_pb2.RejectPendingRequest(resolution=resolution_to_wire(resolution))
        answer = await self._unary(self._stub.RejectPending, request, resolution.deadline_s, resolution.trace)
        return outcome_from_wire(answer.result, self.name) if answer.HasField("result") else None

    async def _unary(
        self, rpc: Callable[..., Awaitable[Any]], request: object, timeout_s: float, trace: TraceContext | None = None
    ) -> Any:
        try:
            return await rpc(request, timeout=timeout_s, trace=trace)
        except StatusError as error:
            raise self._mapped(error) from None

    def _outcome(self, result: provider_pb2.ToolResult) -> ToolOutcome:
        try:
            return outcome_from_wire(result, self.name)
        except ProviderFailedError as error:
            # It ran, and its answer cannot be read: what came of it is not known.
            raise OutcomeUnknownError(error.message) from None

    def _mapped(self, error: StatusError) -> ProviderError:
        status = error.status.name
        if error.unsent:
            return ProviderDownError(f"provider {self.name} cannot be reached", status=status)
        # Our own side says RESOURCE_EXHAUSTED too, of an answer that is too large; it has no details.
        if error.status in _ANSWERED or (error.status is Status.RESOURCE_EXHAUSTED and error.has_details):
            return ProviderFailedError(f"provider {self.name} refused: {status}: {error.message}", status=status)
        if error.status is Status.DEADLINE_EXCEEDED:
            return OutcomeUnknownError(f"provider {self.name} did not answer in time", status=status)
        return OutcomeUnknownError(f"provider {self.name} was lost while the call ran ({status})", status=status)


async def described(answer: service_pb2.DescribeResponse, provider: str, most: int) -> Described:
    """What a provider says of itself. A tool that cannot be read is a problem of that tool alone.

    Raises `ProviderFailedError` when it describes more than `most` tools.
    """
    tools: list[ToolDefinition] = []
    problems: list[str] = []
    if len(answer.tools) > most:
        raise ProviderFailedError(f"{provider} describes {len(answer.tools)} tools; {most} are accepted")
    for number, tool in enumerate(answer.tools):
        if number % TOOLS_AT_ONCE == 0:
            await asyncio.sleep(0)
        try:
            tools.append(definition_from_wire(tool))
        except ProviderFailedError as error:
            problems.append(f"{tool.name} of {provider} is refused: {error.message}")
    refresh_s = seconds(answer.refresh_after) if answer.HasField("refresh_after") else None
    return Described(answer.version, tuple(tools), tuple(problems), refresh_s=refresh_s)


def _rendering(given: provider_pb2.Rendering) -> Rendering:
    return Rendering(bounded(given.summary, MAX_SUMMARY), bounded(given.expanded, MAX_OUTPUT))


def _execute_request(invocation: Invocation) -> service_pb2.ExecuteRequest:
    request = service_pb2.ExecuteRequest(invocation=invocation_to_wire(invocation))
    if invocation.pending_id:
        request.apply.pending_id = invocation.pending_id
        request.apply.state_token = invocation.state_token
        request.apply.reason = invocation.reason
        request.apply.extra = extra_to_wire(invocation.extra)
    return request


class _Reading:
    """Takes the events of one call as they come, and keeps its result."""

    def __init__(self, on_event: EventSink) -> None:
        self._on_event = on_event
        self._result: provider_pb2.ToolResult | None = None

    def take(self, event: service_pb2.ExecuteResponse) -> None:
        """One event."""
        kind = event.WhichOneof("event")
        if kind == "result":
            self._result = event.result
        elif kind == "progress":
            progress = event.progress
            total = progress.total if progress.HasField("total") else None
            self._on_event(ProgressEvent(progress.progress, bounded(progress.message, MAX_LABEL), total))
        elif kind == "output":
            text = bounded(event.output.text, MAX_OUTPUT)
            self._on_event(OutputEvent(text, stderr=event.output.stream == 2))  # noqa: PLR2004 - STDERR

    def result(self) -> provider_pb2.ToolResult:
        """The call's result. Raises `OutcomeUnknownError` when none came."""
        if self._result is None:
            raise OutcomeUnknownError("the provider ended the call without a result")
        return self._result
