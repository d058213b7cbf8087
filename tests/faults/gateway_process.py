"""`interlock serve` as a process of its own, to be killed and started again on the same state."""

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from interlock import Gateway

PATIENCE_S = 60.0

_PATIENCE_OF_CLIENTS_S = 0.0
"""Whoever looks at an end wants to know of it, and not to be taken to the next life."""


@dataclass
class GatewayProcess:
    """A gateway whose state is in `directory`, before providers at these addresses.

    `database` is the URL of one on a server, and `lease_s` the lease there; without, it is a file. `launcher` is what
    Python is given to run `interlock`, and `places` where the gateway that runs now is reached.
    """

    directory: Path
    providers: Mapping[str, str]
    kills: int = 0
    database: str = ""
    lease_s: float = 5.0
    launcher: tuple[str, ...] = ("-m", "interlock_gateway.cli.main")
    places: dict[str, Any] = field(default_factory=dict)
    _process: Process | None = field(default=None, repr=False)

    async def start(self) -> Gateway:
        """Serve; a client of it."""
        config = self.directory / "interlock.yaml"
        settings = {
            "state": {"dir": str(self.directory / "state"), **self._database_settings()},
            "server": {"listen": ["unix:{state}/agent.sock"]},
            "metrics": {"listen": ""},
            "policy": {"workers": 1, "timeout_s": 10},
            "workspace_roots": [str(self.directory / "root")],
            "providers": [{"name": name, "address": address} for name, address in self.providers.items()],
        }
        config.write_text(json.dumps(settings))  # JSON is YAML too
        env = {name: value for name, value in os.environ.items() if not name.startswith("INTERLOCK_")}
        command = (sys.executable, *self.launcher, "serve", "--config", str(config), "-o", "json")
        with (self.directory / "serve.log").open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=log, env=env)
        assert self._process.stdout is not None
        line = await asyncio.wait_for(self._process.stdout.readline(), PATIENCE_S)
        assert line, (self.directory / "serve.log").read_text()
        self.places = json.loads(line)
        return Gateway(self.places["agents"][0], timeout=PATIENCE_S, patience=_PATIENCE_OF_CLIENTS_S)

    def _database_settings(self) -> dict[str, object]:
        return {"database": self.database, "lease_s": self.lease_s} if self.database else {}

    def kill(self) -> None:
        """SIGKILL, at this very moment."""
        assert self._process is not None
        self.kills += 1
        self._process.kill()

    def go_on(self) -> None:
        """End a pause."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def send(self, number: signal.Signals) -> None:
        """Send a signal."""
        assert self._process is not None
        self._process.send_signal(number)

    async def ended(self) -> int:
        """The exit code, once it has ended by itself."""
        assert self._process is not None
        return await asyncio.wait_for(self._process.wait(), PATIENCE_S)

    async def gone(self) -> None:
        """Return once a killed process has ended."""
        assert self._process is not None
        await asyncio.wait_for(self._process.wait(), PATIENCE_S)

    async def stop(self) -> None:
        """End it, if it runs."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self.gone()
