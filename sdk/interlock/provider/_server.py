"""Serving a provider over gRPC."""

import asyncio
import signal
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from types import TracebackType
from typing import Any, Self

import grpc
import grpc.aio

from interlock._status import DETAILS_KEY, ErrorDetail, write_details
from interlock.provider._callers import Callers, server_credentials
from interlock.provider._context import Event
from interlock.provider._health import HEALTH, Context, Health, HealthPort, MethodHandler
from interlock.provider._private_socket import private_socket
from interlock.provider._provider import Caller, RequestFailed, ToolProvider
from interlock.provider._tool import Tool
from interlock.tls import ServerTls
from interlock.tracing import part_of, read_metadata
from interlock.v1 import error_reason_pb2
from interlock.v1 import tool_provider_service_pb2 as rpc

SERVICE = "interlock.v1.ToolProviderService"
DRAIN_S = 5.0
"""How long calls that run have to end when a server stops, unless it is told otherwise."""
MAX_MESSAGE_BYTES = 32 * 1024 * 1024
MAX_WAITING_EVENTS = 256

_OPTIONS = (
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    ("grpc.so_reuseport", 0),  # a second server on a taken port has to fail
)


class Outlet:
    """The events of one running call on their way out, in order, before its result.

    Nothing is made until a handler says something. When the caller reads slowly, the oldest events are dropped, which
    OutputChunk allows.
    """

    __slots__ = ("_closed", "_loop", "_pump", "_thread", "_waiting", "_write")

    def __init__(self, write: Callable[[Event], Awaitable[Any]]) -> None:
        self._write = write
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._waiting: deque[Event] = deque(maxlen=MAX_WAITING_EVENTS)
        self._pump: asyncio.Task[None] | None = None
        self._closed = False

    def send(self, event: Event) -> None:
        """Take an event, from any thread."""
        if threading.get_ident() == self._thread:
            self._take(event)
        elif not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._take, event)

    async def finish(self) -> None:
        """Let everything out that was taken; nothing is taken afterwards."""
        self._closed = True
        if self._pump is not None:
            await self._pump

    def drop(self) -> None:
        """Forget what waits; the caller has gone."""
        self._closed = True
        if self._pump is not None:
            self._pump.cancel()

    def _take(self, event: Event) -> None:
        if self._closed:
            return
        self._waiting.append(event)
        if self._pump is None or self._pump.done():
            self._pump = self._loop.create_task(self._drain())

    async def _drain(self) -> None:
        while self._waiting:
            await self._write(self._waiting.popleft())


