"""One HTTP/2 connection on the event loop: bytes in, events out, and what is queued leaves in one write for each turn.

The protocol itself (frames, header compression, flow control, and the limits that a hostile peer runs into) is
libnghttp2's. Nothing here runs beside the loop, so nothing is handed from thread to thread.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import cast

from ngh2 import (
    Configuration,
    Connection,
    ConnectionClosed,
    DataReceived,
    Event,
    NGH2Error,
    PingReceived,
    RequestReceived,
    ResponseReceived,
    Role,
    Setting,
    SettingsReceived,
    StreamClosed,
    TrailersReceived,
    WindowUpdated,
)

from interlock_gateway.http2.deadlines import Deadlines

FRAME_BYTES = 128 * 1024
STREAM_WINDOW = 1024 * 1024
LINK_WINDOW = 4 * 1024 * 1024
"""What the peer may send before it is read, for one stream and for all of them."""
WRITE_BYTES = 256 * 1024
QUEUED_BYTES = 256 * 1024
"""What one stream may have queued before whoever fills it waits."""
LITTLE_BYTES = 16 * 1024
ACKNOWLEDGE_S = 0.02
"""How long what is owed for a little that came, such as the answer to a ping, waits for company.

Clients and tools in some languages ping with every call, to measure the way; a write of its own for each answer would
wake them once more each time.
"""
FIRST_WORDS_S = 10.0
"""How long a peer may take until it has spoken HTTP/2."""
QUIET_S = 60.0
"""After how much silence a peer is asked whether it is there; it has as long to answer."""
_SETTINGS = {
    Setting.INITIAL_WINDOW_SIZE: STREAM_WINDOW,
    Setting.MAX_FRAME_SIZE: FRAME_BYTES,
    Setting.NO_RFC7540_PRIORITIES: 1,
}
HEAD_BYTES = 16 * 1024
"""What the fields of one head may hold; a few bytes on the wire can stand for all of them."""
_LIMITS = Configuration(max_inbound_header_list_size=HEAD_BYTES, max_inbound_header_count=128)
_OF_CALLS = frozenset(
    (RequestReceived, ResponseReceived, DataReceived, TrailersReceived, StreamClosed, PingReceived, WindowUpdated)
)
_log = logging.getLogger(__name__)


class Link(asyncio.Protocol):
    """What both ends of a connection have in common. `on_event` and `on_lost` are the subclass's."""

    def __init__(self, role: Role, settings: Mapping[Setting, int]) -> None:
        self.http2 = Connection(role, _LIMITS)
        self.spoke = False
        self.lost_by: Exception | None = None
        """What ended the connection, when it was not an end that either side meant."""
        self._settings = {**_SETTINGS, **settings}
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._full = False
        self._leaving = False
        self._owing: asyncio.TimerHandle | None = None
        self._heard = True
        self._asked = False
        self._clock: asyncio.TimerHandle | None = None
        self._waiters: list[tuple[int, asyncio.Future[None]]] = []
        self.deadlines = Deadlines(self._loop)
        """Those of the calls on this connection."""

    @property
    def open(self) -> bool:
        """Whether the connection is there, and is not being closed."""
        return self._transport is not None and not self._transport.is_closing()

    def on_event(self, event: Event) -> None:
        """Something has happened on the connection."""
        raise NotImplementedError

    def on_lost(self) -> None:
        """The connection is gone, with every stream on it."""
        raise NotImplementedError

    def stands_still(self) -> bool:
        """Whether what is queued has not moved since this was asked last, though the peer is there."""
        return False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Speak first: settings, and how much may be sent to us."""
        self._transport = cast("asyncio.Transport", transport)
        self.http2.initiate_connection(self._settings)
        self.http2.set_local_window_size(LINK_WINDOW)
        self._clock = self._loop.call_later(FIRST_WORDS_S, self._look)
        self.flush()

    def data_received(self, data: bytes) -> None:
        """Take in what came, act on it, and send what that made."""
        self._heard = True
        if not self._take_in(data):
            return
        if self._handle() and len(data) <= LITTLE_BYTES and not self.http2.queued_body_size():
            self._flush_sometime()
        else:
            self.flush()

    def _take_in(self, data: bytes) -> bool:
        """Give libnghttp2 what came; false when that broke the rules, and the connection is closed."""
        try:
            self.http2.receive_data(data)
        except NGH2Error as error:
            _log.info("a connection broke the rules of HTTP/2", extra={"problem": str(error)})
            self.abort()
            return False
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell whoever is waiting."""
        self.lost_by = exc
        self._transport = None
        if self._clock is not None:
            self._clock.cancel()
        if self._owing is not None:
            self._owing.cancel()
        self._wake()
        self.on_lost()
        self.deadlines.close()

    def pause_writing(self) -> None:
        """The peer does not read: neither do we, so that it cannot ask for more than it takes."""
        self._full = True
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        """The peer reads again."""
        self._full = False
        if self._transport is not None:
            self._transport.resume_reading()
        self.flush()

    def flush_soon(self) -> None:
        """Send what is queued at the end of this turn of the loop, with what else is queued until then."""
        if not self._leaving:
            self._leaving = True
            self._loop.call_soon(self._flush_left)

    def _flush_left(self) -> None:
        """Send what is queued, unless it was sent meanwhile."""
        if self._leaving:
            self.flush()

    def _flush_sometime(self) -> None:
        """Send what is queued with whatever is sent next, or in a moment."""
        if self._owing is None and not self._leaving:
            self._owing = self._loop.call_later(ACKNOWLEDGE_S, self._flush_owed)

    def _flush_owed(self) -> None:
        self._owing = None
        self.flush()

    def flush(self) -> None:
        """Send what is queued and may be sent."""
        self._leaving = False
        try:
            while self._transport is not None and not self._full and (data := self.http2.data_to_send(WRITE_BYTES)):
                self._transport.write(data)
        except NGH2Error as error:
            _log.warning("a connection cannot be written", extra={"problem": str(error)})
            self.abort()
            return
        self._handle()
        self._wake()

    async def room(self, stream_id: int) -> None:
        """Return when the stream may be given more to send, or the connection is gone."""
        while self._is_crowded(stream_id):
            waiter = self._loop.create_future()
            self._waiters.append((stream_id, waiter))
            await waiter

    def close(self) -> None:
        """Close the connection once what was written has left."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Close the connection now."""
        if self._transport is not None:
            self._transport.abort()

    def _handle(self) -> bool:
        """Act on what has happened; whether it was nothing but calls and what surrounds them."""
        of_calls, on_event = True, self.on_event
        for event in self.http2.events():
            kind = type(event)
            if kind not in _OF_CALLS:
                of_calls = False
                if kind is ConnectionClosed:
                    self.close()
                elif kind is SettingsReceived:
                    self.spoke = True
            on_event(event)
        return of_calls

    def _is_crowded(self, stream_id: int) -> bool:
        return self.open and (self._full or self.http2.queued_body_size(stream_id) > QUEUED_BYTES)

    def _wake(self) -> None:
        """Wake whoever may go on, and nobody else: a peer makes us look for the price of a ping."""
        if self._waiters:
            waiters, self._waiters = self._waiters, []
            for stream_id, waiter in waiters:
                if waiter.done():
                    continue
                if self._is_crowded(stream_id):
                    self._waiters.append((stream_id, waiter))
                else:
                    waiter.set_result(None)

    def _look(self) -> None:
        """Whether the peer is still there: every now and then, and not for every byte."""
        if not self.spoke or (self._asked and not self._heard) or self.stands_still():
            self.abort()
            return
        if not self._heard and self.open:
            self.http2.ping()
            self.flush()
        self._asked, self._heard = not self._heard, False
        self._clock = self._loop.call_later(QUIET_S, self._look)
