"""One answer of an MCP server over HTTP: a message as JSON, or a stream of them as events."""

import asyncio
import logging

from interlock_gateway.providers.mcp.http1 import Headers, Wire
from interlock_gateway.providers.mcp.link import LinkError, Receive, RequestId
from interlock_gateway.providers.mcp.messages import NotAMessageError
from interlock_gateway.providers.mcp.sse import Event, EventReader, EventTooLargeError
from interlock_gateway.providers.mcp.throttle import Throttle, cost_of

DRAIN_S = 1.0
"""How long the rest of an answer may take whose message is there: then its connection can be used again."""
MAX_REFUSAL = 64 * 1024
JSON = b"application/json"
EVENTS = b"text/event-stream"
_log = logging.getLogger(__name__)


class Answer:
    """Takes an answer as it comes.

    `done` is there as soon as nothing more has to be waited for: `answered` has its result, or the answer has ended; or
    it fails with `LinkError`. `related` is the request it answers, `throttle` counts what nobody asked for.
    """

    def __init__(
        self,
        receive: Receive,
        throttle: Throttle,
        most: int,
        related: RequestId | None = None,
        answered: "asyncio.Future[object] | None" = None,
    ) -> None:
        self._receive = receive
        self._throttle = throttle
        self._most = most
        self._related = related
        self._answered = answered
        self._kept = bytearray()
        self._events: EventReader | None = None
        self._loop = asyncio.get_running_loop()
        self.done: asyncio.Future[None] = self._loop.create_future()
        self.wire: Wire | None = None
        self.status = 0
        self.headers: Headers = {}
        self.kind = b""
        self.last: Event | None = None

    @property
    def body(self) -> bytes:
        """What was kept of a refusal."""
        return bytes(self._kept)

    @property
    def is_success(self) -> bool:
        """Whether the server took the request."""
        return 200 <= self.status < 300  # noqa: PLR2004 - HTTP's successes

    def head(self, status: int, headers: Headers) -> None:
        """It begins."""
        self.status, self.headers = status, headers
        self.kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        if not self.is_success:
            self._most = MAX_REFUSAL
        elif self.kind == EVENTS:
            self._events = EventReader(self._most)

    def data(self, chunk: bytes) -> None:
        """Some of it."""
        if self.done.done():
            return
        if self._events is None:
            self._keep(chunk)
        else:
            self._stream(self._events, chunk)

    def end(self) -> None:
        """All of it was there."""
        if self.is_success and self.kind == JSON and self._kept and not self.done.done():
            self._message(self.body)
        self._finish()

    def failed(self, why: str) -> None:
        """No more of it comes."""
        if not self.done.done():
            if self.last is not None:
                self.done.set_result(None)  # the rest can be asked for
            else:
                self.done.set_exception(LinkError(why))

    def _finish(self) -> None:
        if not self.done.done():
            self.done.set_result(None)

    def _keep(self, chunk: bytes) -> None:
        self._kept += chunk
        if len(self._kept) > self._most:
            self._too_large()

    def _stream(self, events: EventReader, chunk: bytes) -> None:
        try:
            for event in events.feed(chunk):
                if event.event_id is not None:
                    self.last = event
                if event.data:
                    self._message(event.data)
        except EventTooLargeError:
            self._too_large()
            return
        if strays := events.strays:
            events.strays = 0
            self._slow_down(strays)
        if self._answered is not None and self._answered.done():
            self._finish()
            if self.wire is not None:
                self.wire.let_end(DRAIN_S, self)

    def _too_large(self) -> None:
        if not self.done.done():
            words = "its answer is too large" if not self.is_success else "it sent a message larger than"
            self.done.set_exception(LinkError(f"{words} {self._most} bytes" if self.is_success else words))
        if self.wire is not None:
            self.wire.abort()

    def _message(self, raw: bytes) -> None:
        try:
            wanted = self._receive(raw, self._related)
        except NotAMessageError:
            wanted = False
            _log.debug("an MCP server sent something that is no message")
        if not wanted:
            self._slow_down(cost_of(raw))

    def _slow_down(self, cost: int) -> None:
        pause_s = self._throttle.pause_s(self._loop.time(), cost)
        if pause_s and self.wire is not None:
            self.wire.pause(pause_s)
