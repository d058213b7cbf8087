"""Recorded decisions evaluated again per second (PERF-7): a plain call, and the calls of a working day.

The receipts are written, signed and read as the gateway's are. Reading them, handing them over and adding up what came
of it are part of the time; starting processes is not.
"""

import argparse
import json
import os
import resource
import tempfile
import time
from pathlib import Path

from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.embedded.prepared import prepared
from interlock_gateway.policy.loader import load_bundle
from interlock_gateway.policy.replay.running import Plan, replay
from recorded_calls import DAY, PLAIN, Calls, write_receipts

DECISIONS = 5_000


def replay_figures(decisions: int = DECISIONS) -> list[dict[str, object]]:
    """For each kind of calls, decisions per second with one process, and per second of processor time.

    Of the day's calls also with a process on each core.
    """
    bundle = load_bundle()
    # Done once for all of them.
    prepared(bundle.modules, bundle.data_json)
    cores = os.cpu_count() or 1
    figures: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory(prefix="il-replay-") as directory:
        for what, calls, processes in (
            ("a plain call of 1 KB", PLAIN, 1),
            ("the calls of a day", DAY, 1),
            ("the calls of a day", DAY, cores),
        ):
            place = Path(directory) / f"{what}-{processes}"
            figures.append(_figure(place, bundle, calls, decisions, processes) | {"what": what})
    return figures


def _figure(place: Path, bundle: PolicyBundle, calls: Calls, decisions: int, processes: int) -> dict[str, object]:
    few = max(decisions // 10, 1)
    for name, count in (("few", few), ("all", decisions)):
        (place / name).mkdir(parents=True)
        write_receipts(place / name, bundle, calls, count)
    # Starting processes and loading policies costs the same for few receipts and for many.
    wall_before, used_before = _replayed(place / "few" / "audit", bundle, few, processes)
    wall, used = _replayed(place / "all" / "audit", bundle, decisions, processes)
    more = decisions - few
    return {
        "processes": processes,
        "decisions": decisions,
        "per_second": more / (wall - wall_before),
        "per_processor_second": more / (used - used_before),
    }


def _replayed(directory: Path, bundle: PolicyBundle, decisions: int, processes: int) -> tuple[float, float]:
    """How long a replay took, and the processor time that all its processes used."""
    began, used = time.perf_counter(), _processor_seconds()
    tally = replay(Plan(directory, bundle, processes=processes))
    if tally.decisions != decisions or tally.changes or tally.failed:
        raise RuntimeError(f"what was recorded is not what was decided again: {tally}")
    return time.perf_counter() - began, _processor_seconds() - used


def _processor_seconds() -> float:
    return sum(
        found.ru_utime + found.ru_stime
        for found in (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--decisions", type=int, default=DECISIONS)
    for figure in replay_figures(parser.parse_args().decisions):
        print(json.dumps(figure))
