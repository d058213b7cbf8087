"""One request over HTTP and its answer: JSON, or a stream of events when something was said before the answer.

The SDK's own transports pass every message through several streams and tasks, which costs more than the call. Here the
task that answers the HTTP request runs the handler, and what it says while it runs is written where the answer goes.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
from mcp.shared.dispatcher import CallOptions, OnRequest
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.jsonrpc_dispatcher import handler_exception_to_error_data, progress_token_from_params
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types import INTERNAL_ERROR, ErrorData, RequestId
from starlette.requests import Request
from starlette.types import Receive, Send

from interlock_gateway.transport.mcp.http_door import REPLY

Message = dict[str, Any]
Headers = list[tuple[bytes, bytes]]
Ask = Callable[[Callable[[Message], Awaitable[None]], str, Mapping[str, Any] | None, CallOptions], Awaitable[Message]]
"""Sends a request to the client with the given function, and waits for its answer."""
Reply = Callable[[int, Headers, bytes], Awaitable[None]]
"""Answers a request at once: a status, headers without the body's length, and the body."""
CANCELLED = -32800
"""The answer to a request that the client has cancelled: a request over HTTP has to be answered with something."""
LOOK_S = 0.1
"""After how long it is noticed from then on that the client has gone."""
PING_S = 15.0
"""After how long of silence a stream says that it is still there: what stands between could close it."""
PING = b": ping\r\n\r\n"
STREAM: Headers = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]
_log = logging.getLogger(__name__)
_encode = json.JSONEncoder(separators=(",", ":")).encode


