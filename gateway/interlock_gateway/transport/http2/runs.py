"""Requests that are refused alike and come one after another, taken out of what libnghttp2 is given (REL-8).

Most of what a refusal costs is the life of its stream: it is opened, its data is handed on, it is answered, it is
closed, and every step is an event. Of such a run libnghttp2 is given the last request as it came, and before it the
heads of the others as one, on a stream that has ended: it decodes them, as it has to, and throws them away. All others
are answered here. It has then seen the highest id, so that whatever comes for those it never saw is for streams that
have ended. A request that is not whole, or is written in any unusual way, is never part of a run, nor is anything but
requests; so the order of everything else stays as it is, and its rules are libnghttp2's to watch.
"""

from dataclasses import dataclass, field
from struct import Struct
from typing import Protocol

from interlock_gateway.transport.http2.alike import Alike, varies
from interlock_gateway.transport.http2.blocks import Blocks
from interlock_gateway.transport.http2.framing import (
    CONTINUATION,
    END_HEADERS,
    END_STREAM,
    FRAME,
    HEAD_BYTES,
    HEADERS,
    PREFACE_BYTES,
    PUSH_PROMISE,
    WINDOW_UPDATE,
    frame,
)

MOST_BYTES = 16_384
"""The largest frame that everybody may send: larger ones are not of a run."""
LEAST_RUN = 4
"""Shorter runs are not worth it."""
RUNS_A_SECOND = 150
"""libnghttp2 ends a connection that brings more than 330 heads a second, over a while, for streams that have ended."""
MOST_TAKEN = 1024
"""So many are taken out of one read: their answers are larger than they may be, and a connection may have as many more
streams."""
MOST_BODY = 16_384
"""Requests with more data are not of a run: it is less than any window."""
MOST_STRANGE = 64
"""Heads in one read that are like none before: with more of them it is not worth it to look at any."""
_HEADS = frozenset((HEADERS, PUSH_PROMISE, CONTINUATION))
"""The frames that say what is in the head of a request, or go on with it."""
_WHOLE_HEAD = END_HEADERS | END_STREAM
_NO_ID = 1 << 31
_KIND, _SHORT = 0xFF, 0xFFFF00FF
_MOST_BODY = MOST_BODY << 8 | _KIND
_WINDOW_BYTES = 4
_WINDOW = _WINDOW_BYTES << 8 | WINDOW_UPDATE
_MOST_WINDOW = 1 << 20
_LEAST_BYTES = 2 * HEAD_BYTES + 1
_SHAPES = tuple(Struct(f">IBi{size}sIBi") if size else None for size in range(256))
"""A head of so many bytes in its frame, and how the frame of the data behind it begins."""


@dataclass(slots=True)
class _Run:
    """Requests that come one after another: where each begins, its stream, its head, and how much follows."""

    starts: list[int] = field(default_factory=list)
    streams: list[int] = field(default_factory=list)
    blocks: list[bytes] = field(default_factory=list)
    bodies: list[int] = field(default_factory=list)

    def clear(self) -> None:
        self.starts.clear()
        self.streams.clear()
        self.blocks.clear()
        self.bodies.clear()


class Fed(Protocol):
    """Where frames go."""

    alike: Alike | None
    """What is refused in this read, once something was."""
    ended_id: int
    """A stream that has ended; 0 if there was none."""

    def feed(self, data: bytes) -> bool:
        """Give it to libnghttp2 and act on it; false when the connection is over."""


