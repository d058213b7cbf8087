"""The stream of one attached provider: requests leave as frames, answers are matched by number (contract.md).

What a provider may have unanswered is its own to say. A request that finds no place waits for one, as long as its call
has time; one that was not given to the stream before that ends has not been sent.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from interlock.v1 import provider_hub_service_pb2 as hub
from interlock.v1 import tool_provider_service_pb2 as rpc

from interlock_gateway.core.trace import TraceContext
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.http2.status import Status, StatusError
from interlock_gateway.providers.wire import MAX_MESSAGE, bounded

FIRST_WINDOW = 16
MAX_WINDOW = 256
"""How many requests are left unanswered at most, whatever window a provider gives."""
QUEUED_BYTES = 4 * 1024 * 1024
"""How much waits for a provider that does not read, besides one request, before others wait for their place."""
GOING = "the gateway is going away"
LOST = "the connection was lost"
BUSY = "the provider has no place for another request, and none became free in time"


@dataclass(slots=True, eq=False)
class _Request:
    """A request that was begun. `kind` is the name of its answer's frame; `sent` is set once it was given away."""

    frame: hub.AttachResponse
    kind: str
    until: float
    answer: "asyncio.Future[Any]"
    on_message: Callable[[Any], None] | None = None
    size: int = 0
    sent: bool = False


@dataclass(slots=True, eq=False)
class _Queue:
    """What is to leave, in order."""

    frames: deque[_Request | hub.AttachResponse] = field(default_factory=deque)
    more: asyncio.Event = field(default_factory=asyncio.Event)
    bytes: int = 0


