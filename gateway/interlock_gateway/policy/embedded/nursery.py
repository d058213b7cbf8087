"""Where workers come from that take the place of others, seen from the gateway (decision 0129).

To start an interpreter and to load policies takes a worker as long as hundreds of decisions, at the same priority as
those who wait for one; and a process that would load at a lower one could never have the usual one again. So one
process, which is there while workers are being lost, holds the policies and becomes two whenever a worker is wanted.
It is given no input, so that what comes from it is as new as what is started.
"""

import asyncio
import os
import signal
import socket
import subprocess
from contextlib import suppress
from pathlib import Path

import interlock_gateway
from interlock_gateway.isolation.process import start_isolated
from interlock_gateway.policy.embedded import nursery_worker
from interlock_gateway.policy.embedded.process import ALLOCATOR, Process, WorkerLimits, worker_arguments
from interlock_gateway.policy.embedded.wire import LENGTH_BYTES, Reply, frame

SCRIPT = Path(nursery_worker.__file__)
PACKAGE_DIRECTORY = Path(interlock_gateway.__file__).parent.parent
# How long it may take to load the policies, which direct starts would do at the same time, and then for each worker:
# that is a millisecond of the processor. Who waits longer takes a worker that is started, and so it hangs.
LOAD_S = 3.0
ANSWER_S = 1.0
# Who breaks it off waits so long for what is under way: it is milliseconds, but for a process that hangs.
BROKEN_OFF_S = 0.5
_LOADED = frame(bytes([Reply.OK]))


class BornProcess:
    """A worker's process that came from the nursery. It is a child of ours."""

    def __init__(self, process_id: int) -> None:
        self.pid = process_id
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """As `Process` says."""
        return self._wait(os.WNOHANG)

    def wait(self) -> int:
        """As `Process` says."""
        code = self._wait(0)
        assert code is not None
        return code

    def kill(self) -> None:
        """As `Process` says."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def _wait(self, options: int) -> int | None:
        if self.returncode is None:
            try:
                process_id, status = os.waitpid(self.pid, options)
            except ChildProcessError:  # whoever started us has the system wait for our children
                process_id, status = self.pid, 0
            if process_id:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode


class Nursery:
    """The process, while there is one: from the first worker that is wanted until `spare_s` after the last."""

    def __init__(self, policies: bytes, limits: WorkerLimits, spare_s: float) -> None:
        self._policies = policies
        self._limits = limits
        self._spare_s = spare_s
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: socket.socket | None = None
        self._ending: asyncio.TimerHandle | None = None
        self._turn = asyncio.Lock()
        self._is_of_use = True
        self._has_succeeded = False

    async def born(self) -> tuple[Process, socket.socket]:
        """A process that holds the policies, and our end of the socket to it: it is about to say that it has loaded.

        Raises `OSError` when none is to be had so. Cancelled, it leaves none behind.
        """
        being_born = asyncio.get_running_loop().create_task(self._born())
        try:
            return await asyncio.shield(being_born)
        except asyncio.CancelledError:
            # Broken off in between, there would be a process of which nobody knows.
            while not being_born.done():
                with suppress(asyncio.CancelledError):
                    if not (await asyncio.wait([being_born], timeout=BROKEN_OFF_S))[0] and self._process is not None:
                        self._process.kill()
            if not being_born.cancelled() and being_born.exception() is None:
                process, ours = being_born.result()
                ours.close()
                process.kill()
                process.wait()
            raise

    def end(self) -> None:
        """End the process, which takes a few milliseconds. Those that came from it live on."""
        if self._ending is not None:
            self._ending.cancel()
        process, self._process = self._process, None
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
        if process is not None:
            process.kill()
            process.wait()

    async def _born(self) -> tuple[Process, socket.socket]:
        async with self._turn:
            if not self._is_of_use:
                raise BlockingIOError("no process can be had from another one here")
            try:
                born = await self._asked(self._connection or await self._started())
            except BaseException as error:
                # Where none has ever come so, the system may not allow it: it is not tried again each time.
                self._is_of_use = self._has_succeeded or isinstance(error, TimeoutError)
                self.end()
                raise
            else:
                self._has_succeeded = True
                return born
            finally:
                if self._ending is not None:
                    self._ending.cancel()
                self._ending = asyncio.get_running_loop().call_later(self._spare_s, self._end_if_idle)

    def _end_if_idle(self) -> None:
        if not self._turn.locked():
            self.end()

    async def _started(self) -> socket.socket:
        arguments = (PACKAGE_DIRECTORY, *worker_arguments(self._limits))
        self._process, self._connection = start_isolated(SCRIPT, *arguments, environment=ALLOCATOR)
        self._connection.settimeout(0)
        async with asyncio.timeout(LOAD_S):
            await asyncio.get_running_loop().sock_sendall(self._connection, frame(self._policies))
            answer = await _received(self._connection, LENGTH_BYTES + 1)
        if answer != _LOADED:
            raise ConnectionError("the policies cannot be loaded once more")
        return self._connection

    async def _asked(self, connection: socket.socket) -> tuple[Process, socket.socket]:
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                socket.send_fds(connection, [b"\0"], [theirs.fileno()])
                answer = await self._answered(connection)
        except BaseException:
            ours.close()
            raise
        process_id = int.from_bytes(answer, "little")
        if not process_id:
            ours.close()
            raise BlockingIOError("there is no room for another process")
        ours.settimeout(0)
        return BornProcess(process_id), ours

    async def _answered(self, connection: socket.socket) -> bytes:
        """What it says, or who came from it. Raises `ConnectionError` when there is none and will be none."""
        try:
            async with asyncio.timeout(ANSWER_S):
                return await _received(connection, nursery_worker.PID_BYTES)
        except TimeoutError:
            if self._process is not None:
                self._process.kill()
            # One that it had made already says so; else the connection ends. So there is none that is not known.
            answer = await _received(connection, nursery_worker.PID_BYTES)
            self.end()
            return answer


async def _received(connection: socket.socket, count: int) -> bytes:
    """So many bytes. Raises `ConnectionError` when the process has ended."""
    loop, data = asyncio.get_running_loop(), b""
    while len(data) < count:
        piece = await loop.sock_recv(connection, count - len(data))
        if not piece:
            raise ConnectionError("the process that workers come from has ended")
        data += piece
    return data
