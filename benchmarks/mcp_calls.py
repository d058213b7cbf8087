"""`make bench-mcp`: MCP calls direct, through the gateway and through a FastMCP proxy, in one run (PERF-3).

All over streamable HTTP, with sessions kept. The server that is called is on the official SDK and answers as JSON; it
shares one processor with the load, and what stands between them has the other. Rounds are interleaved: trust the
ratios. Takes about two minutes, and Go for the load generator.
"""

import argparse
import base64
import hashlib
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

import processes
from interlock_gateway.sessions.awake import AWAKE_S

HERE = Path(__file__).resolve().parent
FASTMCP = HERE / "fastmcp_proxy"
FASTMCP_VENV = HERE.parent / ".tools" / "fastmcp"
HANDSHAKE, STATELESS = "2025-11-25", "2026-07-28"
CONNECTIONS = (1, 4)
ARGUMENTS = {"text": "x" * 100}
TOKEN = "ilk_" + "b" * 43


@dataclass(frozen=True)
class Target:
    """Something that speaks MCP at `url`; `process_id` is whose processor time counts."""

    what: str
    url: str
    revision: str
    process_id: int


@dataclass(frozen=True)
class Figure:
    """One thing measured: the median over the rounds."""

    what: str
    revision: str
    connections: int
    calls_per_second: float
    p50_ms: float
    p99_ms: float
    cpu_us: float


def main() -> int:
    """Measure, print the table, write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--json", type=Path, default=HERE / "results" / "mcp.json")
    parser.add_argument("--without-fastmcp", action="store_true", help="leave the proxy to compare with out")
    asked = parser.parse_args()
    if shutil.which("go") is None or shutil.which("taskset") is None:
        print("the benchmark needs Go (for a load generator that costs little) and taskset; nothing was measured")
        return 1
    with tempfile.TemporaryDirectory(prefix="il-bench-", dir="/tmp") as directory:
        figures = _measure(Path(directory), asked.rounds, asked.seconds, fastmcp=not asked.without_fastmcp)
    report = {
        "versions": {"mcp": version("mcp"), "fastmcp": "" if asked.without_fastmcp else _locked("fastmcp")},
        "rounds": asked.rounds,
        "seconds": asked.seconds,
        "figures": [asdict(figure) for figure in figures],
    }
    _print(figures)
    asked.json.parent.mkdir(parents=True, exist_ok=True)
    asked.json.write_text(json.dumps(report, indent=2) + "\n")
    return 0


def _measure(directory: Path, rounds: int, seconds: float, *, fastmcp: bool) -> list[Figure]:
    load = directory / "load"
    subprocess.run(["go", "build", "-o", str(load), "."], cwd=HERE / "load", check=True)
    (directory / "arguments.json").write_text(json.dumps(ARGUMENTS))
    with ExitStack() as standing:
        targets = list(_targets(standing, directory, fastmcp=fastmcp))
        figures = []
        for connections in CONNECTIONS:
            taken: dict[Target, list[Figure]] = {target: [] for target in targets}
            for number in range(rounds):
                # Every other round goes the other way, so that drift hits all alike.
                for target in targets if number % 2 == 0 else reversed(targets):
                    taken[target].append(_one(load, directory, target, connections, seconds))
            figures.extend(_median(found) for found in taken.values())
        return figures


def _targets(standing: ExitStack, directory: Path, *, fastmcp: bool) -> Iterator[Target]:
    """The server, the gateway and the proxy in front of it, started and left standing; each for each revision."""
    echo = [sys.executable, str(HERE / "mcp_echo.py"), "json"]
    server, upstream = standing.enter_context(_printing(echo, processes.LOAD_CPU, directory / "echo.log"))
    gateway, entrance = standing.enter_context(_gateway(directory, upstream))
    for revision in (HANDSHAKE, STATELESS):
        yield Target("direct", upstream, revision, server)
        yield Target("gateway", entrance, revision, gateway)
        if fastmcp:
            command = [str(_fastmcp_python()), str(FASTMCP / "serve.py"), upstream, revision]
            log = directory / f"fastmcp-{revision}.log"
            proxy, url = standing.enter_context(_printing(command, processes.SERVER_CPU, log))
            yield Target("FastMCP proxy", url, revision, proxy)


@contextmanager
def _printing(command: list[str], cpu: int, log: Path) -> Iterator[tuple[int, str]]:
    """A process pinned to `cpu`: its id, and the line that it prints when it is ready."""
    with log.open("w") as errors:
        process = subprocess.Popen(processes.pinned(cpu, command), stdout=subprocess.PIPE, stderr=errors, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline().strip()
        if not line:
            raise RuntimeError(f"{command[:2]} did not start: {log.read_text()}")
        yield process.pid, line
    finally:
        process.terminate()
        process.wait(30)


@contextmanager
def _gateway(directory: Path, upstream: str) -> Iterator[tuple[int, str]]:
    """The gateway as its users start it, with everything on, its policy workers on the load's processor."""
    config = {
        "state": {"dir": str(directory / "state")},
        # As by default where two processors may be used. Here two are, but each process is told which.
        "server": {"listen": ["unix:{state}/agent.sock"], "awake_s": AWAKE_S},
        "mcp": {"listen": ["127.0.0.1:0"]},
        "metrics": {"listen": "127.0.0.1:0"},
        "identity": {"tokens": [{"principal": "bench", "sha256": hashlib.sha256(TOKEN.encode()).hexdigest()}]},
        "providers": [{"name": "echo", "mcp": {"url": upstream}, "trust": "declared"}],
    }
    file = directory / "interlock.yaml"
    file.write_text(json.dumps(config))
    command = [*processes.gateway_command(file), "--output", "json"]
    with _printing(command, processes.SERVER_CPU, directory / "gateway.log") as (gateway, line):
        for worker in processes.children(gateway):
            processes.move(worker, processes.LOAD_CPU)
        yield gateway, f"http://{json.loads(line)['mcp'][0]}/mcp"


