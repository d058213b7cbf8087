"""One worker process seen from the gateway: starting it, sending to it, reading its replies, ending it."""

import asyncio
import importlib.util
import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Protocol

from interlock_gateway.isolation.priority import give_way, used_s
from interlock_gateway.isolation.process import start_isolated
from interlock_gateway.policy.bundle import DECISION_RULE
from interlock_gateway.policy.embedded.wire import LARGE_BYTES, LENGTH_BYTES, Reply, frame, frame_parts

WORKER_SCRIPT = Path(__file__).with_name("worker.py")
REAP_EVERY_S = 0.01
_REPLIES = tuple(Reply)
ALLOCATOR = {
    # It reserves 1 GiB of address space when it starts, and what is reserved no limit can take back.
    "MIMALLOC_ARENA_RESERVE": "8192",
    # It asks for huge pages, which cost a worker 6 MiB that it never uses, and make no decision faster.
    "MIMALLOC_ALLOW_THP": "0",
}
"""What the engine's allocator is told, in its own words; the reserve is in KiB."""


@dataclass(eq=False, slots=True)
class Evaluation:
    """One input on its way to a decision.

    `submitted_at` is the loop's time; `answer` gives (reply, payload); `copies` is how many workers have it, and
    `is_waiting` whether it waits to be sent to one more.
    """

    document: bytes
    answer: asyncio.Future[tuple[Reply, bytes]]
    submitted_at: float
    copies: int = 0
    is_waiting: bool = False

    @property
    def is_large(self) -> bool:
        """Whether evaluating it may take long for its size alone."""
        return len(self.document) > LARGE_BYTES

    def settle(self, reply: Reply, payload: bytes) -> None:
        """Give the answer, unless another worker was faster or the caller has gone."""
        if not self.answer.done():
            self.answer.set_result((reply, payload))

    def fail(self, error: Exception) -> None:
        """End without an answer, unless there is one already or the caller has gone."""
        if not self.answer.done():
            self.answer.set_exception(error)


@dataclass(frozen=True, slots=True)
class WorkerLimits:
    """What one worker may use: bytes of memory beyond its start, and processor seconds in one evaluation."""

    memory_bytes: int
    processor_s: float


class Process(Protocol):
    """A child process, however it came to be."""

    @property
    def pid(self) -> int:
        """Its id; nobody else's until its end was waited for."""

    @property
    def returncode(self) -> int | None:
        """How it ended; `None` until that was found out."""

    def poll(self) -> int | None:
        """Find out how it ended, if it has."""

    def wait(self) -> int:
        """Wait for its end, and say how it ended."""

    def kill(self) -> None:
        """End it now."""


@cache
def _engine_directory() -> str:
    """Where the engine's package lies. It is not imported here: the gateway itself never evaluates Rego."""
    spec = importlib.util.find_spec("regorus")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("the package of the embedded policy engine is not installed")
    return str(Path(spec.origin).parent.parent)


