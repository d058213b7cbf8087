"""The stage: a workspace to work in, and the gateway and the toolbox, each a process of its own."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

START_S = 30.0
NOTES = "# Notes\n\nThe deploy key rotates on Mondays.\nAsk Ada before you restart it.\n"


class StageError(Exception):
    """The demonstration could not be set up; the message says why."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Where everything is."""

    workspace: Path
    state: Path
    agent_address: str
    operator_address: str
    metrics_url: str


@contextmanager
def staged(directory: Path) -> Iterator[Stage]:
    """A running gateway and toolbox on a copy of the product's own sources; ended with the block."""
    workspace, state = directory / "workspace", directory / "state"
    shutil.rmtree(directory, ignore_errors=True)
    state.mkdir(parents=True, mode=0o700)
    for package in ("interlock_gateway", "interlock"):
        shutil.copytree(_source_of(package), workspace / package, ignore=shutil.ignore_patterns("__pycache__"))
    (workspace / "NOTES.md").write_text(NOTES)
    (workspace / "shortcut").symlink_to("/etc")
    (workspace / "releases").mkdir()
    (workspace / "releases" / "shop.version").write_text("1.4.1\n")
    config = directory / "interlock.yaml"
    config.write_text(json.dumps(_config(workspace, state), indent=2))
    with (
        _process(_toolbox(workspace, state, directory), directory / "toolbox.log"),
        _process(_releases(workspace, state), directory / "releases.log"),
        serving(config, directory / "gateway.log") as metrics,
    ):
        yield Stage(workspace, state, f"unix:{state}/agent.sock", f"unix:{state}/operator.sock", metrics)


@contextmanager
def serving(config: Path, log: Path) -> Iterator[str]:
    """A gateway with this configuration, a process of its own; where its metrics are. Raises `StageError`."""
    gateway = [sys.executable, "-m", "interlock_gateway.cli.main", "serve", "--config", str(config)]
    with _process(gateway, log) as running:
        yield _wait_until_ready(running, log)


def _source_of(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise StageError(f"the package {package} is not installed")
    return Path(spec.submodule_search_locations[0])


def _config(workspace: Path, state: Path) -> dict[str, object]:
    # JSON is YAML too: the configuration file of a gateway with two providers.
    return {
        "state": {"dir": str(state)},
        "server": {"listen": ["unix:{state}/agent.sock"], "operator_listen": ["unix:{state}/operator.sock"]},
        "metrics": {"listen": "127.0.0.1:0"},
        "workspace_roots": [str(workspace)],
        "tools": {"read": {"max_result_bytes": 16 * 1024}},
        "providers": [
            {"name": "toolbox", "address": f"unix:{state}/toolbox.sock"},
            {"name": "releases", "address": f"unix:{state}/releases.sock"},
        ],
    }


def _toolbox(workspace: Path, state: Path, directory: Path) -> list[str]:
    command = [sys.executable, "-m", "interlock.toolbox", "--root", str(workspace)]
    return [*command, "--listen", f"unix:{state}/toolbox.sock", "--state-dir", str(directory / "toolbox-state")]


def _releases(workspace: Path, state: Path) -> list[str]:
    command = [sys.executable, "-m", "interlock_gateway.demo.releases"]
    return [*command, str(workspace / "releases"), f"unix:{state}/releases.sock"]


@contextmanager
def _process(command: list[str], log: Path) -> Iterator["subprocess.Popen[bytes]"]:
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - our own commands
            command,
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env=os.environ | {"NO_COLOR": "1"},
        )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_ready(process: "subprocess.Popen[bytes]", log: Path) -> str:
    end = time.monotonic() + START_S
    while time.monotonic() < end:
        text = log.read_text(errors="replace")
        if "interlock is ready" in text:
            return _metrics_url(text)
        if process.poll() is not None:
            raise StageError(f"the gateway ended before it was ready:\n{text}")
        time.sleep(0.02)
    raise StageError(f"the gateway was not ready after {START_S:.0f} s; its log is {log.name}")


def _metrics_url(text: str) -> str:
    for word in text.split():
        if word.startswith("http://") and word.rstrip(",;").endswith("/metrics"):
            return word.rstrip(",;")
    return ""
