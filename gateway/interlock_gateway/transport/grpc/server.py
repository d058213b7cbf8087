"""The listener that grpcio brings."""

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any, NoReturn, cast

import grpc
import grpc.aio

from interlock_gateway.core.session import Principal
from interlock_gateway.core.trace import TraceContext, read_trace
from interlock_gateway.errors import ConfigError, RequestError
from interlock_gateway.http2.link import HEAD_BYTES
from interlock_gateway.http2.status import StatusError
from interlock_gateway.transport.grpc.binding import only_owner, refuse_taken
from interlock_gateway.transport.grpc.credentials import changing_credentials
from interlock_gateway.transport.grpc.endpoint import (
    Admission,
    DialogueBytes,
    Served,
    StreamBytes,
    TalkBytes,
    UnaryBytes,
)
from interlock_gateway.transport.grpc.errors import STATUS_KEY, status_details
from interlock_gateway.transport.grpc.peers import Context, peer_of
from interlock_gateway.transport.tls.server_tls import ServerTls

CONNECTIONS = 1024
"""Connections that an address has at once; more are closed as they come."""
HANDSHAKE_MS = 10_000
AGE_MS = 3_600_000
"""How old a connection with TLS may get: grpcio cannot send those away whose authority is not believed any more."""
_CODES = {code.value[0]: code for code in grpc.StatusCode}


class GrpcioListener:
    """A server of grpcio with its RPCs and addresses."""

    def __init__(self, served: Mapping[str, Served], max_bytes: int, tls: ServerTls | None = None) -> None:
        self._tls = tls
        self._server = grpc.aio.server(
            options=(
                # What is a little too large is refused in our own words, and what is far too large by gRPC itself.
                ("grpc.max_receive_message_length", max(2 * max_bytes, *(one.most_bytes for one in served.values()))),
                ("grpc.max_send_message_length", -1),
                ("grpc.so_reuseport", 0),
                ("grpc.keepalive_time_ms", 60_000),
                ("grpc.http2.min_ping_interval_without_data_ms", 20_000),
                # A token and the rest; the other front takes as much.
                ("grpc.max_metadata_size", HEAD_BYTES),
                ("grpc.absolute_max_metadata_size", HEAD_BYTES),
                ("grpc.server_handshake_timeout_ms", HANDSHAKE_MS),
                ("grpc.max_allowed_incoming_connections", CONNECTIONS),
                *((("grpc.max_connection_age_ms", AGE_MS),) if tls is not None else ()),
            )
        )
        self._server.add_generic_rpc_handlers((_ByPath(served),))

    def listen(self, address: str, socket_mode: int) -> str:
        """Bind to `address`; the address in full, with the port that was chosen. Raises `ConfigError`."""
        path = address.removeprefix("unix:") if address.startswith("unix:") else None
        try:
            refuse_taken(address)
            if path is None:
                port = self._bind_tcp(address)
                return f"{address.rpartition(':')[0]}:{port}"
            if not Path(path).parent.is_dir():
                raise ConfigError(f"cannot listen on {address}: there is no directory {Path(path).parent}")
            with only_owner():
                self._server.add_insecure_port(address)
            Path(path).chmod(socket_mode)
        except OSError as error:
            raise ConfigError(f"cannot listen on {address}: {error.strerror or error}") from None
        except RuntimeError as error:
            raise ConfigError(f"cannot listen on {address}: {error}") from None
        return address

    def _bind_tcp(self, address: str) -> int:
        if self._tls is None:
            return self._server.add_insecure_port(address)
        return self._server.add_secure_port(address, changing_credentials(self._tls))

    async def start(self) -> None:
        """Serve."""
        await self._server.start()

    async def send_away(self, grace_s: float) -> None:
        """Do nothing: a server of grpcio lets go of its clients only when it stops."""

    async def stop(self, grace_s: float) -> None:
        """Take no new calls; give those in flight `grace_s` seconds."""
        await self._server.stop(grace_s)


class _ByPath(grpc.GenericRpcHandler):
    """Finds the handler of a method; requests and answers stay bytes."""

    def __init__(self, served: Mapping[str, Served]) -> None:
        self._handlers = {path: _handler(rpc) for path, rpc in served.items()}

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> "grpc.RpcMethodHandler[Any, Any] | None":
        return self._handlers.get(handler_call_details.method)


def _handler(rpc: Served) -> "grpc.RpcMethodHandler[Any, Any]":
    if rpc.unary is not None:
        return grpc.unary_unary_rpc_method_handler(_unary(rpc.unary, rpc.admit))
    if rpc.stream is not None:
        return grpc.unary_stream_rpc_method_handler(_stream(rpc.stream, rpc.admit))
    if rpc.talk is not None:
        return grpc.stream_stream_rpc_method_handler(_talk(rpc.talk, rpc.admit))
    assert rpc.dialogue is not None
    return grpc.stream_stream_rpc_method_handler(_dialogue(rpc.dialogue))


def _unary(rpc: UnaryBytes, admit: Admission | None) -> Any:
    async def answered(raw: bytes, context: Context) -> bytes:
        try:
            principal = await _admitted(admit, context)
            return await rpc(raw, principal, context.time_remaining(), _trace(context))
        except (RequestError, StatusError) as error:
            await _abort(context, error)

    return answered


def _stream(rpc: StreamBytes, admit: Admission | None) -> Any:
    async def answered(raw: bytes, context: Context) -> AsyncIterator[bytes]:
        try:
            principal = await _admitted(admit, context)
            async for answer in rpc(raw, principal, context.time_remaining(), _trace(context)):
                yield answer
        except (RequestError, StatusError) as error:
            await _abort(context, error)

    return answered


def _dialogue(rpc: DialogueBytes) -> Any:
    async def answered(requests: AsyncIterator[bytes], context: Context) -> AsyncIterator[bytes]:
        try:
            async for answer in rpc(requests):
                yield answer
        except (RequestError, StatusError) as error:
            await _abort(context, error)

    return answered


def _talk(rpc: TalkBytes, admit: Admission | None) -> Any:
    async def answered(requests: AsyncIterator[bytes], context: Context) -> AsyncIterator[bytes]:
        try:
            principal = await _admitted(admit, context)
            # It says that the caller is in: clients of grpcio that write to a stream lose what it was refused with.
            await context.send_initial_metadata(())
            async with aclosing(rpc(requests, principal, context.time_remaining(), _trace(context))) as answers:
                async for answer in answers:
                    yield answer
        except (RequestError, StatusError) as error:
            await _abort(context, error)

    return answered


async def _admitted(admit: Admission | None, context: Context) -> Principal | None:
    if admit is None:
        return None
    found = admit(_metadata(context), peer_of(context))
    return found if isinstance(found, Principal) else await found


def _metadata(context: Context) -> tuple[tuple[str, str | bytes], ...]:
    return cast("tuple[tuple[str, str | bytes], ...]", context.invocation_metadata() or ())


def _trace(context: Context) -> TraceContext | None:
    given = [(name, value) for name, value in _metadata(context) if isinstance(value, str)]
    parents = [value for name, value in given if name == "traceparent"]
    return read_trace(parents, [value for name, value in given if name == "tracestate"]) if parents else None


async def _abort(context: Context, error: RequestError | StatusError) -> NoReturn:
    if isinstance(error, StatusError):
        await context.abort(_CODES[error.status], error.message)
    else:
        code, message, details = status_details(error)
        await context.abort(_CODES[code], message, trailing_metadata=((STATUS_KEY, details),))
    raise AssertionError("abort raises")
