"""Programs as people run them, and commands against them."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from interlock_gateway.cli.main import app
from typer.testing import CliRunner, Result
from waiting import eventually

INTERLOCK = (sys.executable, "-m", "interlock_gateway.cli.main")
PATIENCE_S = 60


@dataclass(frozen=True, slots=True)
class Program:
    """A program that runs, and the line with which it said that it is ready."""

    process: "subprocess.Popen[str]"
    ready: str

    def stop(self) -> int:
        """End it with SIGTERM; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_S)


@contextmanager
def started(*arguments: str, env: dict[str, str], log: Path) -> Iterator[Program]:
    """`interlock` with these arguments, once it has said that it is ready."""
    with log.open("w", encoding="utf-8") as errors:
        process = subprocess.Popen(
            [*INTERLOCK, *arguments], env=env, stdout=subprocess.PIPE, stderr=errors, text=True, encoding="utf-8"
        )
    output: IO[str] | None = process.stdout
    assert output is not None
    try:
        ready = output.readline()
        assert ready, log.read_text(encoding="utf-8")
        yield Program(process, ready.strip())
    finally:
        process.kill()
        process.wait(PATIENCE_S)
        output.close()


def output_of(*arguments: str, env: dict[str, str]) -> str:
    """What a command that has to succeed prints."""
    return subprocess.run(
        [*INTERLOCK, *arguments], env=env, check=True, stdout=subprocess.PIPE, text=True, timeout=PATIENCE_S
    ).stdout


@dataclass(frozen=True, slots=True)
class Place:
    """A state directory with a gateway on it, and commands that find it."""

    directory: Path
    env: dict[str, str]
    gateway: Program = field(repr=False)
    token: str = field(repr=False)

    @property
    def addresses(self) -> list[str]:
        """Where agents reach the gateway: its Unix socket, and loopback."""
        found: list[str] = json.loads(self.gateway.ready)["agents"]
        return found

    @property
    def workspace(self) -> Path:
        """Where the toolbox works."""
        return self.directory / "workspace"

    def provider_is_ready(self) -> bool:
        """Whether the gateway has the toolbox's tools."""
        return all(provider["state"] == "ready" for provider in self.json("providers")["providers"])

    def run(self, *arguments: str, typed: str | None = None, **env: str) -> Result:
        """One command."""
        ours: dict[str, str | None] = {name: None for name in os.environ if name.startswith("INTERLOCK_")}
        return CliRunner().invoke(app, arguments, env={**ours, **self.env, **env}, input=typed)

    def json(self, *arguments: str, code: int = 0, **env: str) -> Any:
        """What one command shows to programs; it has to end with `code`."""
        ended = self.run(*arguments, "--output", "json", **env)
        assert ended.exit_code == code, ended.output
        return json.loads(ended.stdout)


@contextmanager
def place(*toolbox: str, **more: str) -> Iterator[Place]:
    """What `interlock init` makes, with `interlock toolbox` and `interlock serve` running in it.

    `toolbox` is more of the toolbox's command line, `more` of the gateway's environment.
    """
    with tempfile.TemporaryDirectory(prefix="il-", dir="/tmp", ignore_cleanup_errors=True) as made:
        directory = Path(made)
        settings = {"INTERLOCK__STATE__DIR": str(directory / "state"), "INTERLOCK__METRICS__LISTEN": "127.0.0.1:0"}
        env = {name: value for name, value in os.environ.items() if not name.startswith("INTERLOCK_")} | settings
        env |= {"HOME": made, "XDG_STATE_HOME": str(directory / "xdg")}
        token = json.loads(output_of("init", made, "--output", "json", env=env))["token"]
        serving = {**env, "INTERLOCK__SERVER__LISTEN": '["unix:{state}/agent.sock", "127.0.0.1:0"]', **more}
        config = str(directory / "interlock.yaml")
        root = str(directory / "workspace")
        with (
            started("toolbox", "--root", root, *toolbox, env=env, log=directory / "toolbox.log"),
            started("serve", "--config", config, "-o", "json", env=serving, log=directory / "serve.log") as gateway,
        ):
            made_place = Place(directory, settings, gateway, token)
            asyncio.run(eventually(made_place.provider_is_ready))
            yield made_place
