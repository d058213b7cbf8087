"""An MCP server that is a child process: one message a line on its pipes, its stderr in the log (MCP-2)."""

import asyncio
import contextlib
import logging
import os
import shutil
import signal
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from interlock_gateway.providers.mcp.link import LinkError, Outgoing, Receive
from interlock_gateway.providers.mcp.messages import NotAMessageError
from interlock_gateway.providers.mcp.throttle import STDERR_A_SECOND, LogBudget, Throttle, cost_of

LAUNCHER = Path(__file__).with_name("launcher.py")
INHERITED = ("PATH", "HOME")
"""What a server's environment has of the gateway's own; the rest is configured."""
LEAVE_S = 1.0
"""How long a server may take to end once its standard input was closed, and once more after it was asked."""
LAST_WORD_S = 0.2
"""How long a server that closed a pipe has to end by itself: its exit code says more."""
MAX_UNREAD = 16 * 1024 * 1024
"""What may wait for a server that does not read, in bytes."""
MAX_LINE = 2000
LAST_LINES = 5
"""How many lines of a server's stderr are remembered."""
READ_LINE = 4 * MAX_LINE
"""How much of a line is looked through for secrets, so that none is cut in two where the line is."""
SECRET_LENGTH = 6
"""Values of the environment that are at least so long, and no paths, are taken out of what the server writes to its
stderr."""
_STDIN, _STDOUT, _STDERR = 0, 1, 2
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Command:
    """What is run, with which environment beside `INHERITED`, and where."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    directory: str = ""


class StdioLink:
    """Pipes to one child process, in a process group of its own that ends with the gateway."""

    closing_cancels = False

    def __init__(self, provider: str, command: Command, *, max_message_bytes: int) -> None:
        self._provider = provider
        self._command = command
        self._most = max_message_bytes
        self._child: _Child | None = None

    async def open(self, receive: Receive, lost: Callable[[str], None]) -> None:
        """Start the server. Raises `LinkError`."""
        loop = asyncio.get_running_loop()
        values = self._command.environment.values()
        secrets = tuple(value for value in values if len(value) >= SECRET_LENGTH and not value.startswith("/"))
        told = _Stderr(self._provider, secrets)
        arguments = [sys.executable, "-I", "-S", "-B", str(LAUNCHER), str(os.getpid()), *self._command.arguments]
        environment = _environment(self._command.environment)
        _refuse_what_is_not_there(self._command.arguments[0], environment)
        try:
            _, child = await loop.subprocess_exec(
                lambda: _Child(receive, lost, told, self._most),
                *arguments,
                env=environment,
                cwd=self._command.directory or None,
                start_new_session=True,
            )
        except OSError as error:
            raise LinkError(f"it cannot be started: {error.strerror or error}", unsent=True) from None
        self._child = child

    async def carry(self, outgoing: Outgoing) -> None:
        """Write a message to the server's standard input."""
        if self._child is None:
            raise LinkError("it is not running", unsent=True)
        self._child.write(outgoing.body)

    @property
    def last_words(self) -> tuple[str, ...]:
        """What the server wrote to its stderr last, oldest first: bounded, and without the secrets it was given."""
        return self._child.last_words if self._child is not None else ()

    def adopt(self, version: str, *, modern: bool) -> None:
        """Nothing differs between revisions here."""

    async def close(self) -> None:
        """End the server: close its standard input, then ask it, then end it and whatever it started."""
        if self._child is not None:
            await self._child.end()


def _environment(configured: Mapping[str, str]) -> dict[str, str]:
    return {name: os.environ[name] for name in INHERITED if name in os.environ} | dict(configured)


def _refuse_what_is_not_there(program: str, environment: Mapping[str, str]) -> None:
    """Raise `LinkError` for a program without a path that `PATH` does not lead to: its exit code would say less."""
    if "/" not in program and shutil.which(program, path=environment.get("PATH", os.defpath)) is None:
        raise LinkError(f"it cannot be started: there is no program {program} in its PATH", unsent=True)


