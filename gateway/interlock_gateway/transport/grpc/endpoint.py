"""What stands around every RPC: who calls, whether they may, and one way for errors to leave (STYLE: thin handlers)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias, TypeVar

import grpc
import grpc.aio
from google.protobuf.message import DecodeError, Message

from interlock_gateway.core.session import Principal
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.identity.access import check_access
from interlock_gateway.identity.authenticate import Authenticator
from interlock_gateway.transport.grpc.errors import STATUS_KEY, as_request_error, status_details

RequestT = TypeVar("RequestT", bound=Message)
Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sent a request, and how many seconds they wait for the answer; `None` when they set no deadline."""

    principal: Principal
    deadline_s: float | None


UnaryHandler = Callable[[Caller, Any], Awaitable[Message]]
StreamHandler = Callable[[Caller, Any], AsyncIterator[Message]]


@dataclass(frozen=True, slots=True)
class Rpc:
    """One served RPC: its message types and its handler, unary or server-streaming."""

    request: type[Message]
    response: type[Message]
    unary: UnaryHandler | None = None
    stream: StreamHandler | None = None


class OpenRpcs:
    """How many RPCs are being answered, so that a drain knows when it is over; and how large a request may be."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._count = 0
        self._none = asyncio.Event()
        self._none.set()

    async def none(self) -> None:
        """Return when none is."""
        await self._none.wait()

    def __enter__(self) -> None:
        self._count += 1
        self._none.clear()

    def __exit__(self, *_: object) -> None:
        self._count -= 1
        if not self._count:
            self._none.set()


def service_handler(
    service: str, rpcs: dict[str, Rpc], authenticator: Authenticator, open_rpcs: OpenRpcs
) -> grpc.GenericRpcHandler:
    """A gRPC handler for `rpcs`, the RPCs of `service` that are served; the others answer UNIMPLEMENTED."""
    methods = {
        name: _method(_Guard(f"/{service}/{name}", rpc.request, authenticator, open_rpcs), rpc)
        for name, rpc in rpcs.items()
    }
    return grpc.method_handlers_generic_handler(service, methods)


def _method(guard: "_Guard", rpc: Rpc) -> "grpc.RpcMethodHandler[Any, Any]":
    # Requests come as bytes: who calls is looked at before anything is parsed, and what cannot be parsed is our answer.
    if rpc.unary is not None:
        return grpc.unary_unary_rpc_method_handler(
            guard.unary(rpc.unary), response_serializer=rpc.response.SerializeToString
        )
    assert rpc.stream is not None
    return grpc.unary_stream_rpc_method_handler(
        guard.stream(rpc.stream), response_serializer=rpc.response.SerializeToString
    )


class _Guard:
    """Authentication, access and errors around one RPC."""

    def __init__(self, path: str, request: type[Message], authenticator: Authenticator, open_rpcs: OpenRpcs) -> None:
        self._path = path
        self._request = request
        self._authenticator = authenticator
        self._open = open_rpcs

    def unary(self, handler: UnaryHandler) -> Callable[[bytes, Context], Awaitable[Message]]:
        """Stand around a unary handler."""

        async def guarded(raw: bytes, context: Context) -> Message:
            with self._open:
                try:
                    return await handler(self._caller(context), self._decoded(raw))
                except RequestError as error:
                    await _abort(context, error)
                except Exception as error:  # noqa: BLE001 - the last door: nothing unforeseen may show to a client
                    await _abort(context, as_request_error(error))

        return guarded

    def stream(self, handler: StreamHandler) -> Callable[[bytes, Context], AsyncIterator[Message]]:
        """Stand around a server-streaming handler."""

        async def guarded(raw: bytes, context: Context) -> AsyncIterator[Message]:
            with self._open:
                try:
                    async for message in handler(self._caller(context), self._decoded(raw)):
                        yield message
                except RequestError as error:
                    await _abort(context, error)
                except Exception as error:  # noqa: BLE001 - as above
                    await _abort(context, as_request_error(error))

        return guarded

    def _caller(self, context: Context) -> Caller:
        principal = self._authenticator.principal(context.invocation_metadata() or ())
        check_access(principal, self._path)
        return Caller(principal, context.time_remaining())

    def _decoded(self, raw: bytes) -> Message:
        if len(raw) > self._open.max_bytes:
            words = f"the request has {len(raw)} bytes; at most {self._open.max_bytes} are accepted"
            raise RequestError(RequestFault.TOO_LARGE, words)
        try:
            return self._request.FromString(raw)
        except DecodeError:
            name = self._request.DESCRIPTOR.name
            raise RequestError(RequestFault.INVALID_FIELD, f"what was sent is not a {name}") from None


async def _abort(context: Context, error: RequestError) -> NoReturn:
    code, message, details = status_details(error)
    await context.abort(code, message, trailing_metadata=((STATUS_KEY, details),))
    raise AssertionError("abort raises")