class Exchange:
    """The SDK's `DispatchContext` of one request.

    `ask` sends requests to the client, where its revision knows that; `headers` stand on the answer.
    """

    def __init__(
        self,
        http: Request,
        send: Send,
        request_id: RequestId | None,
        params: Mapping[str, Any] | None,
        *,
        ask: Ask | None = None,
        headers: Headers | None = None,
    ) -> None:
        self.request_id = request_id
        self._http = http
        self._token = None if params is None else progress_token_from_params(params)
        self._send = send
        self._reply: Reply | None = http.scope.get(REPLY)
        self._ask = ask
        self._headers = headers or []
        self._writing: asyncio.Lock | None = None
        self._begun = False
        self._over = False
        self._cancel_requested: anyio.Event | None = None
        self._task: asyncio.Task[Any] | None = None
        self._why: ErrorData | None = None

    @property
    def transport(self) -> TransportContext:
        """What the SDK may know of what the request came in by."""
        return TransportContext(
            kind="streamable-http", can_send_request=self._ask is not None, headers=self._http.headers
        )

    @property
    def message_metadata(self) -> ServerMessageMetadata:
        """The HTTP request."""
        return ServerMessageMetadata(request_context=self._http)

    @property
    def can_send_request(self) -> bool:
        """Whether the client can be asked something now."""
        return self._ask is not None and not self._over

    @property
    def cancel_requested(self) -> anyio.Event:
        """Set when the client has cancelled the request."""
        if self._cancel_requested is None:
            self._cancel_requested = anyio.Event()
        return self._cancel_requested

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:  # noqa: ARG002 - as the SDK calls it
        """Say something to the client, before the answer."""
        if not self._over:
            await self._say(notification(method, params))

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Report progress, if the client asked for it."""
        if self._token is not None:
            told = {"progressToken": self._token, "progress": progress, "total": total, "message": message}
            await self.notify(
                "notifications/progress", {key: value for key, value in told.items() if value is not None}
            )

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> Message:
        """Ask the client something. Raises `MCPError`, `NoBackChannelError`."""
        if self._ask is None or self._over:
            raise NoBackChannelError(method)
        return await self._ask(self._say, method, params, opts or {})

    async def run(self, on_request: OnRequest, method: str, params: Mapping[str, Any] | None) -> Message:
        """The answer to the request, as a JSON-RPC message."""
        self._task = asyncio.current_task()
        error: ErrorData | None
        try:
            result = await on_request(self, method, params)
        except asyncio.CancelledError:
            error = self._why
            if error is None or self._task is None:
                raise
            self._task.uncancel()
        except Exception as problem:  # noqa: BLE001 - nothing unforeseen may show to a client
            error = handler_exception_to_error_data(problem)
            if error is None:
                _log.exception("an MCP request failed")
                error = ErrorData(code=INTERNAL_ERROR, message="Internal error")
        else:
            return {"jsonrpc": "2.0", "id": self.request_id, "result": result}
        finally:
            self._over = True
        return failure(self.request_id, error)

    def cancel(self, why: ErrorData) -> None:
        """End the request early; `why` is its answer. Asked for again, it changes nothing: it is ending already."""
        self.cancel_requested.set()
        if self._task is not None and not self._over and self._why is None:
            self._why = why
            self._task.cancel()

    async def answer(self, message: Message, status: int = 200) -> None:
        """Send the answer: as JSON, or as the last event of the stream that was begun.

        What was ended early is answered on a stream, for which clients do not wait any more.
        """
        if self._writing is None and self._why is None:
            if self._reply is not None:
                await self._reply(status, [(b"content-type", b"application/json"), *self._headers], encoded(message))
            else:
                await send_json(self._send, message, status, self._headers)
            return
        await self._write(event(message), last=True)

    def watched(self, receive: Receive | None) -> "Watch":
        """While in there: keep a stream alive that is silent, and end the request when its client goes.

        Without `receive` it goes on without its client.
        """
        return Watch(self, receive)

    async def until_gone(self, receive: Receive) -> None:
        """Wait for the client to go, and end the request then."""
        while (await receive())["type"] != "http.disconnect":
            pass
        self.cancel(ErrorData(code=CANCELLED, message="the client has gone"))

    async def ping(self) -> None:
        """Say again and again that the stream is still there; it is begun by that."""
        while True:
            await asyncio.sleep(PING_S)
            await self._write(PING)

    async def _say(self, message: Message) -> None:
        await self._write(event(message))

    async def _write(self, body: bytes, *, last: bool = False) -> None:
        """Write on the stream that is the answer. Whoever writes first begins it; behind the `last` nothing follows."""
        if self._writing is None:
            self._writing = asyncio.Lock()
        async with self._writing:
            if self._over and not last:
                return
            if not self._begun:  # whoever wanted to begin it may have been ended while the client did not read
                await self._send({"type": "http.response.start", "status": 200, "headers": [*STREAM, *self._headers]})
                self._begun = True
            await self._send({"type": "http.response.body", "body": body, "more_body": not last})


class Watch:
    """Looks after a request that takes longer than most do."""

    __slots__ = ("_exchange", "_receive", "_soon", "_tasks")

    def __init__(self, exchange: Exchange, receive: Receive | None) -> None:
        self._exchange = exchange
        self._receive = receive
        self._tasks: tuple[asyncio.Task[None], ...] = ()

    def __enter__(self) -> None:
        self._soon = asyncio.get_running_loop().call_later(LOOK_S, self._begin)

    def __exit__(self, *_: object) -> None:
        self._soon.cancel()
        for task in self._tasks:
            task.cancel()

    def _begin(self) -> None:
        loop = asyncio.get_running_loop()
        gone = () if self._receive is None else (loop.create_task(self._exchange.until_gone(self._receive)),)
        self._tasks = (*gone, loop.create_task(self._exchange.ping()))


def notification(method: str, params: Mapping[str, Any] | None) -> Message:
    """A notification as a JSON-RPC message."""
    told: Message = {"jsonrpc": "2.0", "method": method}
    return told if params is None else {**told, "params": dict(params)}


def failure(request_id: RequestId | None, error: ErrorData) -> Message:
    """An error as a JSON-RPC message."""
    return {"jsonrpc": "2.0", "id": request_id, "error": error.model_dump(mode="json", exclude_none=True)}


def encoded(message: Message) -> bytes:
    """A message as JSON; whatever is not ASCII is escaped, so that no line can break in it."""
    return _encode(message).encode()


def event(message: Message) -> bytes:
    """A message as an event of a stream."""
    return b"event: message\r\ndata: %b\r\n\r\n" % encoded(message)


async def send_json(send: Send, message: Message | None, status: int, headers: Headers) -> None:
    """Answer an HTTP request with a message, or with nothing but its status."""
    body = b"" if message is None else encoded(message)
    about = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), *headers]
    await send({"type": "http.response.start", "status": status, "headers": about})
    await send({"type": "http.response.body", "body": body, "more_body": False})
