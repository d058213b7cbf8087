"""What ten times the load costs (REL-8): `python benchmarks/overload.py`.

The gateway, with its policy workers, has one processor to itself; the load and the tool share the other. First it is
looked how many agents it takes to saturate it: the best goodput is the peak. 128 are among those tried, since calls
became cheaper while some wait: without, the peak would be some percent too low. Then calls come at one, two, five and
ten times that rate, whether those before were answered or not and whoever was refused. All rows call in the same 256
sessions in turn: when each agent had one of its own, 64 of them called in 64, and each call cost 2 or 3 % less than the
same in 256. In every row health is asked and checkpoints are listed twenty times a second. Last, ten times as many
agents call as saturate it: first such as wait as long as they are told when they are refused, then such as ask again at
once.

Printed are the goodput, its share of the peak and the same for a second of the gateway's processor time (what counts on
a machine that others use too), how long calls took that were answered and those that were refused, and how many the
tool executed beyond those answered: none, unless a caller gave up. Takes Go, for the load generator.
"""

import argparse
import json
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import messages
import processes
from grpc_health.v1 import health_pb2
from interlock.v1 import approval_service_pb2

HERE = Path(__file__).resolve().parent
CALL_TOOL = "/interlock.v1.GatewayService/CallTool"
HEALTH = "/grpc.health.v1.Health/Check"
APPROVALS = "/interlock.v1.ApprovalService/ListCheckpoints"
SESSIONS = 256
SATURATING = (16, 64, 128, 256)
"""How many agents, each waiting for its answer, are tried to find what the gateway can do."""
MIXES = {"reads": ("echo",), "changes": ("change",), "mixed": ("echo", "echo", "echo", "change")}
TIMES = (1.0, 2.0, 5.0, 10.0)
Row = tuple[str, tuple[str, ...]]
"""What a row is called, and what the load generator is told."""
_TEN = ("-agents", str(10 * SATURATING[1]))
AGENTS_ROWS: tuple[Row, ...] = (("10 x agents", (*_TEN, "-patient")), ("impatient", _TEN))

Beside = tuple[dict[str, Any], dict[str, Any]]
"""What became of questions about health, and of listings of checkpoints."""


@dataclass(frozen=True)
class Scene:
    """A gateway under load: where it is, and what is sent to it."""

    load: Path
    directory: Path
    payloads: str
    connections: int
    gateway: int

    def offering(self, *more: str) -> "subprocess.Popen[str]":
        """Calls, begun."""
        return self._offer(f"unix:{self.directory}/state/agent.sock", CALL_TOOL, self.payloads, self.connections, *more)

    def asking_health(self, seconds: float) -> "subprocess.Popen[str]":
        """Questions about health, begun."""
        agents = f"unix:{self.directory}/state/agent.sock"
        return self._offer(agents, HEALTH, str(self.directory / "health"), 1, *_at(20, seconds))

    def asking_approvers(self, seconds: float) -> "subprocess.Popen[str]":
        """Listings of what waits for people, begun."""
        operators = f"unix:{self.directory}/state/operator.sock"
        return self._offer(operators, APPROVALS, str(self.directory / "checkpoints"), 1, *_at(20, seconds))

    def used_s(self) -> float:
        """Processor time that the gateway and its workers have used."""
        return sum(map(processes.cpu_seconds, (self.gateway, *processes.children(self.gateway))))

    def _offer(self, target: str, method: str, payloads: str, connections: int, *more: str) -> "subprocess.Popen[str]":
        command = [str(self.load), "offer", "-target", target, "-method", method, "-payloads", payloads]
        command += ["-connections", str(connections), *more]
        return subprocess.Popen(processes.pinned(processes.LOAD_CPU, command), stdout=subprocess.PIPE, text=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0, help="for each row; REL-8 says 60")
    parser.add_argument("--calls", choices=sorted(MIXES), default="mixed", help="which calls are made")
    parser.add_argument("--times", type=float, nargs="*", default=TIMES, help="how much more than the peak is offered")
    parser.add_argument("--rates-only", action="store_true", help="leave out the agents that wait for their answers")
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--bytes", type=int, default=1000, help="the size of each input")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="il-overload-", dir="/tmp") as name:
        directory = Path(name)
        load = directory / "load"
        subprocess.run(["go", "build", "-o", str(load), "."], cwd=HERE / "load", check=True)
        with serving(load, directory) as (provider, gateway):
            payloads = [
                str(messages.through_gateway(directory, tool, asked.bytes, f"s{session}"))
                for session in range(SESSIONS)
                for tool in MIXES[asked.calls]
            ]
            scene = Scene(load, directory, ",".join(payloads), asked.connections, gateway)
            rows = [] if asked.rates_only else AGENTS_ROWS
            answered = _rows(scene, asked.seconds, asked.times, rows)
        print(f"executed without an answer: {int(provider.stdout.read()) - answered}")