def _fastmcp_python() -> Path:
    """The Python of a virtual environment with what is locked, made when it is missing or the lock has changed."""
    lock, python, made_for = FASTMCP / "requirements.lock", FASTMCP_VENV / "bin" / "python", FASTMCP_VENV / "lock"
    if not made_for.exists() or made_for.read_text() != lock.read_text():
        uv = [str(Path(sys.executable).with_name("uv"))]
        subprocess.run([*uv, "venv", "-q", "--clear", "--python", sys.executable, str(FASTMCP_VENV)], check=True)
        synced = [*uv, "pip", "sync", "-q", "--require-hashes", "--python", str(python), str(lock)]
        subprocess.run(synced, check=True)
        made_for.write_text(lock.read_text())
    return python


def _locked(name: str) -> str:
    """The version that the lock has of a package."""
    lines = (FASTMCP / "requirements.lock").read_text().splitlines()
    return next(line for line in lines if line.startswith(f"{name}==")).split("==")[1].rstrip(" \\")


def _one(load: Path, directory: Path, target: Target, connections: int, seconds: float) -> Figure:
    arguments = ["mcp", "-url", target.url, "-revision", target.revision, "-token", TOKEN]
    arguments += ["-payload", str(directory / "arguments.json"), "-connections", str(connections)]
    command = processes.pinned(processes.LOAD_CPU, [str(load), *arguments, "-seconds", str(seconds)])
    before = processes.cpu_seconds(target.process_id)
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    used = processes.cpu_seconds(target.process_id) - before
    answer = base64.b64decode(found["answer"]).decode()
    if found["failed"] or ARGUMENTS["text"] not in answer:
        raise RuntimeError(f"{target.what}: {found['failed']} calls failed: {answer}")
    # The warm-up's calls cost processor time too: it lasts half a second beside `seconds`.
    cpu_us = used * seconds / (seconds + 0.5) / found["calls"] * 1e6
    measured = (found["per_second"], found["p50_ms"], found["p99_ms"], cpu_us)
    return Figure(target.what, target.revision, connections, *measured)


def _median(found: list[Figure]) -> Figure:
    middle = {name: statistics.median(getattr(figure, name) for figure in found) for name in _MEASURED}
    return Figure(found[0].what, found[0].revision, found[0].connections, **middle)


_MEASURED = ("calls_per_second", "p50_ms", "p99_ms", "cpu_us")


def _print(figures: list[Figure]) -> None:
    shown = f"\n{'':<16}{'revision':>12}{'connections':>13}{'calls/s':>10}{'of direct':>11}{'p50 ms':>9}{'added':>8}"
    print(f"{shown}{'p99 ms':>9}{'CPU us':>9}")
    direct: dict[tuple[str, int], Figure] = {}
    for one in figures:
        if one.what == "direct":
            direct[one.revision, one.connections] = one
        beside = direct[one.revision, one.connections]
        row = f"{one.what:<16}{one.revision:>12}{one.connections:>13}{one.calls_per_second:>10.0f}"
        row += f"{one.calls_per_second / beside.calls_per_second:>11.0%}{one.p50_ms:>9.2f}"
        print(f"{row}{one.p50_ms - beside.p50_ms:>8.2f}{one.p99_ms:>9.2f}{one.cpu_us:>9.0f}")


if __name__ == "__main__":
    sys.exit(main())
