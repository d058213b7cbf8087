"""One RPC under way on a connection: its request is put together, its handler runs, its answer and status leave."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from functools import lru_cache
from typing import Protocol

from interlock_gateway.core.session import Principal
from interlock_gateway.core.trace import TraceContext
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.http2.deadlines import Deadlines
from interlock_gateway.http2.fields import CONTENT_TYPE, Fields, binary, escaped
from interlock_gateway.http2.messages import Assembler, CompressedMessageError, LargeMessageError, MessageError, framed
from interlock_gateway.http2.status import Status, StatusError
from interlock_gateway.identity.authenticate import Found
from interlock_gateway.transport.grpc.endpoint import Served, too_large
from interlock_gateway.transport.grpc.errors import STATUS_KEY, as_request_error, status_details

Field = tuple[bytes, bytes]
REQUEST_S = 60.0
"""How long a request may take to arrive."""
INBOX = 64
LINE_BYTES = 16 * 1024
"""How many requests of one dialogue may wait for their answers, and how large each may be."""
INBOX_BYTES = 1024 * 1024
"""How much of one talk may wait to be read, besides `INBOX` requests, before the connection is not read any more."""
UNKNOWN_BYTES = 64 * 1024
"""How much of a request is held until it is known whose it is, when keys have to be fetched for that."""
ANYBODYS_BYTES = 1024
"""How large a request may be that anybody may make: those who are nobody known hold next to nothing."""
_START: list[Field] = [(b":status", b"200"), CONTENT_TYPE]
_OK: list[Field] = [(b"grpc-status", b"0")]
_LATE = RequestError(RequestFault.DEADLINE, "the deadline passed")


class Wire(Protocol):
    """What a call needs of its connection. What is sent on a stream that is gone is dropped."""

    deadlines: Deadlines

    def head(self, stream_id: int, fields: Fields, *, last: bool) -> None:
        """Send the head of the answer."""

    def body(self, stream_id: int, data: bytes) -> None:
        """Send some of the answer."""

    def tail(self, stream_id: int, fields: Fields) -> None:
        """Send the answer's trailers, and end it."""

    def answer(self, stream_id: int, head: Fields, data: bytes, tail: Fields) -> None:
        """Send a whole answer: its head, its body and its trailers."""

    def unwanted(self, stream_id: int) -> None:
        """Tell the peer to stop sending its request: it has been answered."""

    async def room(self, stream_id: int) -> None:
        """Return when more may be sent."""

    def hold(self, count: int) -> bool:
        """Count bytes of unfinished requests, `count` more or fewer; false when that are too many."""

    def choke(self, stream_id: int, *, choked: bool) -> None:
        """Read nothing more of the connection while what came on this stream waits to be read."""