def _rows(scene: Scene, seconds: float, times: tuple[float, ...], of_agents: Sequence[Row]) -> int:
    """Print each; how many calls were answered in all."""
    most = scene.connections
    answered = most
    warm = finished(scene.offering("-agents", str(SATURATING[0]), "-seconds", "2"))
    peak = 0.0, 0.0
    for agents in SATURATING:
        one, used_s, asked = _measured(scene, min(seconds, 10.0), "-agents", str(agents))
        answered += one["ok"] + most
        if one["ok_per_second"] > peak[0]:
            peak, found, used, beside = (one["ok_per_second"], one["ok"] / used_s), one, used_s, asked
    answered += warm["ok"]
    print(
        f"{'':<16}{'offered/s':>10}{'goodput':>9}{'of peak':>9}{'per cpu':>9}{'least':>7}{'ok p50 ms':>11}{'p99':>7}",
        end="",
    )
    print(f"{'refused':>9}{'p50':>7}{'p99':>7}{'max':>7}{'health p99':>12}{'approvals':>11}  others")
    _print("peak", found, peak, used, beside)
    rows: list[Row] = [(f"{factor:g} times", ("-rate", str(peak[0] * factor))) for factor in times]
    for name, more in (*rows, *of_agents):
        found, used, beside = _measured(scene, seconds, *more)
        answered += found["ok"] + most
        _print(name, found, peak, used, beside)
    return answered


def _measured(scene: Scene, seconds: float, *more: str) -> tuple[dict[str, Any], float, Beside]:
    """What became of calls, what processor time that took, and what became of those who asked beside them."""
    health, approvers = scene.asking_health(seconds), scene.asking_approvers(seconds)
    before = scene.used_s()
    found = finished(scene.offering(*more, "-seconds", str(seconds)))
    return found, scene.used_s() - before, (finished(health), finished(approvers))


def _print(name: str, found: dict[str, Any], peak: tuple[float, float], used_s: float, beside: Beside) -> None:
    goodput, ok, refused = found["ok_per_second"], found["ok_ms"], found["refused_ms"]
    shown = f"{name:<16}{found['offered'] / found['seconds']:>10.0f}{goodput:>9.0f}{goodput / peak[0]:>9.0%}"
    shown += f"{found['ok'] / used_s / peak[1]:>9.0%}{min(found['ok_by_second'][1:], default=0):>7}"
    shown += f"{ok['p50']:>11.1f}{ok['p99']:>7.0f}"
    shown += f"{found['refused']:>9}{refused['p50']:>7.1f}{refused['p99']:>7.0f}{refused['max']:>7.0f}"
    for probe, width in zip(beside, (12, 11), strict=True):
        shown += f"{probe['ok_ms']['p99']:>{width}.1f}" if probe else " " * width
        shown += "!" if probe and (probe["refused"] or probe["others"]) else ""
    odd = dict(found["others"])
    odd |= {kind: found[kind] for kind in ("unsent", "refused_without_retry_info") if found[kind]}
    print(f"{shown}  {odd or ''}", flush=True)


def _at(rate: float, seconds: float) -> tuple[str, ...]:
    return "-rate", str(rate), "-seconds", str(seconds)


def finished(process: "subprocess.Popen[str]") -> dict[str, Any]:
    """What the load generator reports once it ends."""
    said, _ = process.communicate()
    found: dict[str, Any] = json.loads(said)
    return found


@contextmanager
def serving(load: Path, directory: Path) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    """A gateway before a tool; given are the tool's process and the gateway's id."""
    messages.write_provider(directory)
    (directory / "health").write_bytes(health_pb2.HealthCheckRequest().SerializeToString())
    (directory / "checkpoints").write_bytes(approval_service_pb2.ListCheckpointsRequest().SerializeToString())
    config = directory / "interlock.yaml"
    settings = {
        "state": {"dir": str(directory / "state")},
        "server": {"listen": ["unix:{state}/agent.sock"]},
        "metrics": {"listen": ""},
        "providers": [{"name": "echo", "address": f"unix:{directory}/tool.sock"}],
    }
    config.write_text(json.dumps(settings))
    tool = [str(load), "provider", "-listen", f"{directory}/tool.sock"]
    tool += ["-describe", f"{directory}/describe", "-execute", f"{directory}/execute"]
    serve = processes.shared_fairly(processes.gateway_command(config))
    with processes.started(tool, processes.LOAD_CPU, "ready", directory / "tool.log") as provider:
        with processes.started(serve, processes.SERVER_CPU, "is ready", directory / "gateway.log") as gateway:
            processes.put_first([gateway.pid, *processes.children(gateway.pid)])
            yield provider, gateway.pid
        provider.terminate()


if __name__ == "__main__":
    main()