class FrameLink:
    """Requests and answers of one stream. Whoever serves it hands in what comes, and sends what `frames` yields."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._window = FIRST_WINDOW
        self._last_id = 0
        self._requests: dict[int, _Request] = {}
        self._queue = _Queue()
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._promised = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._closing = ""
        self._over = False
        self._error: RequestError | None = None
        self._told: rpc.DescribeResponse | None = None
        self._telling = asyncio.Event()
        self.closed = asyncio.Event()
        """Set once nothing more is sent or answered."""

    @property
    def open(self) -> bool:
        """Whether requests are taken."""
        return not self._closing

    @property
    def in_flight(self) -> int:
        """How many requests have no answer yet, those that were not sent among them."""
        return len(self._requests)

    # -- what the provider sends --

    def take(self, frame: hub.AttachRequest) -> None:
        """One frame. Raises `RequestError` for one that cannot be; what comes too late or twice is passed over."""
        if frame.HasField("window"):
            self._window = min(frame.window, MAX_WINDOW)
            self._give_places()
        kind = frame.WhichOneof("frame")
        if kind == "description" and not frame.request_id:
            self._told = frame.description
            self._telling.set()
        elif kind is not None:
            request = self._request_of(frame.request_id)
            if request is not None:
                _answer(request, kind, frame)

    async def told(self) -> rpc.DescribeResponse:
        """The newest description that came unasked; waits for one."""
        while self._told is None:
            self._telling.clear()
            await self._telling.wait()
        told, self._told = self._told, None
        return told

    def close(self, error: RequestError | None = None) -> None:
        """End it: what was sent is of unknown outcome, what was not is not sent. `error` is what the provider hears."""
        if self._over:
            return
        self._over, self._error = True, error
        self._stop(LOST)
        for request in tuple(self._requests.values()):
            if not request.answer.done():
                request.answer.set_exception(StatusError(Status.UNAVAILABLE, LOST, unsent=not request.sent))
        self._queue.more.set()
        self.closed.set()

    # -- what the gateway sends --

    async def frames(self) -> AsyncIterator[hub.AttachResponse]:
        """What is to be sent, until the end. Raises the `RequestError` that it was closed with."""
        queue = self._queue
        while True:
            while queue.frames:
                given = queue.frames.popleft()
                if isinstance(given, _Request):
                    queue.bytes -= given.size
                    self._give_places()
                    if given.answer.done():
                        continue  # given up before it was sent
                    given.sent = True
                    given.frame.timeout.FromNanoseconds(max(1, int((given.until - self._loop.time()) * 1e9)))
                    yield given.frame
                else:
                    yield given
            if self._over:
                if self._error is not None:
                    raise self._error
                return
            queue.more.clear()
            await queue.more.wait()

    async def ask(
        self,
        kind: str,
        message: Any,
        timeout_s: float,
        trace: TraceContext | None = None,
        on_message: Callable[[Any], None] | None = None,
    ) -> Any:
        """Send a request, and return its answer. Raises `StatusError`, as a call to a provider that listens would."""
        request = None
        until = self._loop.time() + timeout_s
        try:
            async with asyncio.timeout_at(until):
                await self._place()
                request = self._begun(kind, message, until, trace, on_message)
                return await request.answer
        except TimeoutError:
            if request is None or not request.sent:
                raise StatusError(Status.UNAVAILABLE, BUSY, unsent=True) from None
            self._cancel(request, "the deadline passed")
            raise StatusError(Status.DEADLINE_EXCEEDED, "the deadline passed") from None
        except asyncio.CancelledError:
            if request is not None and request.sent:
                self._cancel(request, "the caller has gone")
            raise
        finally:
            if request is not None:
                self._ended(request)

    async def drain(self, grace_s: float) -> None:
        """Take no new requests, wait until those under way have ended, say goodbye, and end."""
        self._stop(GOING)
        await self._idle.wait()
        goodbye = hub.AttachResponse()
        goodbye.drain.grace.FromNanoseconds(int(grace_s * 1e9))
        self._queue.frames.append(goodbye)
        self.close()

    def _begun(
        self,
        kind: str,
        message: Any,
        until: float,
        trace: TraceContext | None,
        on_message: Callable[[Any], None] | None,
    ) -> _Request:
        self._last_id += 1
        frame = hub.AttachResponse(request_id=self._last_id, **{kind: message})
        if trace is not None:
            frame.metadata["traceparent"] = trace.traceparent
            if trace.state:
                frame.metadata["tracestate"] = trace.state
        answered = "description" if kind == "describe" else kind
        request = _Request(frame, answered, until, self._loop.create_future(), on_message, frame.ByteSize())
        self._requests[self._last_id] = request
        self._promised -= 1
        self._idle.clear()
        self._queue.bytes += request.size
        self._queue.frames.append(request)
        self._queue.more.set()
        return request

    def _ended(self, request: _Request) -> None:
        self._requests.pop(request.frame.request_id, None)
        request.answer.cancel()
        if request.answer.done() and not request.answer.cancelled():
            request.answer.exception()  # its caller may have gone; looked at so that nobody complains
        if not self._requests:
            self._idle.set()
        self._give_places()

    def _cancel(self, request: _Request, reason: str) -> None:
        self._queue.frames.append(
            hub.AttachResponse(request_id=request.frame.request_id, cancel=hub.AttachCancel(reason=reason))
        )
        self._queue.more.set()

    def _request_of(self, request_id: int) -> _Request | None:
        request = self._requests.get(request_id)
        if request is None and 0 < request_id <= self._last_id:
            return None
        if request is None or not request.sent:
            words = f"there is no request {request_id} to answer"
            raise RequestError(RequestFault.INVALID_FIELD, words, field="request_id")
        return request

    # -- places --

    async def _place(self) -> None:
        """Return with a place for one request. Raises `StatusError` when none is given any more."""
        if self._closing:
            raise StatusError(Status.UNAVAILABLE, self._closing, unsent=True)
        if not self._waiting and self._has_place():
            self._promised += 1
            return
        waiter = self._loop.create_future()
        self._waiting.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                self._promised -= 1
                self._give_places()
            raise
        finally:
            with suppress(ValueError):
                self._waiting.remove(waiter)

    def _has_place(self) -> bool:
        return len(self._requests) + self._promised < self._window and self._queue.bytes <= QUEUED_BYTES

    def _give_places(self) -> None:
        while self._waiting and self._has_place():
            waiter = self._waiting.popleft()
            if not waiter.done():
                self._promised += 1
                waiter.set_result(None)

    def _stop(self, words: str) -> None:
        self._closing = self._closing or words
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_exception(StatusError(Status.UNAVAILABLE, words, unsent=True))


def _answer(request: _Request, kind: str, frame: hub.AttachRequest) -> None:
    answer = request.answer
    if answer.done():
        return
    if kind == "error":
        answer.set_exception(_status(frame))
    elif kind != request.kind:
        answer.set_exception(StatusError(Status.INTERNAL, f"{request.kind} was answered with {kind}"))
    elif kind == "execute":
        _happened(request, frame.execute)
    else:
        answer.set_result(getattr(frame, kind))


def _happened(request: _Request, event: rpc.ExecuteResponse) -> None:
    kind = event.WhichOneof("event")
    if kind is None:
        request.answer.set_exception(StatusError(Status.INTERNAL, "an event of the call is empty"))
        return
    if request.on_message is not None:
        request.on_message(event)
    if kind == "result":
        request.answer.set_result(event)


def _status(frame: hub.AttachRequest) -> StatusError:
    given = frame.error
    try:
        code = Status(given.code)
    except ValueError:
        code = Status.UNKNOWN
    if code is Status.OK:
        code = Status.INTERNAL
    return StatusError(code, bounded(given.message, MAX_MESSAGE), from_peer=True, has_details=bool(given.reason))
