"""Calls that are refused like one before them, without each being looked at (REL-8)."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import itemgetter

from ngh2 import Connection, NGH2Error, RequestReceived

from interlock_gateway.errors import RequestError
from interlock_gateway.http2.fields import CONTENT_TYPE, TRACE_PARENT, TRACE_STATE
from interlock_gateway.transport.grpc.endpoint import Served
from interlock_gateway.transport.http2.call import Field, status_fields
from interlock_gateway.transport.http2.framing import (
    END_HEADERS,
    END_STREAM,
    HEAD_BYTES,
    HEADERS,
    ID,
    frame,
    written_out,
)

Head = tuple[Field, ...]
PLAIN = (b"grpc-accept-encoding", b"identity")
VARYING = frozenset((b"grpc-timeout", TRACE_PARENT, TRACE_STATE))
"""The fields that say neither who calls nor what."""


class Alike:
    """What was read together with a call that the gate refused, and differs from it in nothing that counts there.

    Whom the gate refuses, it refuses until the turn of the loop has ended; and all fields are compared but those that
    say neither who calls nor what. So this is to be used for what came in one read, and no longer. Streams of which the
    request has not ended yet are added to `unended`.
    """

    __slots__ = (
        "_error",
        "_fixed",
        "_get",
        "_last",
        "_never_seen",
        "_served",
        "_streams",
        "_unended",
        "_varying",
        "head",
    )

    def __init__(self, stream_id: int, head: Head, served: Served, error: RequestError, unended: set[int]) -> None:
        self.head = head
        """That of the one that was refused first."""
        self._last = stream_id
        self._served = served
        self._error = error
        self._unended = unended
        self._get: Callable[[Head], object] | None = None
        self._fixed: object = None
        self._varying: Sequence[tuple[int, bytes]] = ()
        self._streams: list[int] = []
        self._never_seen: list[int] = []

    def has(self, stream_id: int) -> bool:
        """Whether that is the stream that was taken last, or the one that all are like."""
        return stream_id == self._last

    def take(self, request: RequestReceived) -> bool:
        """Whether the request is one of those; then it is refused by `answer`."""
        if self._get is None:
            self._get = self._looked_at()
        head = request.headers
        if len(head) != len(self.head) or self._get(head) != self._fixed:
            return False
        for place, name in self._varying:
            if head[place][0] != name:
                return False
        self._last = request.stream_id
        self._streams.append(request.stream_id)
        if not request.end_stream:
            self._unended.add(request.stream_id)
        return True

    def take_unseen(self, stream_ids: Sequence[int]) -> None:
        """Take whole requests that libnghttp2 was not given."""
        self._never_seen += stream_ids

    def answer(self, http2: Connection) -> bytes:
        """Refuse all that were taken; what is to be sent to those that libnghttp2 was not given."""
        streams, never_seen = self._streams, self._never_seen
        if not streams and not never_seen:
            return b""
        assert self._served.refuse_more is not None, "the gate is asked about it"
        errors = self._served.refuse_more(self._error, len(streams) + len(never_seen))
        for stream_id, error in zip(streams, errors[: len(streams)], strict=True):
            try:
                http2.send_response(stream_id, _answer(error), end_stream=True)
            except NGH2Error:
                continue  # the client has already let go of it
        return _written(never_seen, errors[len(streams) :]) if never_seen else b""

    def _looked_at(self) -> Callable[[Head], object]:
        places = [place for place, (name, _) in enumerate(self.head) if name not in VARYING]
        get = itemgetter(*places)
        self._fixed = get(self.head)
        self._varying = [(place, name) for place, (name, _) in enumerate(self.head) if name in VARYING]
        return get


def varies(name: bytes) -> bool:
    """Whether the field says neither who calls nor what."""
    return name in VARYING


@lru_cache(maxsize=512)
def _answer(error: RequestError) -> Sequence[Field]:
    """Kept: thousands are refused a second, with a few errors that the gate has kept, too."""
    return ((b":status", b"200"), CONTENT_TYPE, *status_fields(error), PLAIN)


def _written(stream_ids: Sequence[int], errors: Sequence[RequestError]) -> bytes:
    """Whole answers as they are sent, one for each stream."""
    kinds = [_written_answer(error) for error in errors]
    frames: list[bytes] = [b""] * (3 * len(errors))
    frames[0::3] = [begin for begin, _ in kinds]
    frames[1::3] = [ID.pack(stream_id) for stream_id in stream_ids]
    frames[2::3] = [fields for _, fields in kinds]
    return b"".join(frames)


@lru_cache(maxsize=512)
def _written_answer(error: RequestError) -> tuple[bytes, bytes]:
    """An answer as it is sent, before and behind the id of its stream: the same whatever was sent before."""
    fields = written_out(_answer(error))
    return frame(HEADERS, END_HEADERS | END_STREAM, 0, fields)[: HEAD_BYTES - ID.size], fields
