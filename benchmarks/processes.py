"""The processes that are measured, each on the processor it is given, and what the system says they cost."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
SERVER_CPU, LOAD_CPU = 0, 1
START_S = 30.0


@contextmanager
def started(command: list[str], cpu: int, ready: str, log: Path) -> Iterator["subprocess.Popen[str]"]:
    """A process pinned to `cpu`, once it has printed a line with `ready`."""
    with log.open("w") as errors:
        process = subprocess.Popen(pinned(cpu, command), stdout=subprocess.PIPE, stderr=errors, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if ready not in line:
            raise RuntimeError(f"{command[0]} did not start: {line}{log.read_text()}")
        yield process
    finally:
        process.terminate()
        process.wait(30)


def measured(load: Path, arguments: list[str]) -> str:
    """What the load generator prints, run on the load's processor."""
    done = subprocess.run(pinned(LOAD_CPU, [str(load), "run", *arguments]), capture_output=True, text=True, check=True)
    return done.stdout


def gateway_command(config: Path) -> list[str]:
    """The gateway as its users start it."""
    return [sys.executable, "-m", "interlock_gateway.cli.main", "serve", "--config", str(config)]


def proxy_command(listen: str, upstream: str) -> list[str]:
    """The bare hop."""
    return [sys.executable, str(HERE / "proxy.py"), listen, upstream]


def children(process_id: int) -> list[int]:
    """The processes that a process has started."""
    text = Path(f"/proc/{process_id}/task/{process_id}/children").read_text()
    return [int(word) for word in text.split()]


def move(process_id: int, cpu: int) -> None:
    """Put a running process, with all its threads, on `cpu`."""
    for task in Path(f"/proc/{process_id}/task").iterdir():
        os.sched_setaffinity(int(task.name), {cpu})


def cpu_seconds(process_id: int) -> float:
    """Processor time that a process has used, in seconds."""
    fields = Path(f"/proc/{process_id}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mib(process_ids: list[int]) -> float:
    """Resident memory of some processes together, in MiB; shared pages count once for each."""
    total = 0
    for process_id in process_ids:
        for line in Path(f"/proc/{process_id}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                total += int(line.split()[1])
    return total / 1024


def ready_seconds(command: list[str], ready: str, log: Path) -> float:
    """How long a process takes from its start to its first line with `ready`."""
    began = time.perf_counter()
    with started(command, SERVER_CPU, ready, log):
        return time.perf_counter() - began


def shared_fairly(command: list[str]) -> list[str]:
    """The command that runs `command` before all others, though not with the real-time priority of who measures.

    With that, whatever runs keeps its processor until it waits: a gateway that never waits would never leave it to its
    own policy workers.
    """
    if os.sched_getscheduler(0) == os.SCHED_OTHER:
        return command
    return ["chrt", "--other", "0", "nice", "-n", "-20", *command]


def put_first(process_ids: list[int]) -> None:
    """Have processes run before others when who measures does; each may be in a session of its own."""
    if os.sched_getscheduler(0) != os.SCHED_OTHER:
        for process_id in process_ids:
            Path(f"/proc/{process_id}/autogroup").write_text("-20")


def pinned(cpu: int, command: list[str]) -> list[str]:
    """The command that runs `command` on `cpu`."""
    return ["taskset", "-c", str(cpu), *command]