@dataclass(eq=False)
class Worker(asyncio.Protocol):
    """The connection to one worker. Replies come in the order of requests, so a queue is all the bookkeeping.

    Its process runs from the moment this is made, so whoever makes it connects it and keeps it until `reaped` is done:
    then the process has ended and was waited for, and the socket is closed. `on_reply` is called after each reply with
    the evaluation it answers, `on_gone` once when the process has ended or was killed. `head_since` is the loop's time
    at which the first in the queue began to be evaluated, `idle_since` that of its last reply; `took_s` is what it
    used of the processor, and 0 if it was to a large input; `large` is how many of the queue are large; `is_kept` says
    that it gives way to all others, and is there for large ones.
    """

    process: Process
    _socket: socket.socket
    loop: asyncio.AbstractEventLoop
    on_reply: Callable[["Worker"], None]
    on_gone: Callable[["Worker"], None]
    queue: deque[Evaluation] = field(default_factory=deque)
    head_since: float = 0.0
    idle_since: float = 0.0
    large: int = 0
    suspected: bool = False
    is_slowed: bool = False
    is_kept: bool = False
    took_s: float = 0.0
    is_crowded: Callable[[], bool] = bool
    _used_before: float = 0.0
    loaded: asyncio.Future[tuple[Reply, bytes]] = field(init=False)
    reaped: asyncio.Future[None] = field(init=False)
    _unsent: list[bytes] = field(default_factory=list)
    _buffer: bytearray = field(default_factory=bytearray)
    _transport: asyncio.Transport | None = None
    _ending: bool = False
    _disconnected: bool = False

    def __post_init__(self) -> None:
        self.loaded = self.loop.create_future()
        self.reaped = self.loop.create_future()

    @property
    def ready(self) -> bool:
        """Whether it holds the policies and lives."""
        return self._transport is not None and self.loaded.done() and not self.loaded.cancelled()

    async def connect(self) -> None:
        """Connect to the process. Raises `OSError`; the process is then to be killed, as when this is cancelled."""
        connecting = self.loop.create_task(self._connect())
        try:
            await asyncio.shield(connecting)
        except asyncio.CancelledError:
            # Two turns of the loop. Broken off in between, the socket has two owners in some loops and none in others.
            while not connecting.done():
                with suppress(asyncio.CancelledError):
                    await asyncio.wait([connecting])
            raise

    def load(self, policies: bytes) -> None:
        """Send the policies; `loaded` is set to the worker's reply, or cancelled when the process has ended."""
        if self._transport is not None:
            self._transport.write(frame(policies))

    def unloaded(self) -> str:
        """Why it does not hold the policies, in the engine's words if those are what is wrong; empty when it does."""
        if not self.loaded.done():
            return "the policies took too long to load"
        if self.loaded.cancelled():
            return "the policy worker ended while it loaded the policies"
        reply, payload = self.loaded.result()
        return "" if reply is Reply.OK else payload.decode("utf-8", "replace") or "the policies cannot be loaded"

    def send(self, evaluation: Evaluation) -> None:
        """Queue `evaluation` and send its document: at once, unless calls are crowded and the worker has others to do.

        Then all leave together in the next turn of the loop. Each written by itself wakes the worker, which takes the
        processor where it is shared, and is asleep again before the next one comes: both then find cold caches.
        """
        assert self._transport is not None
        is_first = not self.queue
        if is_first:
            self.head_since = self.loop.time()
        evaluation.copies += 1
        self.large += evaluation.is_large
        self.queue.append(evaluation)
        if is_first or evaluation.is_large or not self.is_crowded():
            self._send_unsent()
            self._transport.writelines(frame_parts(evaluation.document))
            return
        if not self._unsent:
            self.loop.call_soon(self._send_unsent)
        self._unsent += frame_parts(evaluation.document)

    def used_s(self) -> float:
        """Processor time of the evaluation under way, at least; 0 where it cannot be told, or has an unread reply.

        The loop may have been held up for longer than the worker: what that did since is not one evaluation's.
        """
        return 0.0 if self._has_unread() else used_s(self.process.pid) - self._used_before

    def slow_down(self) -> None:
        """Let the process have what processor time nobody else wants, from now on: there is no way back."""
        if not self.is_slowed:
            self.is_slowed = True
            give_way(self.process.pid)

    def kill(self) -> None:
        """End the process now; `reaped` follows, and `on_gone` if it was connected."""
        if not self._ending:
            self._ending = True
            self.process.kill()
            self._reap()
        if self._transport is not None:
            self._transport.abort()

    def bury(self) -> None:
        """Wait for the end of a killed process here and now, a few milliseconds; for when there is no more waiting."""
        self.process.wait()
        self._settle()

    def data_received(self, data: bytes) -> None:
        """Take replies apart; asyncio's name."""
        if not self._buffer and len(data) == LENGTH_BYTES + int.from_bytes(data[:LENGTH_BYTES], "little"):
            self._received(_REPLIES[data[LENGTH_BYTES]], data[LENGTH_BYTES + 1 :])  # most come alone and whole
            return
        self._buffer += data
        while len(self._buffer) >= LENGTH_BYTES:
            end = LENGTH_BYTES + int.from_bytes(self._buffer[:LENGTH_BYTES], "little")
            if len(self._buffer) < end:
                return
            reply = _REPLIES[self._buffer[LENGTH_BYTES]]
            payload = bytes(self._buffer[LENGTH_BYTES + 1 : end])
            del self._buffer[:end]
            self._received(reply, payload)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - why it ended does not matter
        """Note the end of the process, however it came; asyncio's name."""
        self._transport = None
        self._disconnected = True
        self.kill()
        self._settle()
        self.loaded.cancel()
        self.on_gone(self)

    def _received(self, reply: Reply, payload: bytes) -> None:
        used_before, self._used_before = self._used_before, used_s(self.process.pid)
        if not self.loaded.done():
            self.loaded.set_result((reply, payload))
            return
        evaluation = self.queue.popleft()
        self.suspected = False
        self.took_s = 0.0 if evaluation.is_large else self._used_before - used_before
        self.large -= evaluation.is_large
        self.idle_since = self.loop.time()
        if self.queue:
            self.head_since = self.idle_since
        evaluation.copies -= 1
        evaluation.settle(reply, payload)
        self.on_reply(self)

    def _send_unsent(self) -> None:
        unsent, self._unsent = self._unsent, []
        if unsent and self._transport is not None:
            self._transport.write(b"".join(unsent))

    def _has_unread(self) -> bool:
        try:
            return bool(self._socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
        except OSError:
            return False

    async def _connect(self) -> None:
        try:
            transport, _ = await self.loop.create_unix_connection(lambda: self, sock=self._socket)
        except OSError:
            self._socket.close()
            self._disconnected = True
            raise
        # Not in `connection_made`: what ends the connection there ends it before the loop has taken the socket over.
        if self._ending:
            transport.abort()
        elif not self._disconnected:
            self._transport = transport

    def _reap(self) -> None:
        # Polled, because a killed process is gone within milliseconds and a thread to wait for it costs more.
        if self.process.poll() is None:
            self.loop.call_later(REAP_EVERY_S, self._reap)
        else:
            self._settle()

    def _settle(self) -> None:
        if self._disconnected and self.process.returncode is not None and not self.reaped.done():
            self.reaped.set_result(None)


def worker_arguments(limits: WorkerLimits) -> tuple[object, ...]:
    """What the script of a worker is told behind its descriptor."""
    return _engine_directory(), DECISION_RULE, limits.memory_bytes, limits.processor_s


def launch(limits: WorkerLimits, on_reply: Callable[[Worker], None], on_gone: Callable[[Worker], None]) -> Worker:
    """Start a worker, to be connected. Raises `OSError` when the system has no room for a process."""
    process, ours = start_isolated(WORKER_SCRIPT, *worker_arguments(limits), environment=ALLOCATOR)
    ours.settimeout(0)
    return Worker(process, ours, asyncio.get_running_loop(), on_reply, on_gone)
