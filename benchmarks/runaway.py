"""What a runaway policy costs others (REL-7): `python benchmarks/runaway.py`.

A gateway decides a hundred plain calls a second. Then, beside them and from another process, calls about which a rule
would take 10^8 steps, and calls with 4 MiB of input, one after the other. Printed are how long those took to be denied,
and what the others and the gateway's health took with and without them. All is one run: trust the ratios.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import processes
from grpc_health.v1 import health_pb2, health_pb2_grpc
from interlock import Gateway
from interlock.provider import Tool, ToolServer, tool
from interlock_gateway.isolation.priority import give_way

A_SECOND = 100
RULE = """package interlock.custom

# METADATA
# title: A runaway
# description: Takes 10^8 steps when it is told to.
findings contains {
	"verdict": "deny",
	"code": "never",
	"message": "never",
	"rule": "custom/runaway",
} if {
	input.call.input.text == "run away"
	some first in numbers.range(1, 10000)
	some second in numbers.range(1, 10000)
	first * second < 0
}

# METADATA
# title: Too large
# description: Looks at all of a large input.
findings contains {
	"verdict": "deny",
	"code": "too_large",
	"message": "too large",
	"rule": "custom/runaway",
} if {
	count(split(input.call.input.text, " ")) > 100
}
"""
OFFENCES = {"10^8 steps": "run away", "4 MiB of input": "word " * 838_000}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=8.0, help="for each half")
    parser.add_argument("--at-once", type=int, default=1, help="how many runaways there are at any time")
    parser.add_argument("--offend", choices=sorted(OFFENCES), help=argparse.SUPPRESS)
    parser.add_argument("--at", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.offend:
        asyncio.run(_offend(asked.at, asked.offend, asked.seconds))
        return
    with tempfile.TemporaryDirectory(prefix="il-runaway-", dir="/tmp") as directory:
        asyncio.run(_measure(Path(directory), asked.seconds, asked.at_once))


async def _measure(directory: Path, seconds: float, at_once: int) -> None:
    async with (
        _served(directory) as gateway,
        grpc.aio.insecure_channel(f"unix:{directory}/state/agent.sock") as channel,
    ):
        health = health_pb2_grpc.HealthStub(channel)
        session = gateway.session("others")

        async def plain() -> None:
            result = await session.call("echo", {"text": "hello"})
            assert result.completed, result.for_model

        async def alive() -> None:
            answer = await health.Check(health_pb2.HealthCheckRequest())
            assert answer.status == health_pb2.HealthCheckResponse.SERVING

        await _timed(plain, 1.0)
        print(
            f"{'beside':<18}{'calls':>7}{'p50 ms':>9}{'p99 ms':>9}{'health p99':>12}{'offences':>10}{'longest ms':>12}"
        )
        for name in ("nothing", *OFFENCES):
            offenders = [await _offender(directory, name, seconds) for _ in range(at_once if name in OFFENCES else 0)]
            calls, checks = await asyncio.gather(_timed(plain, seconds), _timed(alive, seconds, a_second=10))
            offences = [one for offender in offenders for one in json.loads((await offender.communicate())[0])]
            longest = f"{max(offences) * 1e3:.0f}" if offences else ""
            print(
                f"{name:<18}{len(calls):>7}{statistics.median(calls) * 1e3:>9.2f}{_p99(calls):>9.2f}"
                f"{_p99(checks):>12.2f}{len(offences):>10}{longest:>12}"
            )


async def _offender(directory: Path, name: str, seconds: float) -> asyncio.subprocess.Process:
    command = [sys.executable, __file__, "--offend", name, "--seconds", str(seconds), "--at", str(directory)]
    return await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)


async def _offend(directory: Path, name: str, seconds: float) -> None:
    """Offend over and over; print as JSON how long each took to be denied.

    At the lowest priority: what it costs to make and send megabytes is the offender's, and here it has the gateway's
    and the others' processors. What it costs the gateway is what is asked.
    """
    give_way(os.getpid())
    taken: list[float] = []
    until = time.perf_counter() + seconds
    async with Gateway(f"unix:{directory}/state/agent.sock", timeout=10.0) as gateway:
        session = gateway.session(f"offending-{os.getpid()}")
        while (began := time.perf_counter()) < until:
            result = await session.call("echo", {"text": OFFENCES[name]})
            assert not result.completed
            taken.append(time.perf_counter() - began)
    print(json.dumps(taken))


async def _timed(call: Callable[[], Awaitable[None]], seconds: float, a_second: int = A_SECOND) -> list[float]:
    """How long each call took, begun at even times whatever became of those before."""
    taken: list[float] = []

    async def one(due: float) -> None:
        await call()
        taken.append(time.perf_counter() - due)

    began, running = time.perf_counter(), []
    for number in range(int(seconds * a_second)):
        due = began + number / a_second
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        running.append(asyncio.create_task(one(time.perf_counter())))
    await asyncio.gather(*running)
    return taken


def _p99(taken: list[float]) -> float:
    return sorted(taken)[int(len(taken) * 0.99)] * 1e3


@asynccontextmanager
async def _served(directory: Path) -> AsyncIterator[Gateway]:
    custom = directory / "overlay" / "custom"
    custom.mkdir(parents=True)
    (custom / "runaway.rego").write_text(RULE)
    config = directory / "interlock.yaml"
    settings = {
        "state": {"dir": str(directory / "state")},
        "server": {"listen": ["unix:{state}/agent.sock"]},
        "metrics": {"listen": ""},
        "policy": {"overlays": [str(directory / "overlay")]},
        "limits": {"max_input_bytes": 8 * 1024 * 1024},
        "providers": [{"name": "echo", "address": f"unix:{directory}/tool.sock"}],
    }
    config.write_text(json.dumps(settings))
    async with ToolServer(_tools(), f"unix:{directory}/tool.sock", name="echo", version="1"):
        command = processes.gateway_command(config)
        with (directory / "serve.log").open("w") as log:
            serving = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, stderr=log)
        assert serving.stdout is not None
        await serving.stdout.readline()
        try:
            async with Gateway(f"unix:{directory}/state/agent.sock", timeout=10.0) as gateway:
                yield gateway
        finally:
            serving.terminate()
            await serving.wait()


def _tools() -> list[Tool[..., Any]]:
    @tool(read_only=True, concurrency_safe=True, blocking=False)
    def echo(text: str) -> str:
        """Say it again."""
        return text[:100]

    return [echo]


if __name__ == "__main__":
    main()