class ToolServer:
    """Serves tools on an address: `unix:/path` (mode 0600), or `host:port`, where port 0 takes a free one.

    With `token`, callers without `authorization: Bearer TOKEN` are refused. With `tls` connections are encrypted, and
    callers may have to show a certificate (`interlock.tls.ServerTls`); `credentials` are gRPC's own, in its place.
    When it stops, calls that run have `drain_s` seconds to end. At `health_address`, a `host:port` of its own, it says
    how it is to whoever asks, in plain text and nothing else. Use it as an async context manager, or `start` and `stop`
    it. Raises ValueError for what contradicts itself, and a `health_address` of another form.

    >>> import asyncio
    >>> from interlock.provider import tool
    >>> @tool(read_only=True)
    ... def ping() -> str:
    ...     "Answer."
    ...     return "pong"
    >>> async def main() -> str:
    ...     async with ToolServer([ping], "127.0.0.1:0") as server:
    ...         return server.address
    >>> asyncio.run(main()).startswith("127.0.0.1:")
    True
    """

    def __init__(
        self,
        tools: Iterable[Tool[..., Any]] | ToolProvider,
        address: str,
        *,
        name: str = "",
        version: str = "",
        token: str | None = None,
        credentials: grpc.ServerCredentials | None = None,
        tls: ServerTls | None = None,
        drain_s: float = DRAIN_S,
        health_address: str = "",
    ) -> None:
        if tls is not None and (credentials is not None or address.startswith("unix:")):
            raise ValueError("tls is for host:port, and in place of credentials")
        self.provider = tools if isinstance(tools, ToolProvider) else ToolProvider(tools, name=name, version=version)
        self.address = address
        self._callers = Callers(token, tls.clients if tls is not None else ())
        self._credentials = credentials
        self._tls = tls
        self._drain_s = drain_s
        self._health = Health()
        self._health_port = HealthPort(self._health, health_address) if health_address else None
        self._server: grpc.aio.Server | None = None

    @property
    def health_address(self) -> str:
        """Where it says how it is, with the port that was taken; empty when it has no such address."""
        return self._health_port.address if self._health_port is not None else ""

    async def start(self) -> str:
        """Bind and serve; the address it can be reached at.

        Raises OSError when an address cannot be bound, or a file not be read, ValueError for certificates that cannot
        be used; then nothing is bound.
        """
        server = grpc.aio.server(options=_OPTIONS)
        server.add_generic_rpc_handlers((_Methods(self.provider, self._callers, self._health),))
        self._health.serving = False
        if self._health_port is not None:
            # Before the address of tools: gRPC lets go of a port only once it has served there.
            await self._health_port.start()
        try:
            address = self._bind(server)
            await server.start()
        except BaseException:
            await server.stop(0.0)
            if self._health_port is not None:
                await self._health_port.stop()
            raise
        self._health.serving = True
        self.address, self._server = address, server
        return address

    async def stop(self, grace: float | None = None) -> None:
        """Stop taking calls, give those running `grace` seconds, else `drain_s`, then cancel them."""
        self._health.serving = False
        if self._server is not None:
            await self._server.stop(self._drain_s if grace is None else grace)
            self._server = None
        if self._health_port is not None:
            await self._health_port.stop()
        self.provider.close()

    async def wait(self) -> None:
        """Wait until the server has stopped."""
        if self._server is not None:
            await self._server.wait_for_termination()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop(0.0 if kind else None)

    def _bind(self, server: grpc.aio.Server) -> str:
        with private_socket(self.address):
            try:
                port = self._add_port(server)
            except RuntimeError as error:
                raise OSError(f"cannot listen on {self.address}") from error
        return self.address if self.address.startswith("unix:") else f"{self.address.rpartition(':')[0]}:{port}"

    def _add_port(self, server: grpc.aio.Server) -> int:
        if self._tls is not None:
            return server.add_secure_port(self.address, server_credentials(self._tls))
        if self._credentials is not None:
            return server.add_secure_port(self.address, self._credentials)
        return server.add_insecure_port(self.address)


def serve_tools(
    tools: Iterable[Tool[..., Any]] | ToolProvider,
    address: str,
    *,
    name: str = "",
    version: str = "",
    token: str | None = None,
    credentials: grpc.ServerCredentials | None = None,
    tls: ServerTls | None = None,
    drain_s: float = DRAIN_S,
    health_address: str = "",
) -> None:
    """Serve tools until SIGINT or SIGTERM; calls that run then have `drain_s`. See `ToolServer` for the arguments."""

    async def run() -> None:
        stopped = asyncio.Event()
        loop = asyncio.get_running_loop()
        for one in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(one, stopped.set)
        server = ToolServer(
            tools,
            address,
            name=name,
            version=version,
            token=token,
            credentials=credentials,
            tls=tls,
            drain_s=drain_s,
            health_address=health_address,
        )
        async with server:
            await stopped.wait()

    asyncio.run(run())


class _Methods(grpc.GenericRpcHandler):
    """Finds a method's handler, or the refusal of a caller who may not call it."""

    def __init__(self, provider: ToolProvider, callers: Callers, health: Health) -> None:
        self._callers = callers
        self._handlers = _handlers(provider, health)
        if callers.are_named:
            self._handlers = {path: _of_named(path, one, callers) for path, one in self._handlers.items()}

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> "MethodHandler | None":
        """The handler of a method; None for a method that is not here."""
        path = handler_call_details.method
        handler = self._handlers.get(path)
        if handler is None or path.startswith(f"/{HEALTH}/"):
            return handler
        if self._callers.has_token(handler_call_details.invocation_metadata):
            return handler
        return _REFUSAL_STREAM if handler.response_streaming else _REFUSAL


def _of_named(path: str, handler: MethodHandler, callers: Callers) -> MethodHandler:
    """The same, for who shows a certificate that is named; health is for anybody."""
    if path.startswith(f"/{HEALTH}/"):
        return handler

    async def admit(context: Context) -> None:
        if not callers.has_certificate(context.auth_context()):
            words = "this provider is not for the holder of this certificate"
            reason = error_reason_pb2.ERROR_REASON_ROLE_REQUIRED
            await _abort(context, RequestFailed(grpc.StatusCode.PERMISSION_DENIED, words, reason))

    inner: Any = handler

    async def unary(request: Any, context: Context) -> Any:
        await admit(context)
        return await inner.unary_unary(request, context)

    async def stream(request: Any, context: Context) -> AsyncIterator[Event]:
        await admit(context)
        async for event in inner.unary_stream(request, context):
            yield event

    made = grpc.unary_stream_rpc_method_handler if handler.response_streaming else grpc.unary_unary_rpc_method_handler
    behaviour: Any = stream if handler.response_streaming else unary
    return made(behaviour, handler.request_deserializer, handler.response_serializer)


