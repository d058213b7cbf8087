"""A channel to one provider: a connection that is made when it is wanted, kept, and made again when it was lost."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from google.protobuf.message import DecodeError
from ngh2 import NGH2Error

from interlock_gateway.config_loader.addresses import TcpAddress, UnixAddress, parse_address
from interlock_gateway.config_providers import ProviderTlsConfig
from interlock_gateway.core.trace import TraceContext
from interlock_gateway.http2.fields import CONTENT_TYPE, timeout_of, trace_fields
from interlock_gateway.http2.messages import framed
from interlock_gateway.http2.status import Status, StatusError
from interlock_gateway.providers.exchange import ClientConnection, Exchange
from interlock_gateway.providers.tls import ProviderTls, trouble

Field = tuple[bytes, bytes]
OnMessage = Callable[[bytes], None]
ATTEMPT_S = 5.0
FIRST_RETRY_S = 0.1
LAST_RETRY_S = 5.0


class Channel:
    """Calls the methods of one address. Messages are bytes; failures are `StatusError`."""

    def __init__(
        self, address: str, *, max_message_bytes: int, token: str = "", tls: ProviderTlsConfig | None = None
    ) -> None:
        self.problem = ""
        """Why there is no connection, in words for operators; empty while there is one, and before the first try."""
        self._address = parse_address(address)
        host = self._address.host if isinstance(self._address, TcpAddress) else "localhost"
        self._tls = ProviderTls(tls, host) if tls is not None else None
        self._most = max_message_bytes
        authority = "localhost" if isinstance(self._address, UnixAddress) else address
        self._head: tuple[Field, ...] = (
            (b":method", b"POST"),
            (b":scheme", b"http" if tls is None else b"https"),
            (b":authority", authority.encode()),
        )
        self._fields: tuple[Field, ...] = (
            CONTENT_TYPE,
            (b"te", b"trailers"),
            (b"user-agent", b"interlock-gateway"),
            *(((b"authorization", f"Bearer {token}".encode()),) if token else ()),
        )
        self._connection: ClientConnection | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._change = asyncio.Event()
        self._retired = False

    @property
    def connected(self) -> bool:
        """Whether the other side has spoken, and takes calls."""
        return self._connection is not None and self._connection.ready

    @property
    def in_flight(self) -> int:
        """How many calls are under way."""
        return self._connection.in_flight if self._connection is not None else 0

    async def until_connected(self) -> None:
        """Connect, trying until it works."""
        while not self.connected:
            if self._connecting is None or self._connecting.done():
                self._connecting = asyncio.create_task(self._connect())
            await asyncio.shield(self._connecting)

    async def until_lost(self) -> None:
        """Return when the connection is not there."""
        while self.connected:
            await self._change.wait()

    async def call(
        self,
        method: bytes,
        request: bytes,
        timeout_s: float,
        on_message: OnMessage,
        trace: TraceContext | None = None,
    ) -> None:
        """Send `request` in `trace`, give each message of the answer to `on_message`, and return after the last.

        Raises `StatusError`, with `unsent` when the request has not left. When the caller is cancelled, so is the call.
        """
        connection = self._connection
        if connection is None or not connection.ready:
            raise StatusError(Status.UNAVAILABLE, "there is no connection", unsent=True)
        fields = (
            *self._head,
            (b":path", method),
            *self._fields,
            (b"grpc-timeout", timeout_of(timeout_s)),
            *trace_fields(trace),
        )
        exchange = Exchange(on_message, self._most)
        try:
            stream_id = connection.begin(fields, framed(request), exchange)
        except NGH2Error as error:
            raise StatusError(Status.UNAVAILABLE, str(error), unsent=True) from None
        connection.deadlines.watch(exchange, timeout_s)
        try:
            await exchange.ended
        finally:
            connection.deadlines.forget(exchange)
            connection.let_go(stream_id)
            if self._retired:
                self._close_when_idle()

    def unary_unary(
        self,
        method: str,
        request_serializer: Callable[[Any], bytes],
        response_deserializer: Callable[[bytes], Any],
        _registered_method: object = None,
    ) -> Callable[..., Awaitable[Any]]:
        """A method with one answer, as generated stubs want it: `await method(request, timeout=seconds, trace=...)`."""
        path = method.encode()

        async def called(request: object, *, timeout: float, trace: TraceContext | None = None) -> Any:  # noqa: ASYNC109 - the word of generated stubs
            answers: list[bytes] = []

            def take(raw: bytes) -> None:
                # Said at the second: who never stops sending would fill the memory until the deadline.
                answers.append(raw)
                if len(answers) > 1:
                    raise _not_one(len(answers))

            await self.call(path, request_serializer(request), timeout, take, trace)
            if not answers:
                raise _not_one(0)
            return _parsed(answers[0], response_deserializer)

        return called

    def unary_stream(
        self,
        method: str,
        request_serializer: Callable[[Any], bytes],
        response_deserializer: Callable[[bytes], Any],
        _registered_method: object = None,
    ) -> Callable[..., Awaitable[None]]:
        """A method with many answers: each goes to `on_message` as it comes, so that none waits in a queue."""
        path = method.encode()

        async def called(
            request: object,
            *,
            timeout: float,  # noqa: ASYNC109 - as above
            on_message: Callable[[Any], None],
            trace: TraceContext | None = None,
        ) -> None:
            def take(raw: bytes) -> None:
                on_message(_parsed(raw, response_deserializer))

            await self.call(path, request_serializer(request), timeout, take, trace)

        return called

    def retire(self) -> None:
        """Close once the last call in flight has ended."""
        self._retired = True
        self._close_when_idle()

    async def close(self) -> None:
        """Close now; calls in flight end as UNAVAILABLE."""
        self._retired = True
        if self._connecting is not None:
            self._connecting.cancel()
            with suppress(asyncio.CancelledError):
                await self._connecting
        if self._connection is not None:
            self._connection.abort()
            while self.connected:
                await self._change.wait()

    def _close_when_idle(self) -> None:
        if self._connecting is not None:
            self._connecting.cancel()
        if self._connection is not None and self._connection.idle:
            self._connection.close()

    async def _connect(self) -> None:
        retry_s = FIRST_RETRY_S
        while not self.connected:
            try:
                async with asyncio.timeout(ATTEMPT_S):
                    await self._attempt()
            except (OSError, TimeoutError) as error:
                self.problem = trouble(error, self._tls)
            # Who speaks, and leaves with the same breath, is waited for like one who does not answer.
            if not self.connected:
                await asyncio.sleep(retry_s)
                retry_s = min(retry_s * 2, LAST_RETRY_S)

    async def _attempt(self) -> None:
        self._connection = await self._opened()
        try:
            await self._connection.spoken
        except BaseException:
            self._connection.abort()
            raise
        self.problem = ""
        self._changed()

    async def _opened(self) -> ClientConnection:
        loop = asyncio.get_running_loop()
        if isinstance(self._address, UnixAddress):
            return (await loop.create_unix_connection(self._made, self._address.path))[1]
        host, port = self._address.host, self._address.port
        if self._tls is None:
            return (await loop.create_connection(self._made, host, port))[1]
        context = await asyncio.to_thread(self._tls.context)
        transport, made = await loop.create_connection(
            self._made, host, port, ssl=context, server_hostname=self._tls.server_name
        )
        try:
            self._tls.check(transport.get_extra_info("ssl_object"))
        except OSError:
            made.abort()
            raise
        return made

    def _made(self) -> ClientConnection:
        return ClientConnection(self._changed)

    def _changed(self) -> None:
        """Wake who waits for the connection to come or go."""
        self._change.set()
        self._change = asyncio.Event()


def _not_one(count: int) -> StatusError:
    return StatusError(Status.INTERNAL, f"the answer has {count} messages where one is expected")


def _parsed(raw: bytes, response_deserializer: Callable[[bytes], Any]) -> Any:
    try:
        return response_deserializer(raw)
    except DecodeError:
        raise StatusError(Status.INTERNAL, "the answer cannot be read") from None
