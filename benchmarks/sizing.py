"""What one gateway needs of memory and processors, for docs/kubernetes.md: `python benchmarks/sizing.py`.

The gateway is that of overload.py, on SQLite, with its policy workers, on one processor; inputs have 1 KB. Idle, at 500
and 1,000 reads a second, and with as many changing calls as 64 agents can make, printed are: calls answered a second,
processors in use, milliseconds of processor time a call, and the memory of all its processes after each row, as a
container counts it (pages that several share once). A machine that others use too gives fewer answers and other
processor time; memory it disturbs little. Takes Go, for the load generator.
"""

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import messages
import overload
import processes

ROWS = (
    ("500 reads a second", "echo", ("-rate", "500")),
    ("1,000 reads a second", "echo", ("-rate", "1000")),
    ("changes, 64 agents", "change", ("-agents", "64")),
)
SESSIONS, CONNECTIONS, INPUT_BYTES = 64, 8, 1000


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0, help="for each row")
    parser.add_argument("--json", type=Path, help="where to write the figures, too")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="il-sizing-", dir="/tmp") as name:
        directory = Path(name)
        load = directory / "load"
        subprocess.run(["go", "build", "-o", str(load), "."], cwd=overload.HERE / "load", check=True)
        rows = list(_rows(load, directory, asked.seconds))
    if asked.json:
        asked.json.write_text(json.dumps(rows))


def _rows(load: Path, directory: Path, seconds: float) -> Iterator[dict[str, object]]:
    with overload.serving(load, directory) as (_, gateway):
        before = _used_s(gateway)
        time.sleep(seconds)
        yield _row("idle", gateway, 0, _used_s(gateway) - before, seconds)
        for what, tool, more in ROWS:
            payloads = [str(messages.through_gateway(directory, tool, INPUT_BYTES, f"s{n}")) for n in range(SESSIONS)]
            scene = overload.Scene(load, directory, ",".join(payloads), CONNECTIONS, gateway)
            before = _used_s(gateway)
            found = overload.finished(scene.offering(*more, "-seconds", str(seconds)))
            yield _row(what, gateway, found["ok"], _used_s(gateway) - before, found["seconds"])


def _row(what: str, gateway: int, answered: int, used_s: float, seconds: float) -> dict[str, object]:
    memory = sum(map(_memory_mib, _all_of(gateway)))
    a_call = used_s / answered * 1000 if answered else 0.0
    processors = used_s / seconds
    print(f"{what:<22}{answered / seconds:>8.0f}/s{processors:>8.2f} processors", end="")
    print(f"{a_call:>8.2f} ms a call{memory:>8.0f} MiB", flush=True)
    figures = {"answered_per_second": answered / seconds, "processors": processors, "processor_ms_per_call": a_call}
    return {"what": what, "processes": len(_all_of(gateway)), "memory_mib": memory, **figures}


def _all_of(gateway: int) -> list[int]:
    """The gateway's process and all below it."""
    return [gateway, *(each for child in processes.children(gateway) for each in _all_of(child))]


def _used_s(gateway: int) -> float:
    return sum(map(processes.cpu_seconds, _all_of(gateway)))


def _memory_mib(process_id: int) -> float:
    lines = Path(f"/proc/{process_id}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


if __name__ == "__main__":
    main()
