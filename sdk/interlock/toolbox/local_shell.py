"""Commands on this machine."""

import asyncio
import os
import shutil
import signal
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from interlock.toolbox.errors import OperationError, StorageError
from interlock.toolbox.local_files import LocalFiles
from interlock.toolbox.operations import Exit, Place
from interlock.toolbox.process_groups import end_group, group_lives

# What a command may know of the toolbox's own environment. Tokens and keys of the operator are not in it.
ALLOWED_ENVIRONMENT = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "TERM", "TZ",
    "TMPDIR",
)  # fmt: skip
_DRAIN_S = 0.5
_BLOCK = 64 * 1024
_PROC_FD = Path("/proc/self/fd")
_HAS_PROC_FD = _PROC_FD.is_dir()


def allowed_environment(environment: Mapping[str, str], more: Sequence[str] = ()) -> dict[str, str]:
    """The part of an environment that commands get: the allow-list and `more` names."""
    allowed = {*ALLOWED_ENVIRONMENT, *more}
    return {"PATH": os.defpath, **{name: value for name, value in environment.items() if name in allowed}}


class LocalShell:
    """`Shell` with this machine's bash. Each command is a session and a process group of its own."""

    def __init__(self, files: LocalFiles, environment: Mapping[str, str]) -> None:
        self._files = files
        self._environment = dict(environment)

    async def run(
        self,
        command: str,
        *,
        cwd: Place,
        timeout_s: float,
        on_output: Callable[[bytes], None],
        room: asyncio.Event | None = None,
    ) -> Exit:
        """Run a script to its end, or end it. While `room` is there and not set, its output waits where it is."""
        bash = shutil.which("bash", path=self._environment.get("PATH"))
        if bash is None:
            raise OperationError("there is no bash on this machine")
        started = time.monotonic()
        output = _Output(on_output, room)
        try:
            process = await self._started(bash, command, cwd, output.writing)
            try:
                timed_out = not await _ended_within(process, timeout_s)
                left_behind = group_lives(process.pid)
            finally:
                await _surely(end_group(process))
            await output.drained(_DRAIN_S)
        finally:
            output.close()
        code, name = _code_and_signal(process.returncode)
        return Exit(code, name, time.monotonic() - started, timed_out, left_behind and not timed_out)

    async def _started(self, bash: str, command: str, cwd: Place, writing: int) -> asyncio.subprocess.Process:
        """The command, once it runs. Cancelled meanwhile, it is ended with all that it has started by then."""
        starting = asyncio.create_task(self._start(bash, command, cwd, writing))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            while not starting.done():
                with suppress(asyncio.CancelledError):
                    await asyncio.wait([starting])
            if starting.exception() is None:
                await _surely(end_group(starting.result()))
            raise

    async def _start(self, bash: str, command: str, cwd: Place, writing: int) -> asyncio.subprocess.Process:
        with self._files.open_directory(cwd) as directory:
            # The child enters the directory that is open, whatever its path leads to by then.
            path = str(_PROC_FD / str(directory)) if _HAS_PROC_FD else self._files.resolve(cwd).path
            try:
                return await asyncio.create_subprocess_exec(
                    *(bash, "--noprofile", "--norc", "-c", command),
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=writing,
                    stderr=writing,
                    cwd=path,
                    env=self._environment,
                    start_new_session=True,
                )
            except (OSError, ValueError) as error:
                raise StorageError("the command", f"it could not be started: {error}") from error


class _Output:
    """A pipe and what reads it. A process that left the group may hold it open for ever; it is let go of then."""

    def __init__(self, take: Callable[[bytes], None], room: asyncio.Event | None) -> None:
        self._take = take
        self._room = room
        self._waiting: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()
        self._reading, self.writing = os.pipe()
        os.set_blocking(self._reading, False)
        self._ended = asyncio.Event()
        self._loop.add_reader(self._reading, self._read)

    async def drained(self, timeout_s: float) -> None:
        """Wait until all writers are gone, but no longer than this, while there is room for what they wrote."""
        self._close_writing()
        while not self._ended.is_set():
            if self._waiting is not None:
                await asyncio.wait([self._waiting])
            try:
                async with asyncio.timeout(timeout_s):
                    await self._ended.wait()
            except TimeoutError:
                if self._waiting is None:
                    return

    def close(self) -> None:
        """Let go of the pipe."""
        if self._waiting is not None:
            self._waiting.cancel()
        self._loop.remove_reader(self._reading)
        self._close_writing()
        os.close(self._reading)

    def _close_writing(self) -> None:
        if self.writing >= 0:
            os.close(self.writing)
            self.writing = -1

    def _read(self) -> None:
        try:
            block = os.read(self._reading, _BLOCK)
        except BlockingIOError:
            return
        if not block:
            self._loop.remove_reader(self._reading)
            self._ended.set()
            return
        self._take(block)
        if self._room is not None and not self._room.is_set():
            self._loop.remove_reader(self._reading)
            self._waiting = self._loop.create_task(self._go_on(self._room))

    async def _go_on(self, room: asyncio.Event) -> None:
        await room.wait()
        self._waiting = None
        self._loop.add_reader(self._reading, self._read)


async def _surely(work: Coroutine[Any, Any, None]) -> None:
    """Do it to its end, however often this is cancelled meanwhile."""
    doing, cancelled = asyncio.create_task(work), None
    while not doing.done():
        try:
            await asyncio.wait([doing])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    doing.result()


async def _ended_within(process: asyncio.subprocess.Process, timeout_s: float) -> bool:
    try:
        async with asyncio.timeout(timeout_s):
            await process.wait()
    except TimeoutError:
        return False
    return True


def _code_and_signal(returncode: int | None) -> tuple[int | None, str]:
    if returncode is None or returncode >= 0:
        return returncode, ""
    try:
        return None, signal.Signals(-returncode).name
    except ValueError:
        return None, f"signal {-returncode}"