async def _refuse(_request: Any, context: Context) -> None:
    reason = error_reason_pb2.ERROR_REASON_UNAUTHENTICATED
    await _abort(context, RequestFailed(grpc.StatusCode.UNAUTHENTICATED, "this provider needs a bearer token", reason))


_REFUSAL: MethodHandler = grpc.unary_unary_rpc_method_handler(_refuse)
_REFUSAL_STREAM: MethodHandler = grpc.unary_stream_rpc_method_handler(_refuse)


def _handlers(provider: ToolProvider, health: Health) -> dict[str, MethodHandler]:
    unary: tuple[tuple[str, Any, Callable[[Any, Caller], Awaitable[Any]]], ...] = (
        ("DryRun", rpc.DryRunRequest, provider.dry_run),
        ("GenerateUndo", rpc.GenerateUndoRequest, provider.generate_undo),
        ("ApplyPending", rpc.ApplyPendingRequest, provider.apply_pending),
        ("RejectPending", rpc.RejectPendingRequest, provider.reject_pending),
        ("RenderCall", rpc.RenderCallRequest, provider.render_call),
        ("RenderResult", rpc.RenderResultRequest, provider.render_result),
    )
    found = {f"/{SERVICE}/{name}": _unary(request, method) for name, request, method in unary}

    async def describe(_request: rpc.DescribeRequest, _caller: Caller) -> rpc.DescribeResponse:
        return provider.describe()

    found[f"/{SERVICE}/Describe"] = _unary(rpc.DescribeRequest, describe)
    found[f"/{SERVICE}/Execute"] = _execute(provider)
    found[f"/{HEALTH}/Check"] = grpc.unary_unary_rpc_method_handler(health.check)
    return found


def _deadline(context: Context) -> float | None:
    left = context.time_remaining()
    return None if left is None else time.monotonic() + left


def _unary(request: Any, method: Callable[[Any, Caller], Awaitable[Any]]) -> MethodHandler:
    async def handle(asked: Any, context: Context) -> Any:
        try:
            caller = Caller(deadline=_deadline(context), trace=read_metadata(context.invocation_metadata()))
            with part_of(caller.trace):
                return await method(asked, caller)
        except RequestFailed as error:
            await _abort(context, error)

    return grpc.unary_unary_rpc_method_handler(
        handle, request_deserializer=request.FromString, response_serializer=_serialize
    )


def _execute(provider: ToolProvider) -> MethodHandler:
    async def handle(request: rpc.ExecuteRequest, context: Context) -> AsyncIterator[Event]:
        if request.result_only:
            yield await _result_only(provider, request, context)
            return
        outlet = Outlet(context.write)
        try:
            caller = Caller(outlet.send, _deadline(context), read_metadata(context.invocation_metadata()))
            with part_of(caller.trace):
                response = await provider.execute(request, caller)
            await outlet.finish()
        except RequestFailed as error:
            await _abort(context, error)
        except asyncio.CancelledError:
            outlet.drop()
            raise
        yield response

    return grpc.unary_stream_rpc_method_handler(
        handle, request_deserializer=rpc.ExecuteRequest.FromString, response_serializer=_serialize
    )


async def _result_only(provider: ToolProvider, request: rpc.ExecuteRequest, context: Context) -> Event:
    try:
        caller = Caller(deadline=_deadline(context), trace=read_metadata(context.invocation_metadata()))
        with part_of(caller.trace):
            return await provider.execute(request, caller)
    except RequestFailed as error:
        await _abort(context, error)
        raise  # not reached: the abort raises


async def _abort(context: Context, error: RequestFailed) -> None:
    reason = error_reason_pb2.ErrorReason.Name(error.reason).removeprefix("ERROR_REASON_")
    details = write_details(error.code.value[0], error.message, ErrorDetail(reason=reason))
    await context.abort(error.code, error.message, ((DETAILS_KEY, details),))


def _serialize(message: Any) -> bytes:
    return bytes(message.SerializeToString())
