"""One connection to a far end, from the near one: calls go out, answers come back, whatever order they come in.

All of it belongs to one event loop. What comes is bounded before it is read: by what the call it answers may bring.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Protocol

from interlock.toolbox.errors import OperationError, OutcomeUnknownError, UnreachableError
from interlock.toolbox.operations import MAX_FILE_BYTES
from interlock.toolbox.remote import answers
from interlock.toolbox.remote.frames import (
    HEADER,
    IN_FLIGHT,
    PIECE,
    PING_S,
    SILENCE_S,
    WINDOW,
    BadFrameError,
    Head,
    Sort,
    head_of,
    packed,
    words_of,
)

MAX_FAILURE = 32 * 1024
CALLED_OFF_S = 15.0
"""How long a far end may take to end what was called off, before it is let go of."""


GONE_S = 5.0


class Peer(Protocol):
    """The bytes to and from a far end."""

    async def read(self, most: int) -> bytes:
        """Some bytes, no more than this; none at the end. Raises OSError."""
        ...

    async def write(self, content: bytes) -> None:
        """Write, and wait while the other side has no room. Raises OSError."""
        ...

    def abort(self) -> None:
        """End it now; whoever reads or writes finds out."""
        ...

    async def gone(self) -> None:
        """Wait until nothing is left of what was aborted."""
        ...


@dataclass(frozen=True, slots=True)
class Call:
    """What is asked of the far end, and what its answer may bring at most.

    `changes` says that not knowing whether it was done matters. `output` is called with a command's output in the loop
    of the link, with what is to be called when it was taken.
    """

    name: str
    words: dict[str, Any] = field(default_factory=dict)
    content: bytes = b""
    most_words: int = 256 * 1024
    most_content: int = 0
    changes: bool = False
    output: Callable[[bytes, Callable[[], None]], None] | None = None


@dataclass(slots=True)
class _Waiting:
    call: Call
    answer: asyncio.Future[tuple[Any, bytes]]
    under_way: int = 0


class Link:
    """A connection whose far end is ready. Ends for good with the first thing that goes wrong."""

    def __init__(self, peer: Peer, host: str, *, silence_s: float = SILENCE_S, ping_s: float = PING_S) -> None:
        self._peer, self._host = peer, host
        self._silence_s, self._ping_s = silence_s, ping_s
        self._loop = asyncio.get_running_loop()
        # The far end takes twice as many: commands, which may last, are in nobody else's way.
        self._places, self._commands = asyncio.Semaphore(IN_FLIGHT), asyncio.Semaphore(IN_FLIGHT)
        self._writing = asyncio.Lock()
        self._waiting: dict[int, _Waiting] = {}
        self._next = 1
        self._heard = time.monotonic()
        self._tasks = set[asyncio.Task[None]]()
        self.lost = ""
        self._own = [self._begin(self._read()), self._begin(self._watch())]

    async def made(self, call: Call) -> tuple[Any, bytes]:
        """The answer to a call. Cancelled, it has it called off, and the answer is what came of it all the same.

        Raises what the far end says, UnreachableError, OutcomeUnknownError; OperationError for one that is too large;
        CancelledError for a call that never went out.
        """
        async with self._places if call.output is None else self._commands:
            try:
                head = packed(Sort.CALL, self._next, {"call": call.name, **call.words}, call.content)
            except BadFrameError:
                raise OperationError("it is more than can be sent at once; nothing was changed") from None
            if self.lost:
                raise UnreachableError(self._sentence())
            number, self._next = self._next, self._next + 1
            waiting = self._waiting[number] = _Waiting(call, self._loop.create_future())
            try:
                # The frame goes out whole, whoever is cancelled meanwhile.
                await asyncio.shield(self._begin(self._send(head, call.content)))
                return await asyncio.shield(waiting.answer)
            except asyncio.CancelledError:
                ending = self._begin(self._called_off(number, waiting))
                while not ending.done():
                    with contextlib.suppress(asyncio.CancelledError):
                        await asyncio.wait([ending])
                return waiting.answer.result()

    def end(self, why: str) -> None:
        """Let go of the connection; whoever waits for an answer is told."""
        if self.lost:
            return
        self.lost = why
        self._peer.abort()
        for task in self._own:
            if task is not asyncio.current_task(self._loop):
                task.cancel()
        for waiting in self._waiting.values():
            if not waiting.answer.done():
                waiting.answer.set_exception(self._error(waiting.call))
                waiting.answer.exception()  # whoever was cancelled does not ask for it
        self._waiting.clear()

    async def gone(self) -> None:
        """Wait until nothing is left of a connection that has ended, but not for long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GONE_S):
                await self._peer.gone()

    def _error(self, call: Call) -> OperationError:
        if not call.changes:
            return UnreachableError(f"{self._sentence()}; nothing was changed")
        return OutcomeUnknownError(
            f"{self._sentence()} while this was done, and whether it was done is not known: look before you do it again"
        )

    def _sentence(self) -> str:
        return f"the connection to {self._host} was lost ({self.lost})"

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _called_off(self, number: int, waiting: _Waiting) -> None:
        """Have the far end end it, and wait until it has, but not for ever."""
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CALLED_OFF_S):
                    await self._send(packed(Sort.CANCEL, number))
                    await asyncio.wait([waiting.answer])
        finally:
            if not waiting.answer.done():
                self.end("it did not end what was called off")

    async def _send(self, head: bytes, content: bytes = b"") -> None:
        try:
            async with self._writing:
                await self._peer.write(head)
                for start in range(0, len(content), PIECE):
                    if self.lost:
                        return
                    await self._peer.write(content[start : start + PIECE])
                    self._heard = time.monotonic()  # it takes what it is sent
        except OSError as error:
            self.end(f"{type(error).__name__} while writing")

    async def _watch(self) -> None:
        """Say something now and then, and notice when the far end says nothing any more."""
        while time.monotonic() - self._heard < self._silence_s:
            await asyncio.sleep(self._ping_s)
            self._begin(self._send(packed(Sort.PING)))
        self.end(f"nothing came for {self._silence_s:g} seconds")

    async def _read(self) -> None:
        try:
            while True:
                head = head_of(await self._take(HEADER.size))
                await self._handle(head)
        except BadFrameError as error:
            self.end(f"it answered {error}")
        except EOFError:
            self.end("it ended")
        except OSError as error:
            self.end(type(error).__name__)

    async def _take(self, count: int) -> bytes:
        taken = bytearray()
        while len(taken) < count:
            block = await self._peer.read(min(PIECE, count - len(taken)))
            if not block:
                raise EOFError
            self._heard = time.monotonic()
            taken += block
        return bytes(taken)

    async def _handle(self, head: Head) -> None:
        if head.sort is Sort.PONG and not (head.words or head.content):
            return
        waiting = self._waiting.get(head.number)
        if waiting is None:
            raise BadFrameError("what nobody asked for")
        self._check(head, waiting)
        text, content = await self._take(head.words), await self._take(head.content)
        if head.sort is Sort.OUTPUT:
            self._deliver(head.number, waiting, content)
            return
        del self._waiting[head.number]
        try:
            result = words_of(text)
            error = answers.failure(result) if head.sort is Sort.FAILURE else None
        except BadFrameError:
            self._waiting[head.number] = waiting  # told with the others
            raise
        if error is None:
            waiting.answer.set_result((result, content))
        else:
            waiting.answer.set_exception(error)

    def _check(self, head: Head, waiting: _Waiting) -> None:
        call = waiting.call
        match head.sort:
            case Sort.ANSWER:
                fits = head.words <= call.most_words and head.content <= call.most_content
            case Sort.FAILURE:
                fits = head.words <= MAX_FAILURE and not head.content
            case Sort.OUTPUT if call.output is not None:
                fits = not head.words and 0 < head.content <= WINDOW - waiting.under_way
            case _:
                fits = False
        if not fits:
            raise BadFrameError("more than was asked for")

    def _deliver(self, number: int, waiting: _Waiting, block: bytes) -> None:
        waiting.under_way += len(block)

        def took() -> None:
            waiting.under_way -= len(block)
            if not self.lost and number in self._waiting:
                self._begin(self._send(packed(Sort.TOOK, number, len(block))))

        assert waiting.call.output is not None
        waiting.call.output(block, took)


def fits(call: Call) -> None:
    """Raise OperationError for what is more than goes over in one piece."""
    if len(call.content) > MAX_FILE_BYTES:
        raise OperationError(f"{len(call.content)} bytes are more than the {MAX_FILE_BYTES} that are handled at once")
