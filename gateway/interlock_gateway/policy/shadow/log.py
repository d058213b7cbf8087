"""The file of differences: lines of JSON, bounded, written in a thread, and never in the way of a call."""

import asyncio
import os
from collections import deque
from pathlib import Path

from interlock_gateway.policy.shadow.difference import Difference, read_line

MAX_FILE_BYTES = 8 * 1024 * 1024
MOST_SHOWN = 1000
MOST_WAITING = 1000
WRITE_EVERY_S = 0.5
_NAME, _BEFORE = "shadow.jsonl", "shadow.1.jsonl"


class DifferenceLog:
    """Differences on disk, in two files of at most `MAX_FILE_BYTES` each, and the latest of them in memory.

    `lost` counts those that could not be written, because the disk did not take them or too many came at once.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._waiting: list[Difference] = []
        self._latest: deque[Difference] = deque(maxlen=MOST_SHOWN)
        self._writing: asyncio.Task[None] | None = None
        self.lost = 0

    async def open(self) -> None:
        """Read what is there from before."""
        self._latest.extend(await asyncio.to_thread(self._read))

    def latest(self) -> tuple[Difference, ...]:
        """The latest differences, newest first."""
        return tuple(reversed(self._latest))

    def add(self, difference: Difference) -> None:
        """Take a difference; it is on disk soon."""
        self._latest.append(difference)
        if len(self._waiting) >= MOST_WAITING:
            self.lost += 1
            return
        self._waiting.append(difference)
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_soon())

    async def close(self) -> None:
        """Write what waits."""
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.wait([self._writing])
        await self._write()

    async def _write_soon(self) -> None:
        while self._waiting:
            await asyncio.sleep(WRITE_EVERY_S)
            await self._write()

    async def _write(self) -> None:
        lines, self._waiting = self._waiting, []
        if not lines:
            return
        try:
            await asyncio.to_thread(self._append, b"".join(one.line() for one in lines))
        except OSError:
            self.lost += len(lines)

    def _append(self, content: bytes) -> None:
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._directory / _NAME
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "ab") as file:
            file.write(content)
            size = file.tell()
        if size >= MAX_FILE_BYTES:
            path.replace(self._directory / _BEFORE)

    def _read(self) -> list[Difference]:
        found: list[Difference] = []
        for name in (_NAME, _BEFORE):
            try:
                lines = (self._directory / name).read_bytes().splitlines()[-(MOST_SHOWN - len(found)) :]
            except OSError:
                continue
            found = [*filter(None, map(read_line, lines)), *found]
            if len(found) >= MOST_SHOWN:
                break
        return found
