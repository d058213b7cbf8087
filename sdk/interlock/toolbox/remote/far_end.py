"""What runs on the other host: reads calls from its standard input, makes them, and answers on its standard output.

It lives as long as its input: when that ends, or says nothing for too long, every command is ended, what is being
written is finished, and so is the process.
"""

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from typing import Any, BinaryIO

from interlock.toolbox import errors
from interlock.toolbox.errors import OperationError, from_os_error
from interlock.toolbox.local_shell import LocalShell
from interlock.toolbox.operations import MAX_FILE_BYTES, Place
from interlock.toolbox.remote.far_calls import Asked, FarCalls, opened
from interlock.toolbox.remote.frames import (
    HEADER,
    IN_FLIGHT,
    MAX_WORDS,
    PIECE,
    READY,
    SILENCE_S,
    WINDOW,
    BadFrameError,
    Head,
    Sort,
    head_of,
    packed,
    place_from,
    words_of,
)

FINISH_S = 60.0
_LOOK_S = 5.0
_THREADS = 16
MAX_MESSAGE = 2000


class FarEnd:
    """One connection's end: its input is read by a thread of its own, its output written by another."""

    def __init__(self, source: BinaryIO, target: int) -> None:
        self._source, self._target = source, target
        self._loop = asyncio.get_running_loop()
        self._over = asyncio.Event()
        self._writing = asyncio.Lock()
        self._places = asyncio.Semaphore(2 * IN_FLIGHT)
        self._writer = ThreadPoolExecutor(1)
        self._threads = ThreadPoolExecutor(_THREADS)
        self._heard = time.monotonic()
        self._calls: FarCalls | None = None
        self._lasting = ExitStack()
        self._running: dict[int, Running] = {}

    async def serve(self) -> None:
        """Serve to the end of the input."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            self._loop.add_signal_handler(number, self._over.set)
        await self._write(READY)
        threading.Thread(target=self._read, daemon=True).start()
        while not self._over.is_set() and time.monotonic() - self._heard < SILENCE_S:
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_S):
                    await self._over.wait()
        self._over.set()
        for running in self._running.values():
            running.call_off()
        # What was answered already may still be under way: its answer is only on its way.
        if _KEPT:
            await asyncio.wait(_KEPT, timeout=FINISH_S)
        self._lasting.close()

    def _read(self) -> None:
        """The thread that reads: no further than there is room for what it reads."""
        try:
            while True:
                head = self._head()
                words, content = words_of(self._take(head.words)), self._take(head.content)
                asyncio.run_coroutine_threadsafe(self._handle(head, words, content), self._loop).result()
        except (EOFError, OSError, BadFrameError, LookupError, TypeError, ValueError):
            self._loop.call_soon_threadsafe(self._over.set)

    def _head(self) -> Head:
        head = head_of(self._take(HEADER.size))
        if head.words > MAX_WORDS or head.content > MAX_FILE_BYTES:
            raise BadFrameError("a frame that is too large")
        return head

    def _take(self, count: int) -> bytes:
        taken = bytearray()
        while len(taken) < count:
            block = self._source.read1(min(PIECE, count - len(taken)))  # type: ignore[attr-defined]  # it is buffered
            if not block:
                raise EOFError
            self._heard = time.monotonic()
            taken += block
        return bytes(taken)

    async def _handle(self, head: Head, words: Any, content: bytes) -> None:
        running = self._running.get(head.number)
        match head.sort:
            case Sort.PING:
                self._begin(self._write(packed(Sort.PONG)))
            case Sort.CANCEL if running is not None:
                running.call_off()
            case Sort.TOOK if running is not None:
                running.took(int(words))
            case Sort.CALL if running is None:
                await self._places.acquire()
                if self._over.is_set():
                    raise EOFError
                made = self._running[head.number] = Running()
                made.task = self._begin(self._answered(head.number, made, words, content))
            case Sort.CANCEL | Sort.TOOK:
                pass  # it was answered meanwhile
            case _:
                raise BadFrameError("a frame of the wrong kind")

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._loop.create_task(work)
        _KEPT.add(task)
        task.add_done_callback(_KEPT.discard)
        return task

    async def _answered(self, number: int, running: "Running", words: Any, content: bytes) -> None:
        try:
            found, more = await self._made(number, running, words, content)
            try:
                head = packed(Sort.ANSWER, number, found, more)
            except BadFrameError:
                raise OperationError("the answer is too large to be sent; ask for less") from None
        except asyncio.CancelledError:
            head, more = packed(Sort.FAILURE, number, ["OperationError", "it was cancelled"]), b""
        except Exception as error:  # noqa: BLE001 -- whatever goes wrong here is the answer
            head, more = packed(Sort.FAILURE, number, failure_words(error)), b""
        finally:
            del self._running[number]
            self._places.release()
        await self._write(head, more)

    async def _made(self, number: int, running: "Running", words: Any, content: bytes) -> tuple[Any, bytes]:
        name = words["call"]
        if name == "begin":
            operations, state = await self._loop.run_in_executor(self._threads, opened, words, self._lasting)
            self._calls = FarCalls(operations)
            return [operations.files.roots, state], b""
        if self._calls is None:
            raise OperationError("the first call has to be the one that begins")
        if name == "run":
            return await self._run(self._calls, number, running, words), b""
        asked = Asked(words, content, running.called_off)
        work = self._loop.run_in_executor(self._threads, self._calls.answer, name, asked)
        return await asyncio.shield(work)

    async def _run(self, calls: FarCalls, number: int, running: "Running", words: Any) -> list[Any]:
        shell = calls.operations.shell
        assert isinstance(shell, LocalShell)
        cwd: Place = place_from(words["cwd"])
        output = asyncio.Queue[bytes]()
        sending = self._begin(self._send_output(number, output))

        def take(block: bytes) -> None:
            running.gave(len(block))
            output.put_nowait(block)

        running.ended_by_cancelling = True
        if running.called_off.is_set():
            output.put_nowait(b"")
            raise asyncio.CancelledError
        try:
            done = await shell.run(
                words["command"], cwd=cwd, timeout_s=words["timeout_s"], on_output=take, room=running.room
            )
        finally:
            output.put_nowait(b"")
            await asyncio.shield(sending)
        return [done.code, done.signal, done.duration_s, done.timed_out, done.left_behind]

    async def _send_output(self, number: int, output: "asyncio.Queue[bytes]") -> None:
        while block := await output.get():
            await self._write(packed(Sort.OUTPUT, number, None, block), block)

    async def _write(self, *parts: bytes) -> None:
        async with self._writing:
            await self._loop.run_in_executor(self._writer, self._write_all, parts)

    def _write_all(self, parts: tuple[bytes, ...]) -> None:
        try:
            for part in parts:
                rest = memoryview(part)
                while rest:
                    rest = rest[os.write(self._target, rest) :]
        except OSError:
            self._loop.call_soon_threadsafe(self._over.set)


class Running:
    """A call that is being made."""

    def __init__(self) -> None:
        self.task: asyncio.Task[None]
        self.called_off = threading.Event()
        self.ended_by_cancelling = False
        self.room = asyncio.Event()
        self.room.set()
        self._under_way = 0

    def call_off(self) -> None:
        """Nobody waits for it: end the command, stop the search; what writes is let finish."""
        if self.called_off.is_set():
            return
        self.called_off.set()
        if self.ended_by_cancelling:
            self.task.cancel()

    def gave(self, count: int) -> None:
        """So much output goes out; nobody reads on when that is enough."""
        self._under_way += count
        if self._under_way >= WINDOW // 2:
            self.room.clear()

    def took(self, count: int) -> None:
        """The near end has taken so much."""
        self._under_way -= count
        if self._under_way < WINDOW // 2:
            self.room.set()


_KEPT = set[asyncio.Task[None]]()


def failure_words(error: Exception) -> list[str]:
    """An error by the name that both ends know, and its sentence."""
    if isinstance(error, OSError) and not isinstance(error, OperationError):
        error = from_os_error(error, "what was asked for there")
    if isinstance(error, OperationError):
        known = next(kind for kind in type(error).__mro__ if getattr(errors, kind.__name__, None) is kind)
        return [known.__name__, str(error)[:MAX_MESSAGE]]
    if isinstance(error, ValueError):
        return ["ValueError", str(error)[:MAX_MESSAGE]]
    return ["StorageError", f"the other end failed unexpectedly ({type(error).__name__})"]


async def _serve(source: BinaryIO, target: int) -> None:
    await FarEnd(source, target).serve()


def main(source: BinaryIO) -> None:
    """Serve what comes from `source`; standard output is ours alone from here on."""
    target = os.dup(1)
    os.dup2(2, 1)
    asyncio.new_event_loop().run_until_complete(_serve(source, target))
    sys.stderr.flush()
    os._exit(0)  # threads that wait for what will never come would keep it
