"""One client's connection: its streams become calls; what is no gRPC call is refused before anything looks at it."""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress

from ngh2 import (
    DataReceived,
    ErrorCode,
    Event,
    NGH2Error,
    RequestReceived,
    Role,
    Setting,
    StreamClosed,
    TrailersReceived,
)

from interlock_gateway.core.session import Principal
from interlock_gateway.errors import RequestError
from interlock_gateway.http2.fields import (
    CONTENT_TYPE,
    TRACE_PARENT,
    Fields,
    Metadata,
    first_of,
    is_grpc,
    seconds_of,
    trace_of,
)
from interlock_gateway.http2.status import Status, StatusError
from interlock_gateway.identity.peer import Peer
from interlock_gateway.transport.http2.alike import Alike
from interlock_gateway.transport.http2.call import Call, status_fields
from interlock_gateway.transport.http2.crowded import InACrowd
from interlock_gateway.transport.http2.intake import SHARES, Intake
from interlock_gateway.transport.tls.connected import OtherProtocolError, connected_peer

STREAMS = 2048
"""Calls that one connection may have under way at once; the gateway's own bound on calls in flight is lower."""

UNREAD_BYTES = 64 * 1024 * 1024
"""Answers that one connection may leave unread before its next calls are refused: they wait here, whatever deadline."""
ALL_UNREAD_BYTES = 4 * UNREAD_BYTES
UNREAD_SHARE_BYTES = 1024 * 1024
"""Answers that all connections of a listener may leave unread before those that left more than a little are refused."""
DIALOGUES = 32
"""Dialogues that a listener has under way at once: anybody may begin one, and each may hold a megabyte or two."""
ANYBODYS_CALLS = 64
"""Calls that anybody may make, such as watches of health, that one connection may have under way at once."""
LAST_HEARD_S = 1.0
"""How long a client is listened to that has been told all, and does not close."""
_PLAIN = (b"grpc-accept-encoding", b"identity")

_log = logging.getLogger(__name__)


