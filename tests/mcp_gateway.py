"""A gateway as a process of its own, in front of one MCP server, that lets everything through and writes it down."""

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

PATIENCE_S = 30.0


@asynccontextmanager
async def gateway(directory: Path, upstream: dict[str, Any], **more: Any) -> AsyncIterator[str]:
    """The URL at which a gateway speaks MCP, whose one provider is the MCP server `upstream`.

    Policy observes: it decides about every call, and none is held up (POL-3). No tool is deferred, however many there
    are. `more` is more of its configuration.
    """
    settings: dict[str, Any] = {
        "state": {"dir": str(directory / "state")},
        "server": {"listen": ["unix:{state}/agent.sock"]},
        "mcp": {"listen": ["127.0.0.1:0"]},
        "metrics": {"listen": ""},
        "identity": {"anonymous_agents_on_loopback": True},
        "policy": {"profile": "observe", "workers": 1, "timeout_s": 5},
        "deferred": {"threshold": 1000},
        "providers": [{"name": "upstream", "trust": "declared", "mcp": upstream}],
        **more,
    }
    file = directory / "interlock.yaml"
    file.write_text(json.dumps(settings))  # JSON is YAML too
    command = (sys.executable, "-m", "interlock_gateway.cli.main", "serve", "--config", str(file), "-o", "json")
    async with printing(command, directory / "gateway.log") as line:
        yield f"http://{json.loads(line)['mcp'][0]}/mcp"


def python_path() -> str:
    """Where processes of tests find what tests share."""
    return os.pathsep.join(filter(None, (str(Path(__file__).parent), os.environ.get("PYTHONPATH", ""))))


@asynccontextmanager
async def printing(command: tuple[str, ...], log: Path) -> AsyncIterator[str]:
    """A process, and the first line that it prints; killed at the end."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("INTERLOCK_")}
    env["PYTHONPATH"] = python_path()
    with log.open("wb") as errors:
        process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=errors, env=env)
    try:
        assert process.stdout is not None
        line = (await asyncio.wait_for(process.stdout.readline(), PATIENCE_S)).decode().strip()
        assert line, f"it did not start: {log} says why"
        yield line
    finally:
        if process.returncode is None:
            process.terminate()
            try:
                await asyncio.wait_for(process.wait(), PATIENCE_S)
            except TimeoutError:
                process.kill()
                await process.wait()