class _Child(asyncio.SubprocessProtocol):
    """The process, from the moment it runs."""

    def __init__(self, receive: Receive, lost: Callable[[str], None], told: "_Stderr", most: int) -> None:
        self._receive = receive
        self._lost = lost
        self._told = told
        self._most = most
        self._throttle = Throttle()
        self._noise = Throttle(STDERR_A_SECOND)
        self._has_failed = False
        self._begun = bytearray()
        self._transport: asyncio.SubprocessTransport | None = None
        self._exited = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    @property
    def last_words(self) -> tuple[str, ...]:
        """What it wrote to its stderr last."""
        return self._told.last_words

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It runs."""
        self._transport = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """It wrote something."""
        if fd == _STDERR:
            self._told.take(data, self._loop.time())
            if pause_s := self._noise.pause_s(self._loop.time(), len(data)):
                self._pause(_STDERR, pause_s)
            return
        if self._has_failed:
            return  # it is being ended, and may go on writing until then
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._line(line)
        self._begun += rest
        if len(self._begun) > self._most:
            self._fail(f"it sent a message larger than {self._most} bytes")

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """It closed a pipe; without these two there is nothing to be had of it."""
        del exc
        if fd in {_STDIN, _STDOUT}:
            why = "it closed its standard input" if fd == _STDIN else "it closed its standard output"
            self._loop.call_later(LAST_WORD_S, self._fail, why)

    def process_exited(self) -> None:
        """It ended; what it started ends too."""
        transport = self._transport
        self._exited.set()
        if transport is None:
            return
        self._signal(signal.SIGKILL)
        self._told.end(self._loop.time())
        self._lost(f"it ended with exit code {transport.get_returncode()}")
        transport.close()

    def write(self, body: bytes) -> None:
        """Hand it one message. Raises `LinkError`."""
        pipe = self._pipe(_STDIN)
        if pipe is None or self._exited.is_set() or pipe.is_closing():
            raise LinkError("it is not running", unsent=True)
        stdin = cast("asyncio.WriteTransport", pipe)
        if stdin.get_write_buffer_size() > MAX_UNREAD:
            raise LinkError("it does not read what it is sent", unsent=True)
        stdin.write(body + b"\n")

    async def end(self) -> None:
        """Return when it has ended."""
        pipe = self._pipe(_STDIN)
        if pipe is not None:
            pipe.close()
        for number in (None, signal.SIGTERM, signal.SIGKILL):
            if number is not None:
                self._signal(number)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LEAVE_S):
                    await self._exited.wait()
                    return

    def _pipe(self, number: int) -> asyncio.BaseTransport | None:
        return self._transport.get_pipe_transport(number) if self._transport is not None else None

    def _signal(self, number: signal.Signals) -> None:
        assert self._transport is not None
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._transport.get_pid(), number)

    def _line(self, end: bytes) -> None:
        line = bytes(self._begun) + end if self._begun else end
        self._begun.clear()
        wanted = False
        if line.strip():
            try:
                wanted = self._receive(line, None)
            except NotAMessageError:
                self._told.stray(line, self._loop.time())
        if not wanted and (pause_s := self._throttle.pause_s(self._loop.time(), cost_of(line))):
            self._pause(_STDOUT, pause_s)

    def _pause(self, number: int, pause_s: float) -> None:
        """Read nothing more of a pipe for so long: its writer waits."""
        pipe = self._pipe(number)
        if pipe is None or pipe.is_closing():
            return
        reading = cast("asyncio.ReadTransport", pipe)
        if reading.is_reading():
            reading.pause_reading()
            self._loop.call_later(pause_s, self._resume, reading)

    def _resume(self, pipe: asyncio.ReadTransport) -> None:
        if not pipe.is_closing():
            pipe.resume_reading()

    def _fail(self, why: str) -> None:
        self._has_failed = True
        self._begun.clear()
        self._lost(why)
        if not self._exited.is_set():
            self._signal(signal.SIGTERM)


class _Stderr:
    """What a server writes beside its messages: bounded, in lines, without the secrets it was given."""

    def __init__(self, provider: str, secrets: Sequence[str]) -> None:
        self._provider = provider
        self._secrets = secrets
        self._budget = LogBudget()
        self._rest = b""
        self._last: deque[bytes] = deque(maxlen=LAST_LINES)

    def take(self, data: bytes, now: float) -> None:
        """Some of its stderr."""
        *lines, rest = (self._rest + data).split(b"\n")
        self._rest = rest[:READ_LINE]
        for line in lines:
            if line.strip():
                self._last.append(line[:READ_LINE])
            if text := self._shown(line, now):
                _log.info("an MCP server wrote to its stderr", extra={"provider": self._provider, "text": text})

    def stray(self, line: bytes, now: float) -> None:
        """A line of its stdout that is no message."""
        if text := self._shown(line, now):
            _log.info("an MCP server wrote what is no message", extra={"provider": self._provider, "text": text})

    def end(self, now: float) -> None:
        """It has ended; what it did not end a line with is one."""
        if self._rest:
            self.take(b"\n", now)
        self._say_dropped()

    def _shown(self, line: bytes, now: float) -> str:
        """The line as it is logged; empty when it is not."""
        text = line[:READ_LINE].decode("utf-8", "replace").strip()
        if not text or not self._budget.allows(now):
            return ""
        self._say_dropped()
        return self._without_secrets(text)[:MAX_LINE]

    @property
    def last_words(self) -> tuple[str, ...]:
        """What it wrote last, oldest first, without the secrets it was given."""
        texts = (line.decode("utf-8", "replace").strip() for line in self._last)
        return tuple(dict.fromkeys(self._without_secrets(text)[:MAX_LINE] for text in texts))

    def _without_secrets(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "[redacted:environment]")
        return text

    def _say_dropped(self) -> None:
        if self._budget.dropped:
            _log.warning(
                "lines of an MCP server were not logged",
                extra={"provider": self._provider, "lost": self._budget.dropped},
            )
            self._budget.dropped = 0