class ServerConnection(InACrowd):
    """The server's end of a connection."""

    def __init__(self, intake: Intake) -> None:
        super().__init__(Role.SERVER, {Setting.MAX_CONCURRENT_STREAMS: STREAMS})
        self._intake = intake
        self._calls: dict[int, Call] = {}
        self._held = 0
        self._anybodys = 0
        self._given = 0
        self._unread = 0
        self._taken: int | None = None
        self._going = False
        self._refused: set[int] = set()
        self._resetting = False
        self._choked: set[int] = set()
        self._parted = False
        self.peer = Peer(local=False)
        """The other end."""

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls under way."""
        return tuple(self._calls.values())

    @property
    def owes(self) -> bool:
        """Whether answers that were given have not left yet."""
        return self._unread > 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin. When there are too many connections, one of nobody known has to go, which may be this one."""
        self._intake.connections.add(self)
        self._intake.strangers[self] = None
        self._intake.empty.clear()
        super().connection_made(transport)
        try:
            self.peer = connected_peer(transport)
        except OtherProtocolError:
            self.is_other = True
        except ValueError as error:
            if self._intake.seldom.allows(str(error), self._loop.time()):
                _log.info("a connection was closed", extra={"problem": str(error)})
            self.abort()
        if self.peer.encrypted:
            self.speak()  # that it is HTTP/2 was agreed on
        if self._intake.is_too_full:
            self._intake.make_room()

    def data_received(self, data: bytes) -> None:
        """Take in what came; while calls are refused here, only every now and then what has come until then."""
        if self._parted:
            return
        if self.silent and not self.greeted(data):
            self._part()
            return
        self.receive(data, self._intake.gate)

    def resume_writing(self) -> None:
        """The client reads again: it is read again, too, unless there is another reason not to."""
        super().resume_writing()
        self._listen_or_not()

    def _listen_or_not(self) -> None:
        if self._transport is None or not self.open:
            return
        if self._paused or self._full or self._choked:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def flush(self) -> None:
        """Send what may be sent, and note what has to wait for the client."""
        if self._parted:
            return
        super().flush()
        unread = self.http2.queued_body_size() if self.open else 0
        if unread != self._unread:
            self._intake.unread += unread - self._unread
            self._unread = unread

    def stands_still(self) -> bool:
        """Whether the client left everything unread since this was asked last, though it answers pings."""
        before, self._taken = self._taken, self._given - self._unread if self._unread else None
        return before is not None and self._taken == before

    def on_event(self, event: Event) -> None:
        """A stream begins, goes on, or ends."""
        kind = type(event)  # mypy does not narrow by `type() is`, and isinstance is slower
        if kind is RequestReceived:
            if self.alike is None or not self.alike.take(event):  # type: ignore[arg-type]  # as above
                self._begin(event)  # type: ignore[arg-type]  # as above
        elif kind is DataReceived:
            stream_id = event.stream_id  # type: ignore[attr-defined]  # as above
            if stream_id in self._calls:
                self._more(stream_id, event.data, last=event.end_stream)  # type: ignore[attr-defined]  # as above
            elif event.end_stream:  # type: ignore[attr-defined]  # as above
                self._refused.discard(stream_id)
        elif kind is TrailersReceived:
            self._more(event.stream_id, b"", last=True)  # type: ignore[attr-defined]  # as above
        elif kind is StreamClosed:
            call = self._calls.pop(event.stream_id, None)  # type: ignore[attr-defined]  # as above
            if call is not None:
                self._forget(call)
            self.ended_id = event.stream_id  # type: ignore[attr-defined]  # as above
            if self._going:
                self._leave()

    def on_lost(self) -> None:
        """The client is gone, and waits for nothing any more."""
        self._intake.forget(self, self._holder)
        self._intake.unread -= self._unread
        self._unread = 0
        calls, self._calls = self._calls, {}
        for call in calls.values():
            self._forget(call)

    def go_away(self) -> None:
        """Take no new calls; close once those under way have ended."""
        if not self._going and self.open:
            self._going = True
            self.http2.send_goaway()
            self.speak()
            self._leave()

    def end(self, words: str = "the gateway is shutting down") -> None:
        """End every call that is still under way, with these words, and close."""
        for call in self.calls:
            call.fail(StatusError(Status.UNAVAILABLE, words))
        self.flush()
        self._part()

    def head(self, stream_id: int, fields: Fields, *, last: bool) -> None:
        """Send the head of an answer."""
        if self._has(stream_id):
            with suppress(NGH2Error):  # closed by what is next to be handled
                self.http2.send_response(stream_id, fields, end_stream=last)
            self.flush_soon()

    def body(self, stream_id: int, data: bytes) -> None:
        """Send some of an answer."""
        if self._has(stream_id):
            with suppress(NGH2Error):  # closed by what is next to be handled
                self.http2.send_data(stream_id, data)
                self._given += len(data)
            self.flush_soon()

    def tail(self, stream_id: int, fields: Fields) -> None:
        """Send an answer's trailers, and end it."""
        if self._has(stream_id):
            with suppress(NGH2Error):  # closed by what is next to be handled
                self.http2.send_trailers(stream_id, fields)
            self.flush_soon()

    def answer(self, stream_id: int, head: Fields, data: bytes, tail: Fields) -> None:
        """Send a whole answer at once."""
        if self._has(stream_id):
            with suppress(NGH2Error):  # closed by what is next to be handled
                self.http2.send_response(stream_id, head)
                self.http2.send_data(stream_id, data)
                self._given += len(data)
                self.http2.send_trailers(stream_id, tail)
            self.flush_soon()

    def unwanted(self, stream_id: int) -> None:
        """Tell the client to stop sending a request that has been answered (RFC 9113, section 8.1)."""
        self._refused.add(stream_id)
        self._reset_soon()

    def hold(self, count: int) -> bool:
        """Count bytes of unfinished requests, here and over all connections; false when that are too many."""
        intake = self._intake
        self._held += count
        intake.held += count
        return intake.held <= intake.most_held and self._held * SHARES <= intake.most_held

    def choke(self, stream_id: int, *, choked: bool) -> None:
        """Read nothing more while what came on this stream waits to be read."""
        if choked != (stream_id in self._choked):
            (self._choked.add if choked else self._choked.discard)(stream_id)
            self._listen_or_not()

    def _forget(self, call: Call) -> None:
        self._intake.dialogues -= call.is_dialogue
        self._anybodys -= call.is_anybodys
        self._passing_by -= call.passes_by
        call.gone()

    def _has(self, stream_id: int) -> bool:
        return stream_id in self._calls and self.open

    def _more(self, stream_id: int, data: bytes, *, last: bool) -> None:
        call = self._calls.get(stream_id)
        if call is not None:
            call.receive(data, last=last)
        if last:
            self._refused.discard(stream_id)

    def _begin(self, request: RequestReceived) -> None:
        fields = first_of(request.headers)
        stream_id = request.stream_id
        if fields.get(b":method") != b"POST":
            self._refuse(stream_id, StatusError(Status.UNIMPLEMENTED, "gRPC calls are POST requests"), b"405")
            return
        if not is_grpc(fields.get(b"content-type", b"")):
            words = "the content-type is not application/grpc"
            self._refuse(stream_id, StatusError(Status.INVALID_ARGUMENT, words), b"415")
            return
        gate = self._intake.gate
        before = gate.refusals.total if gate is not None else 0
        try:
            call = self._admitted(request, fields)
        except (RequestError, StatusError) as error:
            if gate is not None and gate.refusals.total > before and isinstance(error, RequestError):
                self.answer_alike()
                served = self._intake.served[fields[b":path"]]
                self.alike = Alike(stream_id, request.headers, served, error, self._refused)
            self._refuse(stream_id, error)
            return
        if call.passes_by:
            self._passing_by += 1
            self._passed_by_at = self._loop.time()
        self._intake.dialogues += call.is_dialogue
        self._anybodys += call.is_anybodys
        self._calls[stream_id] = call
        if request.end_stream:
            call.receive(b"", last=True)
        else:
            call.wait_for_more()

    def _admitted(self, request: RequestReceived, fields: Mapping[bytes, bytes]) -> Call:
        """The call, if it may be made. Its caller is looked at before anything is held, and its fields are not kept."""
        served = self._intake.served.get(fields.get(b":path", b""))
        if served is None:
            raise StatusError(Status.UNIMPLEMENTED, self._intake.nothing_here)
        timeout = fields.get(b"grpc-timeout")
        try:
            deadline_s = seconds_of(timeout) if timeout is not None else None
        except ValueError as error:
            raise StatusError(Status.INVALID_ARGUMENT, str(error)) from None
        if self._unread > (UNREAD_BYTES if self._intake.unread <= ALL_UNREAD_BYTES else UNREAD_SHARE_BYTES):
            raise StatusError(Status.RESOURCE_EXHAUSTED, "read the answers to the calls before this one")
        if served.admit is None and self._anybodys >= ANYBODYS_CALLS:
            words = f"{ANYBODYS_CALLS} calls that need no credentials are under way on this connection already"
            raise StatusError(Status.RESOURCE_EXHAUSTED, words)
        if served.dialogue is not None and self._intake.dialogues >= DIALOGUES:
            raise StatusError(Status.RESOURCE_EXHAUSTED, f"{DIALOGUES} dialogues are under way already")
        trace = trace_of(request.headers) if TRACE_PARENT in fields else None
        most = self._intake.max_bytes
        principal = None if served.admit is None else served.admit(Metadata(request.headers), self.peer)
        if isinstance(principal, Principal) and not self._holder and self._intake.know(self, principal.id):
            self._holder = principal.id
        return Call(self, request.stream_id, served, principal, deadline_s=deadline_s, trace=trace, max_bytes=most)

    def _refuse(self, stream_id: int, error: RequestError | StatusError, http_status: bytes = b"200") -> None:
        fields = [(b":status", http_status), CONTENT_TYPE, *status_fields(error), _PLAIN]
        with suppress(NGH2Error):  # the client has already let go of it
            self.http2.send_response(stream_id, fields, end_stream=True)
        self.unwanted(stream_id)

    def _reset_soon(self) -> None:
        # Behind the answers, which are sent at the end of this turn: a stream that is to be reset sends nothing more.
        self.flush_soon()
        if self._refused and not self._resetting:
            self._resetting = True
            self._loop.call_soon(self._reset)

    def _reset(self) -> None:
        self._resetting = False
        refused, self._refused = self._refused, set()
        if refused and self.open and not self._full:
            for stream_id in refused:
                with suppress(NGH2Error):  # the stream has ended by itself
                    self.http2.stream_local_window_size(stream_id)
                    self.http2.reset_stream(stream_id, ErrorCode.NO_ERROR)
            self.flush()

    def _leave(self) -> None:
        if not self._calls:
            self._part()

    def _part(self) -> None:
        """Say no more, and close when the client has, or soon.

        Closed at once, while the client is saying something, it may throw away the answers that it has not read yet.
        """
        if self._parted or self._transport is None or not self.open:
            return
        if not self._transport.can_write_eof():
            self.close()
            return
        self._parted = True
        self._transport.write_eof()
        self._loop.call_later(LAST_HEARD_S, self.close)