class Call:
    """One RPC, from its head to its status. Every way out goes through `_end`."""

    __slots__ = (
        "_admission", "_arriving", "_assembler", "_deadline_s", "_ended", "_held", "_inbox", "_loop",
        "_message", "_most", "_principal", "_served", "_started", "_stream_id", "_task", "_trace", "_unread", "_whole",
        "_wire",
    )  # fmt: skip

    def __init__(
        self,
        wire: Wire,
        stream_id: int,
        served: Served,
        principal: Found | None,
        *,
        deadline_s: float | None,
        trace: TraceContext | None,
        max_bytes: int,
    ) -> None:
        self._wire = wire
        self._stream_id = stream_id
        self._served = served
        self._principal = principal if isinstance(principal, Principal) else None
        self._admission = principal if isinstance(principal, asyncio.Task) else None
        self._deadline_s = deadline_s
        self._trace = trace
        if served.dialogue is not None:
            self._most = LINE_BYTES
        else:
            most = served.most_bytes or max_bytes
            self._most = most if served.admit is not None else min(max_bytes, ANYBODYS_BYTES)
        self._assembler = Assembler(self._most)
        self._loop = asyncio.get_running_loop()
        self._message: bytes | None = None
        self._inbox: asyncio.Queue[bytes | None] | None = None
        self._task: asyncio.Task[None] | None = None
        self._held = 0
        self._unread = 0
        self._started = False
        self._ended = False
        self._whole = False
        self._arriving: asyncio.TimerHandle | None = None
        if self._admission is not None:
            self._admission.add_done_callback(self._learn)
        if deadline_s is not None:
            wire.deadlines.watch(self, deadline_s)
        if served.dialogue is not None:
            self._inbox = asyncio.Queue()
            self._task = self._loop.create_task(self._answer_many(served.dialogue(_until_none(self._inbox))))
        elif served.talk is not None:
            self._inbox = asyncio.Queue()
            if self._admission is None:
                self._begin_talk()

    @property
    def task(self) -> "asyncio.Task[None] | None":
        """What answers it, once it does."""
        return self._task

    @property
    def is_dialogue(self) -> bool:
        """Whether it is a dialogue, which anybody may begin."""
        return self._served.dialogue is not None

    @property
    def is_anybodys(self) -> bool:
        """Whether anybody may make it, known or not."""
        return self._served.admit is None

    @property
    def passes_by(self) -> bool:
        """Whether the gate, which refuses others when there are too many, is not asked about it."""
        return self._served.gate is None

    def receive(self, data: bytes, *, last: bool) -> None:
        """Take in some of the request; `last` when there is no more."""
        if self._ended:
            return
        try:
            for message in self._assembler.feed(data) if data else ():
                self._take(message)
            self._count()
            if last:
                self._complete()
            else:
                self.wait_for_more()
        except (StatusError, RequestError) as error:
            self.fail(error)
        except MessageError as error:
            self.fail(self._refused(error))

    def wait_for_more(self) -> None:
        """Give the rest of the request its time to arrive."""
        if self._arriving is None and self._inbox is None:
            self._arriving = self._loop.call_later(REQUEST_S, self._stall)

    def fail(self, error: StatusError | RequestError) -> None:
        """End with a status other than OK, and stop whatever is under way."""
        if self._ended:
            return
        fields = status_fields(error)
        if self._started:
            self._wire.tail(self._stream_id, fields)
        else:
            self._wire.head(self._stream_id, [*_START, *fields], last=True)
            if not self._whole:
                self._wire.unwanted(self._stream_id)
        self._end()
        self._stop()

    def gone(self) -> None:
        """The stream is closed: nobody waits any more."""
        self._end()
        self._stop()

    def _stop(self) -> None:
        if self._admission is not None:
            self._admission.cancel()
        if self._task is not None and self._task is not asyncio.current_task():
            self._task.cancel()

    def _end(self) -> None:
        if self._ended:
            return
        self._ended = True
        if self._served.talk is not None:
            self._wire.choke(self._stream_id, choked=False)
        if self._deadline_s is not None:
            self._wire.deadlines.forget(self)
        if self._arriving is not None:
            self._arriving.cancel()
        if self._held:
            self._wire.hold(-self._held)
            self._held = 0

    def expire(self) -> None:
        """The deadline has passed."""
        self.fail(_LATE)

    def _stall(self) -> None:
        self.fail(StatusError(Status.DEADLINE_EXCEEDED, f"the request did not arrive in {REQUEST_S:.0f} seconds"))

    def _count(self) -> None:
        held = self._assembler.held + len(self._message or b"")
        if self._admission is not None and held > UNKNOWN_BYTES:
            words = "the token cannot be verified now, and the request is too large to wait for that; try again"
            raise RequestError(RequestFault.IDENTITY_UNAVAILABLE, words)
        if held != self._held:
            allowed = self._wire.hold(held - self._held)
            self._held = held
            if not allowed:
                raise RequestError(RequestFault.OVERLOADED, "too many large requests are arriving at once")

    def _take(self, message: bytes) -> None:
        if self._inbox is not None and self._served.talk is not None:
            self._unread += len(message)
            self._inbox.put_nowait(message)
            if self._inbox.qsize() >= INBOX or self._unread >= INBOX_BYTES:
                self._wire.choke(self._stream_id, choked=True)
        elif self._inbox is not None:
            if self._inbox.qsize() >= INBOX:
                raise StatusError(Status.RESOURCE_EXHAUSTED, f"more than {INBOX} requests wait for their answers")
            self._inbox.put_nowait(message)
        elif self._message is not None:
            raise StatusError(Status.INVALID_ARGUMENT, "one message is expected, and several came")
        else:
            self._message = message

    def _complete(self) -> None:
        self._whole = True
        if self._assembler.held:
            raise StatusError(Status.INVALID_ARGUMENT, "the request ended in the middle of a message")
        if self._inbox is not None:
            self._inbox.put_nowait(None)
            return
        if self._arriving is not None:
            self._arriving.cancel()
        if self._message is None:
            raise StatusError(Status.INVALID_ARGUMENT, "one message is expected, and none came")
        if self._admission is None:
            self._begin(self._message)

    def _begin(self, message: bytes) -> None:
        self._task = self._loop.create_task(self._run(message))
        self._message = None

    def _learn(self, admission: "asyncio.Task[Principal]") -> None:
        """It is known whose the call is, or that it is nobody's."""
        if admission.cancelled():
            self.fail(RequestError(RequestFault.CANCELLED, "the gateway is shutting down"))
            return
        error = admission.exception()
        if error is not None:
            self.fail(error if isinstance(error, RequestError) else as_request_error(error))
            return
        self._admission = None
        self._principal = admission.result()
        if self._served.talk is not None and not self._ended:
            self._begin_talk()
        elif self._whole and not self._ended and self._message is not None:
            self._begin(self._message)

    def _begin_talk(self) -> None:
        assert self._served.talk is not None
        talk = self._served.talk(self._each_read(), self._principal, self._deadline_s, self._trace)
        self._task = self._loop.create_task(self._talk(talk))

    async def _talk(self, answers: AsyncGenerator[bytes, None]) -> None:
        # The head says that the caller is in: clients of grpcio that write to a stream lose what it was refused with.
        self._started = True
        self._wire.head(self._stream_id, _START, last=False)
        await self._answer_many(answers)

    async def _each_read(self) -> AsyncGenerator[bytes, None]:
        """What came, one after another; what waits to be read holds up whoever sends it."""
        assert self._inbox is not None
        while (message := await self._inbox.get()) is not None:
            self._unread -= len(message)
            if self._inbox.empty():
                self._wire.choke(self._stream_id, choked=False)
            yield message

    async def _run(self, raw: bytes) -> None:
        served, principal = self._served, self._principal
        if served.unary is None:
            assert served.stream is not None
            await self._answer_many(served.stream(raw, principal, self._deadline_s, self._trace))
            return
        try:
            answer = await served.unary(raw, principal, self._deadline_s, self._trace)
        except (RequestError, StatusError) as error:
            self.fail(error)
            return
        if not self._ended:
            self._wire.answer(self._stream_id, _START, framed(answer), _OK)
            self._end()

    async def _answer_many(self, answers: AsyncGenerator[bytes, None]) -> None:
        try:
            async with aclosing(answers):
                async for answer in answers:
                    if self._ended:
                        return
                    if not self._started:
                        self._started = True
                        self._wire.head(self._stream_id, _START, last=False)
                    self._wire.body(self._stream_id, framed(answer))
                    await self._wire.room(self._stream_id)
        except (RequestError, StatusError) as error:
            self.fail(error)
            return
        if not self._ended:
            if not self._started:
                self._wire.head(self._stream_id, [*_START, *_OK], last=True)
            else:
                self._wire.tail(self._stream_id, _OK)
            self._end()

    def _refused(self, error: MessageError) -> StatusError | RequestError:
        if isinstance(error, LargeMessageError):
            return too_large(error.size, self._most)
        if isinstance(error, CompressedMessageError):
            return StatusError(Status.UNIMPLEMENTED, f"{error}; send it as it is")
        return StatusError(Status.INVALID_ARGUMENT, str(error))


async def _until_none(inbox: "asyncio.Queue[bytes | None]") -> AsyncGenerator[bytes, None]:
    while (message := await inbox.get()) is not None:
        yield message


def status_fields(error: StatusError | RequestError) -> Sequence[Field]:
    """How an answer ends that is not OK."""
    if isinstance(error, StatusError):
        return [(b"grpc-status", b"%d" % error.status), (b"grpc-message", escaped(error.message))]
    if error.retry_s is not None:
        return _told_to_wait(error.fault, error.message, error.retry_s)
    return _fields_of(error)


@lru_cache(maxsize=512)
def _told_to_wait(fault: RequestFault, message: str, retry_s: float) -> Sequence[Field]:
    """Kept, because a gateway with too much to do sends thousands of the same a second."""
    return tuple(_fields_of(RequestError(fault, message, retry_s=retry_s)))


def _fields_of(error: RequestError) -> list[Field]:
    code, message, details = status_details(error)
    return [
        (b"grpc-status", b"%d" % code),
        (b"grpc-message", escaped(message)),
        (STATUS_KEY.encode(), binary(details)),
    ]