class Frames:
    """Knows where the frames of a connection begin, and finds the runs in them."""

    __slots__ = (
        "_ahead", "_alike", "_blocks", "_data", "_fed", "_held", "_last", "_newest", "_pieces", "_run", "_second",
        "_spent", "_strange", "_swallowed", "_taken",
    )  # fmt: skip

    def __init__(self) -> None:
        self._swallowed = 0
        self._ahead = PREFACE_BYTES
        self._held = b""
        self._blocks = Blocks()
        self._alike: Alike | None = None
        self._data = b""
        self._fed = 0
        self._pieces: list[bytes] = []
        self._run = _Run()
        self._last = _NO_ID
        self._newest = 0
        self._strange = 0
        self._second = 0
        self._spent = 0
        self._taken = 0

    def skim(self, data: bytes) -> bytes:
        """Pass over what was read without looking for runs; what of it is to be given to libnghttp2."""
        if self._held:
            data, self._held = self._held + data, b""
        at, size, heads = self._ahead, len(data), False
        while at + HEAD_BYTES <= size:
            heads = heads or data[at + 3] in _HEADS
            at += HEAD_BYTES + int.from_bytes(data[at : at + 3])
        if heads:
            self._blocks.forget()
        return data[: self._hold(data, at)]

    def read(self, data: bytes, to: Fed, now: float, room: int) -> bool:
        """Feed what was read, but for the runs in it; false when the connection is over.

        `room` is about how many requests will not be refused: those are fed together, and after that each by itself
        until one is.
        """
        if self._held:
            data, self._held = self._held + data, b""
        if int(now) != self._second:
            self._second, self._spent = int(now), 0
        self._data, self._fed = data, 0
        self._pieces.clear()
        self._run.clear()
        self._last = _NO_ID
        self._newest = self._strange = self._taken = 0
        at = self._look(data, to, room)
        if at >= 0 and self._run.starts:
            self._close_run(to)
        is_open = at >= 0 and self._feed(self._hold(data, at), to)
        self._data, self._alike = b"", None  # they may be large, and there may be many connections
        return is_open

    def take_swallowed(self) -> int:
        """How many bytes of data were in runs since this was last asked. They count in the connection's window."""
        swallowed, self._swallowed = self._swallowed, 0
        return swallowed

    def _look(self, data: bytes, to: Fed, room: int) -> int:
        """Find the runs; up to where was looked, or -1 when the connection is over."""
        at, size = self._ahead, len(data)
        while at + HEAD_BYTES <= size:
            if (
                self._last != _NO_ID
                and to.alike is self._alike
                and (end := self._extend(data, at, MOST_TAKEN - self._taken)) > at
            ):
                at = end
                continue
            if room and to.alike is None:
                at, room = self._pass_by(data, at, room), 0
                continue
            if self._run.starts:
                self._close_run(to)
            begin, flags, stream = FRAME.unpack_from(data, at)
            end = at + HEAD_BYTES + (begin >> 8)
            if begin & _KIND != HEADERS:
                if begin & _KIND in _HEADS:
                    self._blocks.forget()
            elif flags | END_STREAM != _WHOLE_HEAD or end - at > MOST_BYTES:
                self._blocks.forget()
                self._newest = max(self._newest, stream & ~_NO_ID)
            elif end > size:
                return at
            else:
                end = self._request(data, at, end, to)
                if end < 0:
                    return end
            at = end
        return at

    def _pass_by(self, data: bytes, at: int, count: int) -> int:
        """Pass over at most so many whole requests that match, to be fed with what comes behind them; up to where."""
        self._last = 0
        end = self._extend(data, at, count)
        self._run.clear()
        self._last = _NO_ID
        return end

    def _extend(self, data: bytes, at: int, most: int) -> int:
        """Add whole requests that match to the run, one after another, `most` at most; up to where."""
        run, matches, last, size = self._run, self._blocks.matches, self._last, len(data)
        starts, streams, blocks, bodies = run.starts, run.streams, run.blocks, run.bodies
        while (
            len(starts) < most
            and at + _LEAST_BYTES <= size
            and (shape := _SHAPES[data[at + 2]]) is not None
            and at + shape.size <= size
        ):
            head, flags, stream, block, body, ends, other = shape.unpack_from(data, at)
            end = at + shape.size
            if body == _WINDOW and other == stream and not ends and _is_window(data, end):
                body, ends, other = FRAME.unpack_from(data, end + _WINDOW_BYTES)
                end += _WINDOW_BYTES + HEAD_BYTES
            end += body >> 8
            if flags != END_HEADERS or ends != END_STREAM or other != stream or stream <= last or end > size:
                break
            if head & _SHORT != HEADERS or body & _KIND or body > _MOST_BODY or not stream & 1 or not matches(block):
                break
            starts.append(at)
            streams.append(stream)
            blocks.append(block)
            bodies.append(body >> 8)
            at, last = end, stream
        self._last = last
        self._newest = max(self._newest, last)
        return at

    def _request(self, data: bytes, at: int, end: int, to: Fed) -> int:
        """Feed a request with this head, alone if it is whole, and see what becomes of it; up to where, or -1."""
        block, blocks = data[at + HEAD_BYTES : end], self._blocks
        stream = int.from_bytes(data[at + 5 : at + HEAD_BYTES]) & ~_NO_ID
        matched = blocks.matches(block)
        if not matched:
            self._strange += 1
            if self._strange > MOST_STRANGE:
                return self._pass_over(data, at)
        known = matched or blocks.passes(block)
        # What comes later on a stream are trailers: they say nothing about what was refused there.
        is_first, self._newest = stream > self._newest, max(self._newest, stream)
        whole = end if data[at + 4] & END_STREAM else _end_of(data, end, stream)
        if matched and self._last != _NO_ID and to.alike is self._alike:
            whole = 0  # like those before it, though it is not of a run
        if whole and not self._feed(whole, to):
            return -1
        alike = to.alike
        if whole and is_first and alike is not None and alike.has(stream):
            if not known or not (matched or blocks.learn(block, alike.head, varies)):
                return self._pass_over(data, whole)
            self._alike, self._last = alike, stream
        elif self._last != _NO_ID:
            self._last = max(self._last, stream)
        return whole or end

    def _pass_over(self, data: bytes, at: int) -> int:
        """Look for no more runs: up to where."""
        self._blocks.forget()
        while at + HEAD_BYTES <= len(data):
            at += HEAD_BYTES + int.from_bytes(data[at : at + 3])
        return at

    def _close_run(self, to: Fed) -> None:
        """Take all requests of the run but the last out of what is fed, if there are enough of them."""
        run = self._run
        if len(run.starts) > LEAST_RUN and to.ended_id and to.alike is not None and self._spent < RUNS_A_SECOND:
            begin, end = run.starts[0], run.starts[-1]
            heads = b"".join(run.blocks[:-1])
            if len(heads) <= MOST_BYTES:
                self._spent += 1
                self._pieces += (self._data[self._fed : begin], frame(HEADERS, _WHOLE_HEAD, to.ended_id, heads))
                self._fed = end
                self._taken += len(run.starts) - 1
                to.alike.take_unseen(run.streams[:-1])
                self._swallowed += sum(run.bodies[:-1])
        run.clear()

    def _feed(self, end: int, to: Fed) -> bool:
        pieces, data = self._pieces, self._data
        if pieces:
            pieces.append(data[self._fed : end])
            data = b"".join(pieces)
            pieces.clear()
        elif self._fed or end < len(data):
            data = data[self._fed : end]
        self._fed = end
        return to.feed(data)

    def _hold(self, data: bytes, at: int) -> int:
        """Hold back the beginning of a frame, and count on the rest of one that is not; where what is held begins."""
        self._ahead = max(0, at - len(data))
        if at >= len(data):
            return len(data)
        self._held = data[at:]
        self._ahead = 0
        return at


def _is_window(data: bytes, at: int) -> bool:
    """Whether a usual window is said there, and there is more behind it: clients in C say one with every request."""
    more = at + _WINDOW_BYTES + HEAD_BYTES <= len(data)
    return more and 0 < int.from_bytes(data[at : at + _WINDOW_BYTES]) <= _MOST_WINDOW


def _end_of(data: bytes, at: int, stream: int) -> int:
    """Where the request ends of which the data begins there; 0 if not all of it is there, or something between."""
    while at + HEAD_BYTES <= len(data):
        begin, flags, other = FRAME.unpack_from(data, at)
        at += HEAD_BYTES + (begin >> 8)
        if begin == _WINDOW and other == stream and not flags:
            continue
        if begin & _KIND or other != stream or flags > END_STREAM:
            return 0
        if flags:
            return at if at <= len(data) else 0
    return 0
