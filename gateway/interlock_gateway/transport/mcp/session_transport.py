"""MCP over HTTP in a session, as the revisions have it that begin with a handshake (up to 2025-11-25).

Requests are answered where they come in (`exchange.py`). What the client is told or asked unasked goes to the stream
that it may open with GET, and is dropped while there is none, as the protocol allows.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from mcp.server.connection import Connection
from mcp.server.lowlevel.server import Server
from mcp.server.models import InitializationOptions
from mcp.server.runner import ServerRunner, aclose_shielded
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER, check_accept_headers
from mcp.shared.dispatcher import CallOptions, coerce_request_id
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp.shared.jsonrpc_dispatcher import cancelled_request_id_from_params
from mcp_types import CONNECTION_CLOSED, INVALID_REQUEST, REQUEST_TIMEOUT, ErrorData, RequestId
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from interlock_gateway.transport.mcp.exchange import (
    CANCELLED,
    PING,
    PING_S,
    STREAM,
    Exchange,
    Headers,
    Message,
    event,
    failure,
    notification,
    send_json,
)
from interlock_gateway.transport.mcp.strict import SAME_ID
from interlock_gateway.transport.mcp.wires import Wire

UNREAD = 100
"""What may wait on the client's stream; beyond that the oldest is dropped."""
_ENDED = ErrorData(code=CONNECTION_CLOSED, message="the session has ended")


