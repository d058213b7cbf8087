"""A provider without a transport: what each method of `ToolProviderService` does (contract.md)."""

import json
import logging
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NoReturn

import grpc

from interlock.provider._context import Event, Send, ToolContext, discard
from interlock.provider._definition import definition
from interlock.provider._encode import (
    dry_run_message,
    put_result,
    put_returned,
    rendering_message,
    result_from,
    split_token,
    undo_message,
)
from interlock.provider._schema import BadArguments
from interlock.provider._signature import Handler, attached_handler
from interlock.provider._tool import HandlerKind, Tool
from interlock.provider._values import StateChangedError, ToolError, ToolResult, UndoInfo
from interlock.tracing import TraceContext
from interlock.v1 import error_reason_pb2, provider_pb2
from interlock.v1 import tool_provider_service_pb2 as rpc

_LOGGER = logging.getLogger("interlock.provider")
_RESOLUTION = ("token", "reason", "extra")


class RequestFailed(Exception):  # noqa: N818 -- it is an answer of the protocol, told as a gRPC error
    """A request ends as a gRPC error would; `reason` is the ErrorReason."""

    def __init__(
        self,
        code: grpc.StatusCode,
        message: str,
        reason: error_reason_pb2.ErrorReason = error_reason_pb2.ERROR_REASON_UNSPECIFIED,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Caller:
    """How a request arrived: where its events go, its deadline as a `time.monotonic()` value, and its trace."""

    send: Send = discard
    deadline: float | None = None
    trace: TraceContext | None = None


NOBODY = Caller()


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


_DECODE = json.JSONDecoder(parse_constant=_refuse_constant).decode


def read_json(raw: bytes) -> Any:
    """The JSON value of a json field; nothing is an empty object.

    Raises BadArguments with what is wrong.
    """
    if not raw:
        return {}
    try:
        return _DECODE(raw.decode())
    except (ValueError, RecursionError) as error:
        raise BadArguments(f"the input is not JSON: {error}") from None


class ToolProvider:
    """Tools under one name, ready to be served or attached.

    `on_apply` and `on_reject` resolve the pending actions of tools that have no handler of their own; they take any of
    `token`, `reason` and `extra`, and a `ToolContext`. Functions that are not async run in up to `max_threads` threads.

    Raises ValueError when a name or alias is there twice.
    """

    def __init__(
        self,
        tools: Iterable[Tool[..., Any]],
        *,
        name: str = "",
        version: str = "",
        on_apply: Callable[..., Any] | None = None,
        on_reject: Callable[..., Any] | None = None,
        max_threads: int = 32,
    ) -> None:
        self.name = name
        self.version = version
        self.tools = tuple(tools)
        self._by_name: dict[str, Tool[..., Any]] = {}
        for tool in self.tools:
            self._add(tool)
        self._resolvers = {
            kind: attached_handler(function, _RESOLUTION, blocking=True)
            for kind, function in (("apply", on_apply), ("reject", on_reject))
            if function is not None
        }
        self._threads: ThreadPoolExecutor | None = None
        self._max_threads = max_threads

    def describe(self) -> rpc.DescribeResponse:
        """The provider's name, version and tools."""
        return rpc.DescribeResponse(
            name=self.name, version=self.version, tools=map(definition, self.tools), knows_result_only=True
        )

    async def execute(self, request: rpc.ExecuteRequest, caller: Caller = NOBODY) -> Event:
        """Run a call; the event holds the result. A tool's exception is a result, never raised."""
        tool = self._tool(request.invocation.tool)
        response = Event()
        made = response.result
        made.SetInParent()
        context = _Context(tool.name, request.invocation, caller, request.apply if request.HasField("apply") else None)
        try:
            arguments = tool.signature.shape.read(read_json(request.invocation.input), "")
            if context.apply is not None:
                await self._check_state(tool, arguments, context)
            returned = await tool.signature.handler.call(self._executor, arguments, context)
            put_returned(made, returned, tool.name, has_reject=self._has_reject(tool))
        except Exception as error:  # noqa: BLE001 -- whatever a tool raises is its result
            made.Clear()
            _put_error(made, error, tool.name)
        return response

    async def dry_run(self, request: rpc.DryRunRequest, caller: Caller = NOBODY) -> rpc.DryRunResponse:
        """Tell what a call would do.

        Raises RequestFailed (UNIMPLEMENTED) for a tool without a dry run.
        """
        tool, handler = self._attached(request.invocation, "dry_run")
        context = _Context(tool.name, request.invocation, caller)
        try:
            arguments = tool.signature.shape.read(read_json(request.invocation.input), "")
            return dry_run_message(await handler.call(self._executor, arguments, context))
        except Exception as error:  # noqa: BLE001 -- whatever a dry run raises is its answer
            failed = provider_pb2.ToolResult()
            _put_error(failed, error, tool.name)
            return rpc.DryRunResponse(is_error=True, tool_error=failed.tool_error, error_message=failed.output)

    async def generate_undo(
        self, request: rpc.GenerateUndoRequest, caller: Caller = NOBODY
    ) -> rpc.GenerateUndoResponse:
        """Tell how to take a call back.

        Raises RequestFailed: UNIMPLEMENTED without a handler, INTERNAL when it fails.
        """
        returned = await self._ask(request.invocation, "undo", caller, request.result)
        if returned is None:
            return rpc.GenerateUndoResponse()
        if not isinstance(returned, UndoInfo):
            raise RequestFailed(grpc.StatusCode.INTERNAL, f"{request.invocation.tool}: undo returned no UndoInfo")
        return rpc.GenerateUndoResponse(undo=undo_message(returned))

    async def apply_pending(
        self, request: rpc.ApplyPendingRequest, caller: Caller = NOBODY
    ) -> rpc.ApplyPendingResponse:
        """Apply what a tool pushed, or ask its standing handler.

        Raises RequestFailed (UNIMPLEMENTED) when nobody handles it.
        """
        response = rpc.ApplyPendingResponse()
        response.result.SetInParent()
        await self._resolve("apply", request.resolution, caller, response)
        return response

    async def reject_pending(
        self, request: rpc.RejectPendingRequest, caller: Caller = NOBODY
    ) -> rpc.RejectPendingResponse:
        """Tell a tool that what it pushed was discarded; no result when it returned nothing (PREV-8).

        Raises RequestFailed (UNIMPLEMENTED) when nobody handles it.
        """
        response = rpc.RejectPendingResponse()
        await self._resolve("reject", request.resolution, caller, response)
        return response

    async def render_call(self, request: rpc.RenderCallRequest, caller: Caller = NOBODY) -> rpc.RenderCallResponse:
        """What a person should read about a call.

        Raises RequestFailed: UNIMPLEMENTED without a handler, INTERNAL when it fails.
        """
        returned = await self._ask(request.invocation, "render_call", caller)
        return rpc.RenderCallResponse(rendering=rendering_message(returned))

    async def render_result(
        self, request: rpc.RenderResultRequest, caller: Caller = NOBODY
    ) -> rpc.RenderResultResponse:
        """What a person should read about a result.

        Raises RequestFailed: UNIMPLEMENTED without a handler, INTERNAL when it fails.
        """
        returned = await self._ask(request.invocation, "render_result", caller, request.result)
        return rpc.RenderResultResponse(rendering=rendering_message(returned))

    def close(self) -> None:
        """Let the threads go; what runs in them runs to its end."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._threads = None

    def _add(self, tool: Tool[..., Any]) -> None:
        for name in (tool.name, *tool.declared.get("aliases", ())):
            other = self._by_name.setdefault(name, tool)
            if other is not tool:
                raise ValueError(f"{name!r} names both {other.name} and {tool.name}")

    def _tool(self, name: str) -> Tool[..., Any]:
        found = self._by_name.get(name)
        if found is None:
            raise RequestFailed(
                grpc.StatusCode.NOT_FOUND,
                f"this provider has no tool {name!r}",
                error_reason_pb2.ERROR_REASON_TOOL_NOT_FOUND,
            )
        return found

    def _attached(self, invocation: provider_pb2.ToolInvocation, kind: HandlerKind) -> tuple[Tool[..., Any], Handler]:
        tool = self._tool(invocation.tool)
        handler = tool.handlers.get(kind)
        if handler is None:
            raise RequestFailed(grpc.StatusCode.UNIMPLEMENTED, f"{tool.name} offers no {kind}")
        return tool, handler

    def _has_reject(self, tool: Tool[..., Any]) -> bool:
        return "reject" in tool.handlers or "reject" in self._resolvers

    def _executor(self) -> Executor:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self._max_threads, thread_name_prefix="interlock-tool")
        return self._threads

    async def _check_state(self, tool: Tool[..., Any], arguments: Mapping[str, Any], context: "_Context") -> None:
        handler = tool.handlers.get("dry_run")
        asked = context.apply
        if handler is None or asked is None or not asked.state_token or tool.declared.get("checks_state", False):
            return
        try:
            found = dry_run_message(await handler.call(self._executor, arguments, context))
        except ToolError as error:
            raise StateChangedError(f"the state has changed since it was previewed: {error}") from error
        if found.state_token != asked.state_token:
            raise StateChangedError

    async def _ask(
        self,
        invocation: provider_pb2.ToolInvocation,
        kind: HandlerKind,
        caller: Caller,
        result: provider_pb2.ToolResult | None = None,
    ) -> Any:
        tool, handler = self._attached(invocation, kind)
        try:
            arguments = tool.signature.shape.read(read_json(invocation.input), "")
            returned = result_from(result) if result is not None and handler.result_name else None
            return await handler.call(self._executor, arguments, _Context(tool.name, invocation, caller), returned)
        except Exception as error:
            failed = provider_pb2.ToolResult()
            _put_error(failed, error, tool.name)
            raise RequestFailed(
                grpc.StatusCode.INTERNAL, failed.output, error_reason_pb2.ERROR_REASON_INTERNAL
            ) from error

    async def _resolve(
        self,
        kind: HandlerKind,
        asked: provider_pb2.PendingResolution,
        caller: Caller,
        response: rpc.ApplyPendingResponse | rpc.RejectPendingResponse,
    ) -> None:
        source, token = split_token(asked.token)
        tool = self._by_name.get(source)
        handler = (tool.handlers.get(kind) if tool else None) or self._resolvers.get(kind)
        if handler is None:
            raise RequestFailed(grpc.StatusCode.UNIMPLEMENTED, f"nothing here handles {kind} of {asked.source_tool}")
        invocation = provider_pb2.ToolInvocation(session_id=asked.session_id, call_id=asked.call_id)
        about = provider_pb2.ApplyContext(pending_id=asked.pending_id, reason=asked.reason, extra=asked.extra)
        context = _Context(source, invocation, caller, about)
        try:
            extra = read_json(asked.extra) if asked.extra else None
            given = {"token": token, "reason": asked.reason, "extra": extra}
            returned = await handler.call(self._executor, given, context)
            if returned is not None:
                response.result.SetInParent()
                put_returned(response.result, returned, source, has_reject=tool is not None and self._has_reject(tool))
        except Exception as error:  # noqa: BLE001 -- whatever a handler raises is its result
            response.result.Clear()
            _put_error(response.result, error, source)


@dataclass(frozen=True, slots=True)
class _Context:
    """Makes the `ToolContext` of a request when a handler wants one."""

    tool: str
    invocation: provider_pb2.ToolInvocation
    caller: Caller
    apply: provider_pb2.ApplyContext | None = None

    def __call__(self) -> ToolContext:
        apply, trace = self.apply, self.caller.trace
        return ToolContext(
            tool=self.tool,
            call_id=self.invocation.call_id,
            session_id=self.invocation.session_id,
            workdir=self.invocation.workdir,
            labels=dict(self.invocation.labels),
            deadline=self.caller.deadline,
            state_token=apply.state_token if apply is not None and apply.HasField("state_token") else None,
            pending_id=apply.pending_id if apply is not None else "",
            reason=apply.reason if apply is not None else "",
            extra=read_json(apply.extra) if apply is not None and apply.extra else None,
            traceparent=trace.traceparent if trace is not None else "",
            tracestate=trace.tracestate if trace is not None else "",
            _send=self.caller.send,
        )


def _put_error(made: provider_pb2.ToolResult, error: Exception, source: str) -> None:
    """Write an exception as a result: the tool's own words as they are, of anything else its class name alone."""
    if isinstance(error, ToolError):
        put_result(made, ToolResult(content=str(error), details=error.details, is_error=True), source, has_reject=False)
        return
    made.is_error = True
    made.tool_error = isinstance(error, (BadArguments, StateChangedError))
    made.state_changed = isinstance(error, StateChangedError)
    if isinstance(error, BadArguments):
        made.output = f"Invalid input for {source}: {error}"
    elif isinstance(error, StateChangedError):
        made.output = str(error)
    else:
        _LOGGER.error("%s failed", source, exc_info=error)
        made.output = f"{source} failed unexpectedly ({type(error).__name__})"
