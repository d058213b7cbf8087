"""One call to a provider, and the connection that carries many: what comes back becomes messages and a status."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from ngh2 import (
    DataReceived,
    ErrorCode,
    Event,
    GoAwayReceived,
    ResponseReceived,
    Role,
    Setting,
    SettingsReceived,
    StreamClosed,
    TrailersReceived,
)

from interlock_gateway.http2.fields import Fields, first_of, is_grpc, unescaped
from interlock_gateway.http2.link import Link
from interlock_gateway.http2.messages import Assembler, MessageError
from interlock_gateway.http2.status import Status, StatusError

_OF_STREAM = frozenset((ResponseReceived, DataReceived, TrailersReceived, StreamClosed))
_STATUSES = {text: status for status in Status for text in (b"%d" % status, b"%02d" % status)}
_DETAILS = b"grpc-status-details-bin"
_HTTP = {401: Status.UNAUTHENTICATED, 403: Status.PERMISSION_DENIED, 404: Status.UNIMPLEMENTED}
_HTTP |= dict.fromkeys((429, 502, 503, 504), Status.UNAVAILABLE)


class Exchange:
    """One call from its request to its status. `ended` has no result, or the `StatusError`."""

    def __init__(self, on_message: Callable[[bytes], None], most: int) -> None:
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._on_message = on_message
        self._assembler = Assembler(most)
        self._status: StatusError | None = None
        self._ok = False

    def head(self, fields: Fields, *, last: bool) -> None:
        """The answer begins; `last` when its status is in it and nothing follows."""
        found = first_of(fields)
        status = found.get(b":status", b"")
        if status != b"200" and b"grpc-status" not in found:
            number = int(status) if status.isdigit() else 0
            self.fail(StatusError(_HTTP.get(number, Status.UNKNOWN), f"HTTP status {number}", from_peer=True))
        elif not is_grpc(found.get(b"content-type", b"")) and b"grpc-status" not in found:
            self.fail(StatusError(Status.UNKNOWN, "the answer is not gRPC", from_peer=True))
        elif last:
            self.tail(fields)

    def data(self, data: bytes) -> None:
        """Some of the answer."""
        try:
            messages = self._assembler.feed(data)
        except MessageError as error:
            self.fail(StatusError(Status.RESOURCE_EXHAUSTED, str(error)))
            return
        for message in messages:
            if self.ended.done():
                return
            try:
                self._on_message(message)
            except Exception as error:  # noqa: BLE001 - whoever reads the answer hears of it, not the connection
                self.ended.set_exception(error)

    def tail(self, fields: Fields) -> None:
        """The status."""
        found = first_of(fields)
        number = found.get(b"grpc-status", b"")
        status = _STATUSES.get(number, Status.UNKNOWN)
        if status is Status.OK:
            self._ok = True
            return
        words = unescaped(found.get(b"grpc-message", b"")) if number else "the answer ended without a status"
        self._status = StatusError(status, words, from_peer=bool(number), has_details=_DETAILS in found)

    def closed(self, code: int) -> None:
        """The stream is over; `code` says how."""
        if self._status is not None:
            self.fail(self._status)
        elif self._ok and not self._assembler.held:
            if not self.ended.done():
                self.ended.set_result(None)
        elif code == ErrorCode.REFUSED_STREAM:
            self.fail(StatusError(Status.UNAVAILABLE, "the call was not looked at", unsent=True))
        elif code == ErrorCode.CANCEL:
            self.fail(StatusError(Status.CANCELLED, "the call was cancelled"))
        else:
            self.fail(StatusError(Status.INTERNAL, f"the answer ended in the middle (HTTP/2 error {code})"))

    def expire(self) -> None:
        """The deadline has passed."""
        self.fail(StatusError(Status.DEADLINE_EXCEEDED, "the deadline passed"))

    def fail(self, error: StatusError) -> None:
        """End with `error`, unless it has ended."""
        if not self.ended.done():
            self.ended.set_exception(error)


class ClientConnection(Link):
    """The client's end of a connection."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        super().__init__(Role.CLIENT, {Setting.ENABLE_PUSH: 0})
        self.spoken: asyncio.Future[None] = self._loop.create_future()
        """Done when the other side has sent its settings; fails with `OSError` when it goes before that."""
        self._exchanges: dict[int, Exchange] = {}
        self._on_change = on_change
        self._going = False

    @property
    def ready(self) -> bool:
        """Whether calls can be made."""
        return self.open and self.spoke and not self._going

    @property
    def idle(self) -> bool:
        """Whether no call is under way."""
        return not self._exchanges

    @property
    def in_flight(self) -> int:
        """How many calls are under way."""
        return len(self._exchanges)

    def begin(self, fields: Iterable[tuple[bytes, bytes]], body: bytes, exchange: Exchange) -> int:
        """Send a request whole; the number of its stream. Raises `NGH2Error` when none can be sent."""
        stream_id = self.http2.send_request(fields)
        self.http2.send_data(stream_id, body, end_stream=True)
        self._exchanges[stream_id] = exchange
        self.flush_soon()
        return stream_id

    def let_go(self, stream_id: int) -> None:
        """Nobody waits for the answer any more: if it is still coming, say so."""
        if self._exchanges.pop(stream_id, None) is not None and self.open:
            self.http2.reset_stream(stream_id, ErrorCode.CANCEL)
            self.flush_soon()

    def on_event(self, event: Event) -> None:
        """Something of an answer has come, or the other side leaves."""
        kind = type(event)
        if kind is SettingsReceived:
            if not self.spoken.done():
                self.spoken.set_result(None)
        elif kind is GoAwayReceived:
            self._going = True
            self._on_change()
            self._leave()
        elif kind in _OF_STREAM:
            self._of_stream(event)

    def _of_stream(self, event: Any) -> None:
        exchange = self._exchanges.get(event.stream_id)
        if exchange is None:
            return
        kind = type(event)
        if kind is DataReceived:
            exchange.data(event.data)
        elif kind is ResponseReceived:
            exchange.head(event.headers, last=event.end_stream)
        elif kind is TrailersReceived:
            exchange.tail(event.headers)
        else:
            del self._exchanges[event.stream_id]
            exchange.closed(event.error_code)
            self._leave()

    def _leave(self) -> None:
        if self._going and not self._exchanges:
            self.close()

    def on_lost(self) -> None:
        """The connection is gone, and nobody knows what became of the calls on it."""
        if not self.spoken.done():
            meant = ConnectionError("the other side closed the connection")
            self.spoken.set_exception(self.lost_by if isinstance(self.lost_by, OSError) else meant)
        exchanges, self._exchanges = self._exchanges, {}
        for exchange in exchanges.values():
            exchange.fail(StatusError(Status.UNAVAILABLE, "the connection was lost"))
        self._on_change()