class SessionTransport:
    """One MCP session. `ended` ends it: at the client's wish, or `idle_s` seconds after its last request."""

    def __init__(
        self,
        session_id: str,
        server: Server[Wire],
        wire: Wire,
        options: InitializationOptions,
        *,
        idle_s: float,
        ended: Callable[[], Awaitable[None]],
    ) -> None:
        self.headers: Headers = [(MCP_SESSION_ID_HEADER.encode(), session_id.encode())]
        self.connection = Connection.for_loop(_Standalone(self), session_id=session_id)
        self.wire = wire
        self._runner = ServerRunner(server, self.connection, wire, init_options=options)
        self._idle_s = idle_s
        self._ended = ended
        self._serving = 0
        self._quiet_since = 0.0
        self._idle: asyncio.TimerHandle | None = None
        self._leaving: asyncio.Task[None] | None = None
        self._in_flight: dict[RequestId, Exchange] = {}
        self._asked: dict[RequestId, asyncio.Future[Message]] = {}
        self._asked_last = 0
        self.stream: asyncio.Queue[Message | None] | None = None
        self._closed = False

    @property
    def shaken(self) -> bool:
        """Whether the handshake was taken."""
        return self.connection.client_params is not None

    @property
    def ready(self) -> bool:
        """Whether requests are taken: the handshake was, and the session has not ended."""
        return self.connection.initialize_accepted and not self._closed

    def serving(self, http: Request, message: Message) -> ASGIApp:
        """What answers an HTTP request of the session; `message` is what a POST brought."""

        async def served(_scope: Scope, receive: Receive, send: Send) -> None:
            self.enter()
            try:
                await self._serve(http, message, receive, send)
            finally:
                self.leave()

        return served

    def enter(self) -> None:
        """A request of the session is being answered."""
        self._serving += 1

    def leave(self) -> None:
        """It was answered."""
        self._serving -= 1
        if not self._serving and not self._closed:
            loop = asyncio.get_running_loop()
            self._quiet_since = loop.time()
            if self._idle is None:
                self._idle = loop.call_later(self._idle_s, self._look)

    def _look(self) -> None:
        """End a session that nobody uses. A timer for each of its requests would be set anew all the time."""
        self._idle = None
        if self._serving or self._closed:
            return
        loop = asyncio.get_running_loop()
        left_s = self._quiet_since + self._idle_s - loop.time()
        if left_s > 0:
            self._idle = loop.call_later(left_s, self._look)
        else:
            self._leave()

    async def close(self) -> None:
        """End the session: what is under way is answered with that."""
        if self._closed:
            return
        self._closed = True
        if self._idle is not None:
            self._idle.cancel()
        for exchange in tuple(self._in_flight.values()):
            exchange.cancel(_ENDED)
        for waiting in tuple(self._asked.values()):
            if not waiting.done():
                waiting.set_exception(MCPError.from_error_data(_ENDED))
        if self.stream is not None:
            put(self.stream, None)
        await aclose_shielded(self.connection)

    async def ask(
        self,
        say: Callable[[Message], Awaitable[None]],
        method: str,
        params: Mapping[str, Any] | None,
        opts: CallOptions,
    ) -> Message:
        """Send a request to the client with `say`; its result. Raises `MCPError`."""
        if self._closed:
            raise MCPError.from_error_data(_ENDED)
        self._asked_last += 1
        request_id = self._asked_last
        waiting: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._asked[request_id] = waiting
        try:
            await say({**notification(method, params or {}), "id": request_id})
            async with asyncio.timeout(opts.get("timeout")):
                return await waiting
        except TimeoutError:
            await say(_never_mind(request_id, "it took too long"))
            raise MCPError(REQUEST_TIMEOUT, f"{method} timed out") from None
        except asyncio.CancelledError:
            await say(_never_mind(request_id, "nobody waits for it any more"))
            raise
        finally:
            del self._asked[request_id]

    def _leave(self) -> None:
        async def leave() -> None:
            await self._ended()

        self._leaving = asyncio.create_task(leave())

    async def _serve(self, http: Request, message: Message, receive: Receive, send: Send) -> None:
        if self._closed:
            await self.refuse_ended(send)
        elif http.method == "POST":
            await self._post(http, message, receive, send)
        elif http.method == "GET":
            await self._listen(http, receive, send)
        elif http.method == "DELETE":
            await self._ended()
            await send_json(send, None, 200, self.headers)
        else:
            await self._refuse(send, 405, "Method Not Allowed", (b"allow", b"GET, POST, DELETE"))

    async def _post(self, http: Request, message: Message, receive: Receive, send: Send) -> None:
        has_json, has_stream = check_accept_headers(http)
        if not (has_json and has_stream):
            await self._refuse(send, 406, "Not Acceptable: accept both application/json and text/event-stream")
        elif not http.headers.get("content-type", "").lower().startswith("application/json"):
            await self._refuse(send, 415, "Unsupported Media Type: Content-Type must be application/json")
        elif is_request(message):
            await self._request(http, message, receive, send)
        elif not self._heard(message) and not await self._notified(http, message, send):
            await self._refuse(send, 400, "Bad Request: this is no message of JSON-RPC")
        else:
            await send_json(send, None, 202, self.headers)

    async def _request(self, http: Request, message: Message, _receive: Receive, send: Send) -> None:
        method, params = message["method"], message.get("params")
        exchange = self.exchange(http, send, message["id"], params)
        await self.answer(exchange, partial(exchange.run, self._runner.on_request, method, params))

    def exchange(self, http: Request, send: Send, request_id: RequestId, params: Message | None) -> Exchange:
        """A request of the session, and its answer to come."""
        return Exchange(http, send, request_id, params, ask=self.ask, headers=self.headers)

    async def answer(self, exchange: Exchange, run: Callable[[], Awaitable[Message]]) -> None:
        """Answer a request with what `run` gives, unless the client cancels it meanwhile; refuse a second of its id."""
        assert exchange.request_id is not None
        if exchange.request_id in self._in_flight:
            await exchange.answer(failure(None, ErrorData(code=INVALID_REQUEST, message=SAME_ID)), 400)
            return
        self._in_flight[exchange.request_id] = exchange
        try:
            # A client that goes has not cancelled anything: these revisions say so.
            with exchange.watched(None):
                answer = await run()
        finally:
            del self._in_flight[exchange.request_id]
        await exchange.answer(answer)

    async def _notified(self, http: Request, message: Message, send: Send) -> bool:
        """Take a notification; false when it is none."""
        method, params = message.get("method"), message.get("params")
        if not isinstance(method, str) or "id" in message or not (params is None or isinstance(params, dict)):
            return False
        if method == "notifications/cancelled":
            request_id = cancelled_request_id_from_params(params)
            found = None if request_id is None else self._named(request_id)
            if found is not None:
                found.cancel(ErrorData(code=CANCELLED, message="the request was cancelled"))
        await self._runner.on_notify(Exchange(http, send, None, params), method, params)
        return True

    def _named(self, request_id: RequestId) -> Exchange | None:
        """The request of this id; some clients write a number back as a text."""
        meant = coerce_request_id(request_id)
        alike = (exchange for one, exchange in self._in_flight.items() if coerce_request_id(one) == meant)
        return self._in_flight.get(request_id) or next(alike, None)

    def _heard(self, message: Message) -> bool:
        """Take the answer to something that the client was asked; false when it is none."""
        request_id = message.get("id")
        if "method" in message or isinstance(request_id, bool) or not isinstance(request_id, int | str):
            return False
        waiting = self._asked.get(coerce_request_id(request_id))
        result, error = message.get("result"), message.get("error")
        if waiting is not None and not waiting.done():
            if isinstance(result, dict):
                waiting.set_result(result)
            else:
                waiting.set_exception(_told(error))
        return isinstance(result, dict) or isinstance(error, dict)

    async def _listen(self, http: Request, receive: Receive, send: Send) -> None:
        """Send what the client is told unasked, until it goes or the session ends. There is one such stream."""
        if not check_accept_headers(http)[1]:
            await self._refuse(send, 406, "Not Acceptable: accept text/event-stream")
            return
        if self.stream is not None:
            await self._refuse(send, 409, "Conflict: there is a stream of this session already")
            return
        stream = self.stream = asyncio.Queue(UNREAD)
        gone = asyncio.create_task(_until_gone(receive, stream))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": [*STREAM, *self.headers]})
            await send({"type": "http.response.body", "body": PING, "more_body": True})
            while True:
                try:
                    async with asyncio.timeout(PING_S):
                        told = await stream.get()
                except TimeoutError:
                    await send({"type": "http.response.body", "body": PING, "more_body": True})
                    continue
                if told is None:
                    break
                await send({"type": "http.response.body", "body": event(told), "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self.stream = None
            gone.cancel()

    async def refuse_ended(self, send: Send) -> None:
        """Answer a request of a session that has ended."""
        await self._refuse(send, 404, "Not Found: the session has ended")

    async def _refuse(self, send: Send, status: int, words: str, *more: tuple[bytes, bytes]) -> None:
        error = ErrorData(code=INVALID_REQUEST, message=words)
        await send_json(send, failure(None, error), status, [*self.headers, *more])


class _Standalone:
    """The way to the client that belongs to no request of its own."""

    def __init__(self, transport: SessionTransport) -> None:
        self._transport = transport

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:  # noqa: ARG002 - as the SDK calls it
        if (stream := self._transport.stream) is not None:
            put(stream, notification(method, params))

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> Message:
        stream = self._transport.stream
        if stream is None:
            raise NoBackChannelError(method)

        async def say(message: Message) -> None:
            put(stream, message)

        return await self._transport.ask(say, method, params, opts or {})


def is_request(message: Message) -> bool:
    """Whether it is a well-formed request."""
    request_id = message.get("id")
    return (
        message.get("jsonrpc") == "2.0"
        and isinstance(message.get("method"), str)
        and isinstance(request_id, int | str)
        and not isinstance(request_id, bool)
        and isinstance(message.get("params", {}), dict)
    )


def put(stream: "asyncio.Queue[Message | None]", message: Message | None) -> None:
    """Put it on the stream; the oldest goes when that is full."""
    if stream.full():
        stream.get_nowait()
    stream.put_nowait(message)


def _told(error: Any) -> MCPError:
    """What the client answered in place of a result."""
    found = error if isinstance(error, dict) else {}
    code, words = found.get("code"), found.get("message")
    return MCPError(code if isinstance(code, int) else INVALID_REQUEST, str(words or "no result"), found.get("data"))


def _never_mind(request_id: int, reason: str) -> Message:
    return notification("notifications/cancelled", {"requestId": request_id, "reason": reason})


async def _until_gone(receive: Receive, stream: "asyncio.Queue[Message | None]") -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    put(stream, None)
