"""`make bench`: a direct call, a bare proxy and the gateway with everything on, in one run (PERF-1, 2, 4, 6, 7).

The serving process has one processor to itself; the load, the tool and the policy workers share the other. Runs are
interleaved, because the machine's speed drifts: trust the ratios. Takes about two minutes, and Go for the load
generator.
"""

import argparse
import base64
import json
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

import messages
import processes
import uvloop
from bounds import bounds_of, shown
from decisions import decision_figures
from interlock_gateway.sessions.awake import AWAKE_S
from replay import replay_figures

HERE = Path(__file__).resolve().parent
EXECUTE = "/interlock.v1.ToolProviderService/Execute"
CALL_TOOL = "/interlock.v1.GatewayService/CallTool"
SIZES = (1_000, 32_000)
CONCURRENCY = (1, 16)


@dataclass(frozen=True)
class Figure:
    """One thing measured: the median over the rounds."""

    what: str
    input_bytes: int
    concurrency: int
    calls_per_second: float
    p50_ms: float
    p99_ms: float
    server_cpu_us: float


@dataclass(frozen=True)
class Target:
    """Something that calls are sent to."""

    what: str
    address: str
    method: str
    payload: Path
    process_id: int | None


def main() -> int:
    """Measure, print the table, write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--json", type=Path, default=HERE / "results" / "last.json")
    parser.add_argument("--calls-only", action="store_true", help="leave out decisions and replay")
    parser.add_argument("--hold", action="store_true", help="end with 1 when something wanted was missed")
    asked = parser.parse_args()
    if shutil.which("go") is None or shutil.which("taskset") is None:
        print("the benchmark needs Go (for a load generator that costs little) and taskset; nothing was measured")
        return 1
    with tempfile.TemporaryDirectory(prefix="il-bench-", dir="/tmp") as directory:
        report = _measure(Path(directory), asked.rounds, asked.seconds)
    if not asked.calls_only:
        report |= {"decisions": uvloop.run(decision_figures()), "replay": replay_figures()}
    _print(report)
    asked.json.parent.mkdir(parents=True, exist_ok=True)
    asked.json.write_text(json.dumps(report, indent=2) + "\n")
    bounds = list(bounds_of(report))
    print(f"\nwanted:\n{shown(bounds)}")
    return 0 if all(one.holds for one in bounds) or not asked.hold else 1


def _measure(directory: Path, rounds: int, seconds: float) -> dict[str, object]:
    load = directory / "load"
    subprocess.run(["go", "build", "-o", str(load), "."], cwd=HERE / "load", check=True)
    messages.write_provider(directory)
    config = directory / "interlock.yaml"
    config.write_text(json.dumps(_config(directory)))
    provider = [str(load), "provider", "-listen", f"{directory}/tool.sock"]
    provider += ["-describe", f"{directory}/describe", "-execute", f"{directory}/execute"]
    serve = processes.gateway_command(config)
    with processes.started(provider, processes.LOAD_CPU, "ready", directory / "tool.log"):
        first = processes.ready_seconds(serve, "is ready", directory / "first.log")
        again = [processes.ready_seconds(serve, "is ready", directory / f"again{n}.log") for n in range(3)]
        hop = processes.proxy_command(f"unix:{directory}/proxy.sock", f"unix:{directory}/tool.sock")
        with (
            processes.started(hop, processes.SERVER_CPU, "ready", directory / "proxy.log") as proxy,
            processes.started(serve, processes.SERVER_CPU, "is ready", directory / "gateway.log") as gateway,
        ):
            workers = processes.children(gateway.pid)
            for worker in workers:
                processes.move(worker, processes.LOAD_CPU)
            idle = processes.resident_mib([gateway.pid, *workers])
            figures = _rounds(load, directory, proxy=proxy.pid, gateway=gateway.pid, rounds=rounds, seconds=seconds)
    return {
        "machine": {"processor": _processor(), "python": platform.python_version(), "grpcio": version("grpcio")},
        "rounds": rounds,
        "seconds": seconds,
        "first_start_s": first,
        "start_s": statistics.median(again),
        "idle_resident_mib": idle,
        "processes": 1 + len(workers),
        "figures": [asdict(figure) for figure in figures],
    }


def _config(directory: Path) -> dict[str, object]:
    return {
        "state": {"dir": str(directory / "state")},
        # As by default where two processors may be used. Here two are, but each process is told which.
        "server": {"listen": ["unix:{state}/agent.sock"], "awake_s": AWAKE_S},
        "metrics": {"listen": "127.0.0.1:0"},
        "providers": [{"name": "echo", "address": f"unix:{directory}/tool.sock"}],
    }


def _rounds(load: Path, directory: Path, *, proxy: int, gateway: int, rounds: int, seconds: float) -> list[Figure]:
    figures = []
    for size in SIZES:
        for concurrency in CONCURRENCY:
            targets = _targets(directory, size, proxy, gateway)
            taken: dict[str, list[Figure]] = {target.what: [] for target in targets}
            for number in range(rounds):
                # Every other round goes the other way, so that drift hits all alike.
                for target in targets if number % 2 == 0 else reversed(targets):
                    taken[target.what].append(_one(load, target, size, concurrency, seconds))
            figures.extend(_median(found) for found in taken.values())
    return figures


def _targets(directory: Path, size: int, proxy: int, gateway: int) -> list[Target]:
    tool, hop, agent = (f"unix:{directory}/{name}" for name in ("tool.sock", "proxy.sock", "state/agent.sock"))
    plain = messages.direct(directory, size)
    reading = messages.through_gateway(directory, "echo", size)
    changing = messages.through_gateway(directory, "change", size)
    return [
        Target("direct", tool, EXECUTE, plain, process_id=None),
        Target("bare proxy", hop, EXECUTE, plain, process_id=proxy),
        Target("gateway, read-only", agent, CALL_TOOL, reading, process_id=gateway),
        Target("gateway, journaled", agent, CALL_TOOL, changing, process_id=gateway),
    ]


def _one(load: Path, target: Target, size: int, concurrency: int, seconds: float) -> Figure:
    arguments = ["-target", target.address, "-method", target.method, "-payload", str(target.payload)]
    arguments += ["-connections", str(min(4, concurrency)), "-concurrency", str(concurrency), "-seconds", str(seconds)]
    before = processes.cpu_seconds(target.process_id) if target.process_id else 0.0
    found = json.loads(processes.measured(load, arguments))
    used = processes.cpu_seconds(target.process_id) - before if target.process_id else 0.0
    if found["failed"]:
        raise RuntimeError(f"{target.what}: {found['failed']} calls failed")
    if target.method == CALL_TOOL:
        messages.check_answer(base64.b64decode(found["answer"]))
    # The warm-up's calls cost processor time too: it lasts half a second beside `seconds`.
    share = seconds / (seconds + 0.5)
    return Figure(
        what=target.what,
        input_bytes=size,
        concurrency=concurrency,
        calls_per_second=found["per_second"],
        p50_ms=found["p50_ms"],
        p99_ms=found["p99_ms"],
        server_cpu_us=used * share / found["calls"] * 1e6,
    )


def _median(found: list[Figure]) -> Figure:
    middle = {name: statistics.median(getattr(figure, name) for figure in found) for name in _MEASURED}
    return Figure(found[0].what, found[0].input_bytes, found[0].concurrency, **middle)


_MEASURED = ("calls_per_second", "p50_ms", "p99_ms", "server_cpu_us")


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _print(report: dict[str, object]) -> None:
    print(f"\n{report['machine']}, {report['rounds']} rounds of {report['seconds']} s, medians\n")
    header = f"{'':<20}{'input':>8}{'at once':>9}{'calls/s':>10}{'of proxy':>10}{'p50 ms':>9}{'added':>8}{'p99 ms':>9}"
    print(f"{header}{'added':>8}{'to direct':>11}{'CPU us':>9}")
    proxy: dict[str, float] = {}
    direct: dict[str, float] = {}
    for row in report["figures"]:  # type: ignore[attr-defined]  # a list of dictionaries, made above
        if row["what"] == "bare proxy":
            proxy = row
        elif row["what"] == "direct":
            direct = row
        line = f"{row['what']:<20}{row['input_bytes']:>8}{row['concurrency']:>9}{row['calls_per_second']:>10.0f}"
        if row["what"].startswith("gateway"):
            line += f"{row['calls_per_second'] / proxy['calls_per_second']:>10.0%}{row['p50_ms']:>9.2f}"
            line += (
                f"{row['p50_ms'] - proxy['p50_ms']:>8.2f}{row['p99_ms']:>9.2f}{row['p99_ms'] - proxy['p99_ms']:>8.2f}"
                f"{row['p50_ms'] - direct['p50_ms']:>11.2f}"
            )
        else:
            line += f"{'':>10}{row['p50_ms']:>9.2f}{'':>8}{row['p99_ms']:>9.2f}{'':>8}{'':>11}"
        print(f"{line}{row['server_cpu_us']:>9.0f}")
    print(f"\nready after {report['start_s']:.2f} s (the first time {report['first_start_s']:.2f} s)")
    print(f"resident memory, idle, {report['processes']} processes: {report['idle_resident_mib']:.0f} MiB")
    if "decisions" in report:
        _print_policy(report)


def _print_policy(report: dict[str, object]) -> None:
    print("\none decision with the shipped policies, in the embedded engine:")
    for row in report["decisions"]:  # type: ignore[attr-defined]  # a list of dictionaries
        print(f"  {row['what']:<48}{row['p50_us']:>8.0f} us p50{row['p99_us']:>8.0f} us p99")
    print("\nrecorded decisions replayed under the shipped policies:")
    for row in report["replay"]:  # type: ignore[attr-defined]  # as above
        said = f"{row['what']}, {row['processes']} process{'es' if row['processes'] > 1 else ''}"
        print(f"  {said:<48}{row['per_second']:>8.0f} a second,{row['per_processor_second']:>8.0f} of processor time")


if __name__ == "__main__":
    sys.exit(main())
