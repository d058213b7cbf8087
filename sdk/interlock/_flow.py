"""What a client does, without I/O: a flow is a generator of steps, driven by a sync and an async driver.

A flow yields a step and is sent what became of it. It holds everything that is to be decided (deadlines, retries, what
an error means); a driver only carries steps out.
"""

import random
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

import grpc
from google.protobuf.message import Message

from interlock._status import ErrorDetail, read_details
from interlock.errors import RequestError, error_class

M = TypeVar("M", bound=Message)
T = TypeVar("T")

FEW_ATTEMPTS = 4
CALL_ATTEMPTS = 6
FIRST_PAUSE = 0.05
LONGEST_PAUSE = 2.0
LONGEST_PATIENCE = 60.0
"""How many seconds something without a deadline is asked again for."""
_CUT_SHORT = 1.0
PAGE_SIZE = 500

NOT_BEGUN = frozenset({"OVERLOADED", "DRAINING"})
"""With these the gateway says that it did not begin, so that anything may be asked again."""
# What was begun before the connection broke may still be going on.
_STILL_GOING_ON = frozenset({"ROLLBACK_IN_PROGRESS"})


@dataclass(frozen=True, slots=True)
class Method(Generic[M]):
    """An RPC: its path, what it answers, and whether asking twice does no more than asking once.

    What is `patient` is asked again for as long as its deadline allows, once there was an answer from the gateway;
    everything else a few times. After the reasons in `not_begun` it is asked again even where it is not repeatable.
    """

    path: str
    response: type[M]
    repeatable: bool = False
    patient: bool = False
    not_begun: frozenset[str] = NOT_BEGUN

    @property
    def attempts(self) -> int:
        """How often it is asked where nobody has ever answered: the address may be wrong."""
        return CALL_ATTEMPTS if self.patient else FEW_ATTEMPTS


@dataclass(frozen=True, slots=True)
class Ask:
    """Carry out a unary RPC; answered with an `Answer` or a `Failure`."""

    method: Method[Any]
    request: Message
    timeout: float | None


@dataclass(frozen=True, slots=True)
class Open:
    """Begin an RPC that answers with a stream, in place of one that is open; answered with None."""

    method: Method[Any]
    request: Message
    timeout: float | None


@dataclass(frozen=True, slots=True)
class Next:
    """Read the open stream; answered with an `Answer`, an `End` or a `Failure`."""


