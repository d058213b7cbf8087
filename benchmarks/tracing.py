"""What tracing costs (OBS-2): `python benchmarks/tracing.py`.

Two gateways stand side by side, one that traces and one that does not, in front of the same tool. Blocks of calls take
turns: without a trace, with one that is passed on, with one that is not recorded, with one that is. Printed is the
processor time of the gateway's process for a call, all its threads together, and the median of its ratios to the block
without a trace of the same turn: what else runs on the machine weighs on all four alike.
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from interlock import Gateway
from interlock.provider import ToolServer, tool
from interlock.tracing import trace_context

SESSIONS = 16
SENDING_S = 1.2
"""How long the spans of a block may take to leave, which is waited for before its time is taken."""
RECORDED = f"00-{'1' * 32}-{'2' * 16}-01"
NOT_RECORDED = f"00-{'1' * 32}-{'2' * 16}-00"


@dataclass(frozen=True)
class Kind:
    """One kind of block: at which gateway, and in which trace."""

    name: str
    traces: bool
    trace: str = ""


KINDS = (
    Kind("off", traces=False),
    Kind("off, passed on", traces=False, trace=RECORDED),
    Kind("on, not recorded", traces=True, trace=NOT_RECORDED),
    Kind("on, recorded", traces=True, trace=RECORDED),
)


@dataclass(frozen=True)
class Measured:
    """A gateway that is measured: its process, and an agent at it."""

    process: int
    agent: Gateway

    def processor_s(self) -> float:
        """What its threads have taken so far."""
        tasks = Path(f"/proc/{self.process}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9

    async def block(self, kind: Kind, calls: int) -> float:
        """The processor time of a call in a block, in microseconds."""
        sessions = [self.agent.session(f"s-{number}") for number in range(SESSIONS)]
        before = self.processor_s()
        with trace_context(kind.trace) if kind.trace else nullcontext():
            async with asyncio.TaskGroup() as agents:
                for session in sessions:
                    agents.create_task(_called(session, calls // SESSIONS))
        if kind.traces:
            await asyncio.sleep(SENDING_S)
        return (self.processor_s() - before) / (calls // SESSIONS * SESSIONS) * 1e6


async def _called(session: object, times: int) -> None:
    for _ in range(times):
        await session.call("echo", {"text": "hello"})  # type: ignore[attr-defined]  # a session's methods are made


@tool(read_only=True, concurrency_safe=True)
async def echo(text: str) -> str:
    """Say it again."""
    return text


class _Collector(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Take everything."""
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the name it overrides
        """Say nothing."""


@contextmanager
def collecting() -> Iterator[str]:
    """Where a collector listens."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Collector)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@asynccontextmanager
async def measured(directory: Path, tools: str, endpoint: str) -> AsyncIterator[Measured]:
    """A gateway in a process of its own, which traces if there is an endpoint."""
    config = directory / "interlock.yaml"
    settings = {
        "state": {"dir": str(directory / "state")},
        "server": {"listen": ["unix:{state}/agent.sock"]},
        "metrics": {"listen": ""},
        "policy": {"workers": 1, "timeout_s": 5},
        "providers": [{"name": "tools", "address": tools}],
        "tracing": {"endpoint": endpoint},
    }
    config.write_text(json.dumps(settings))
    command = (sys.executable, "-m", "interlock_gateway.cli.main", "serve", "--config", str(config), "-o", "json")
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        assert process.stdout is not None
        said = json.loads(await process.stdout.readline())
        async with Gateway(said["agents"][0]) as agent:
            yield Measured(process.pid, agent)
    finally:
        process.terminate()
        await process.wait()


async def main(turns: int, calls: int) -> None:
    """Measure, and print a table."""
    taken: dict[str, list[float]] = {kind.name: [] for kind in KINDS}
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="il-") as made, collecting() as endpoint:
        directory = Path(made)
        for name in ("off", "on"):
            (directory / name).mkdir()
        async with (
            ToolServer([echo], f"unix:{directory}/tools.sock") as tools,
            measured(directory / "off", tools.address, "") as off,
            measured(directory / "on", tools.address, endpoint) as on,
        ):
            for turn in range(turns + 1):
                for kind in KINDS:
                    cost = await (on if kind.traces else off).block(kind, calls)
                    if turn:  # the first warms up
                        taken[kind.name].append(cost)
    plain = taken[KINDS[0].name]
    for name, costs in taken.items():
        ratio = statistics.median(cost / base for cost, base in zip(costs, plain, strict=True))
        print(f"{name:18} {statistics.median(costs):7.0f} us a call   {ratio:5.2f} of off")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=12)
    parser.add_argument("--calls", type=int, default=480, help="calls of a block")
    given = parser.parse_args()
    asyncio.run(main(given.turns, given.calls))
