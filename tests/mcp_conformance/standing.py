"""Processes that stand while the suite runs: the reference server, and a gateway in front of it."""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
PATIENCE_S = 30.0


@asynccontextmanager
async def reference_server(directory: Path) -> AsyncIterator[str]:
    """The reference server's URL."""
    command = (sys.executable, str(HERE / "reference_server.py"))
    async with _printing(command, directory / "reference.log") as line:
        yield line


@asynccontextmanager
async def _printing(command: tuple[str, ...], log: Path) -> AsyncIterator[str]:
    """A process, and the first line that it prints; killed at the end."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("INTERLOCK_")}
    env["PYTHONPATH"] = str(HERE.parent)
    with log.open("wb") as errors:
        process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=errors, env=env)
    try:
        assert process.stdout is not None
        line = (await asyncio.wait_for(process.stdout.readline(), PATIENCE_S)).decode().strip()
        assert line, f"it did not start: {log} says why"
        yield line
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