@dataclass(frozen=True, slots=True)
class Rest:
    """Let so many seconds pass; answered with None."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Emit(Generic[T]):
    """Hand an item to whoever iterates; answered with None."""

    item: T


@dataclass(frozen=True, slots=True)
class Answer:
    """A message."""

    message: Any


@dataclass(frozen=True, slots=True)
class End:
    """The stream has ended well."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A gRPC error, and how many seconds after the RPC was begun; `details` is `grpc-status-details-bin`.

    `reached` says that a gateway has answered this client, now or earlier, and is not taken for gone or for useless.
    """

    code: grpc.StatusCode
    message: str
    details: bytes
    elapsed: float
    reached: bool = False


Step: TypeAlias = Ask | Open | Next | Rest | Emit[Any]
Flow: TypeAlias = Generator[Step, Any, T]
Items: TypeAlias = Generator[Ask | Open | Next | Rest | Emit[T], Any, None]


def error_from(failure: Failure, detail: ErrorDetail | None = None, call_id: str = "") -> RequestError:
    """The exception that a gRPC error becomes; the one place where this is decided."""
    detail = detail or read_details(failure.details)
    return error_class(failure.code)(
        failure.message,
        code=failure.code,
        reason=detail.reason,
        metadata=detail.metadata,
        retry_after=detail.retry_after,
        call_id=call_id,
    )


def _was_cut_short(failure: Failure) -> bool:
    """Whether an attempt had too little time left to say what is the matter; the one before it did."""
    return failure.code is grpc.StatusCode.DEADLINE_EXCEEDED and not failure.details and failure.elapsed < _CUT_SHORT


class Attempts:
    """Whether something may still be asked again, and when: what is safe to repeat, and never past the deadline.

    Pauses grow, are spread at random, and are no shorter than the gateway says. Before the deadline they become
    shorter, so that who comes back late is still met.
    """

    def __init__(
        self, method: Method[Any], timeout: float | None, call_id: str = "", jitter: Callable[[], float] = random.random
    ) -> None:
        self._method = method
        self._call_id = call_id
        self._jitter = jitter
        self._made = 0
        self._broke_off = False
        self._before: Failure | None = None
        self._patience = LONGEST_PATIENCE if timeout is None else timeout
        self._bounded = timeout is not None

    @property
    def left(self) -> float | None:
        """The deadline of the next attempt, in seconds; None when it has none."""
        return self._patience if self._bounded else None

    def pause_after(self, failure: Failure, *, received: bool = False) -> Rest:
        """The pause before the next attempt; `received` says that part of an answer was there already.

        Raises the failure's RequestError when there is to be none.
        """
        detail = read_details(failure.details)
        self._made += 1
        # What has no deadline may have gone well for days: its patience is for the pauses.
        self._patience -= failure.elapsed if self._bounded else 0.0
        seconds = self._pause(detail.retry_after or 0.0)
        self._patience -= seconds
        if not self._again(failure, detail, received=received) or self._patience < FIRST_PAUSE:
            if self._before is not None and _was_cut_short(failure):
                raise error_from(self._before, call_id=self._call_id)
            raise error_from(failure, detail, self._call_id)
        self._before = failure
        return Rest(seconds)

    def _pause(self, no_sooner: float) -> float:
        longest = FIRST_PAUSE * 2.0 ** min(self._made, CALL_ATTEMPTS)
        seconds = min(LONGEST_PAUSE, longest) * (0.5 + self._jitter() / 2)
        # Who was told to come back after the same time as many others comes a little later than that.
        seconds = max(seconds, no_sooner * (1.0 + self._jitter() / 10))
        return max(min(seconds, self._patience / 2), no_sooner)

    def _again(self, failure: Failure, detail: ErrorDetail, *, received: bool) -> bool:
        still_going_on = self._broke_off and detail.reason in _STILL_GOING_ON
        not_begun = detail.reason in self._method.not_begun and not received
        if not (not_begun or still_going_on):
            if not self._method.repeatable or failure.code is not grpc.StatusCode.UNAVAILABLE:
                return False
            self._broke_off = True
        return self._made < self._method.attempts or (self._method.patient and failure.reached)


def ask(method: Method[M], request: Message, timeout: float | None, call_id: str = "") -> Flow[M]:
    """A unary RPC, asked again where that is safe.

    Raises a RequestError.
    """
    attempts = Attempts(method, timeout, call_id)
    while True:
        reply = yield Ask(method, request, attempts.left)
        if isinstance(reply, Answer):
            message: M = reply.message
            return message
        yield attempts.pause_after(reply)


def each(
    method: Method[M], request: Message, timeout: float | None, receive: Callable[[M], T | None], call_id: str = ""
) -> Items[T]:
    """A streaming RPC whose messages are handed on as they come, as `receive` reads them; None hands nothing on.

    Where that is safe it is begun again from the start, and `receive` has to know what it has seen.
    Raises a RequestError.
    """
    attempts = Attempts(method, timeout, call_id)
    received = False
    while True:
        yield Open(method, request, attempts.left)
        reply = yield Next()
        while isinstance(reply, Answer):
            received = True
            item = receive(reply.message)
            if item is not None:
                yield Emit(item)
            reply = yield Next()
        if isinstance(reply, End):
            return
        yield attempts.pause_after(reply, received=received)


def every(method: Method[M], request: Message, timeout: float | None) -> Flow[list[M]]:
    """All messages of a streaming RPC.

    Raises a RequestError.
    """
    attempts = Attempts(method, timeout)
    while True:
        messages: list[M] = []
        yield Open(method, request, attempts.left)
        reply = yield Next()
        while isinstance(reply, Answer):
            messages.append(reply.message)
            reply = yield Next()
        if isinstance(reply, End):
            return messages
        yield attempts.pause_after(reply)


def pages(method: Method[M], request: Any, timeout: float | None) -> Flow[list[M]]:
    """All pages of a listing; `timeout` is that of each. The request is used up.

    Raises a RequestError.
    """
    request.page_size = PAGE_SIZE
    found: list[M] = []
    while True:
        answer: Any = yield from ask(method, request, timeout)
        found.append(answer)
        request.page_token = answer.next_page_token
        if not answer.next_page_token:
            return found
