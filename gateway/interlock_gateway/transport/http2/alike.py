"""Calls that are refused like one before them, without each being looked at (REL-8)."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import itemgetter

from ngh2 import Connection, NGH2Error, RequestReceived

from interlock_gateway.errors import RequestError
from interlock_gateway.http2.fields import CONTENT_TYPE, TRACE_PARENT, TRACE_STATE
from interlock_gateway.transport.grpc.endpoint import Served
from interlock_gateway.transport.http2.call import Field, status_fields

Head = tuple[Field, ...]
PLAIN = (b"grpc-accept-encoding", b"identity")
_VARYING = frozenset((b"grpc-timeout", TRACE_PARENT, TRACE_STATE))
"""The fields that say neither who calls nor what."""


class Alike:
    """What was read together with a call that the gate refused, and differs from it in nothing that counts there.

    Whom the gate refuses, it refuses until the turn of the loop has ended; and all fields are compared but those that
    say neither who calls nor what. So this is to be used for what came in one read, and no longer. Streams of which the
    request has not ended yet are added to `unended`.
    """

    __slots__ = ("_error", "_fixed", "_get", "_head", "_served", "_streams", "_unended", "_varying")

    def __init__(self, head: Head, served: Served, error: RequestError, unended: set[int]) -> None:
        self._head = head
        self._served = served
        self._error = error
        self._unended = unended
        self._get: Callable[[Head], object] | None = None
        self._fixed: object = None
        self._varying: Sequence[tuple[int, bytes]] = ()
        self._streams: list[int] = []

    def take(self, request: RequestReceived) -> bool:
        """Whether the request is one of those; then it is refused by `answer`."""
        if self._get is None:
            self._get = self._looked_at()
        head = request.headers
        if len(head) != len(self._head) or self._get(head) != self._fixed:
            return False
        for place, name in self._varying:
            if head[place][0] != name:
                return False
        self._streams.append(request.stream_id)
        if not request.end_stream:
            self._unended.add(request.stream_id)
        return True

    def answer(self, http2: Connection) -> None:
        """Refuse all that were taken."""
        if not self._streams:
            return
        assert self._served.refuse_more is not None, "the gate is asked about it"
        errors = self._served.refuse_more(self._error, len(self._streams))
        for stream_id, error in zip(self._streams, errors, strict=True):
            try:
                http2.send_response(stream_id, _answer(error), end_stream=True)
            except NGH2Error:
                continue  # the client has already let go of it

    def _looked_at(self) -> Callable[[Head], object]:
        places = [place for place, (name, _) in enumerate(self._head) if name not in _VARYING]
        get = itemgetter(*places)
        self._fixed = get(self._head)
        self._varying = [(place, name) for place, (name, _) in enumerate(self._head) if name in _VARYING]
        return get


@lru_cache(maxsize=512)
def _answer(error: RequestError) -> Sequence[Field]:
    """Kept: thousands are refused a second, with a few errors that the gate has kept, too."""
    return ((b":status", b"200"), CONTENT_TYPE, *status_fields(error), PLAIN)
