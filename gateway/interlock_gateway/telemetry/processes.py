"""What the gateway's processes use, as the kernel tells it (OBS-1). Nothing is shown where there is no `/proc`."""

import os
import resource
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from interlock_gateway.telemetry.watched import Family

_PROC = Path("/proc")
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
# Behind the name in /proc/PID/stat, which may hold anything: user and system time.
_TIMES = slice(11, 13)


class Processes(Collector):
    """Processor time, memory and descriptors by role. `workers` gives the ids of the processes beside the gateway's.

    Processor time of processes that have ended stays in the sum, up to the last scrape that saw them.
    """

    def __init__(self, workers: Callable[[], Mapping[str, tuple[int, ...]]], proc: Path = _PROC) -> None:
        self._workers = workers
        self._proc = proc
        self._seen: dict[int, float] = {}
        self._spent: defaultdict[str, float] = defaultdict(float)
        self._lock = threading.Lock()

    def describe(self) -> list[Family]:
        """The names, without asking for values."""
        return list(self._families())

    def collect(self) -> list[Family]:
        """The processes as they are."""
        processor, memory, descriptors, limit, count = families = self._families()
        with self._lock:
            everyone = {"gateway": (os.getpid(),), **self._workers()}
            for role, ids in everyone.items():
                alive = [one for one in ids if (self._proc / str(one)).is_dir()]
                self._account(role, alive)
                processor.add_metric([role], self._spent[role])
                memory.add_metric([role], float(sum(map(self._memory, alive))))
                count.add_metric([role], float(len(alive)))
            self._forget({one for ids in everyone.values() for one in ids})
        if (open_now := self._descriptors()) is not None:
            descriptors.add_metric([], open_now)
            limit.add_metric([], float(resource.getrlimit(resource.RLIMIT_NOFILE)[0]))
        return list(families)

    def _families(self) -> tuple[Family, Family, Family, Family, Family]:
        role = ("process",)
        return (
            CounterMetricFamily(
                "interlock_process_cpu_seconds", "Processor time used, by what the processes do.", labels=role
            ),
            GaugeMetricFamily(
                "interlock_process_resident_memory_bytes",
                "Resident memory, by what the processes do; pages that they share count for each.",
                labels=role,
            ),
            GaugeMetricFamily("interlock_process_open_fds", "File descriptors that the gateway has open.", labels=()),
            GaugeMetricFamily("interlock_process_max_fds", "File descriptors that it may have open.", labels=()),
            GaugeMetricFamily("interlock_processes", "Processes that run, by what they do.", labels=role),
        )

    def _account(self, role: str, ids: list[int]) -> None:
        for one in ids:
            used = self._processor(one)
            before = self._seen.get(one, 0.0)
            self._spent[role] += used - before if used >= before else used
            self._seen[one] = used

    def _forget(self, known: set[int]) -> None:
        self._seen = {one: used for one, used in self._seen.items() if one in known}

    def _processor(self, process_id: int) -> float:
        fields = self._read(process_id, "stat").rpartition(")")[2].split()
        return sum(map(int, fields[_TIMES])) / _TICKS_PER_S

    def _memory(self, process_id: int) -> int:
        fields = self._read(process_id, "statm").split()
        return int(fields[1]) * _PAGE_BYTES if fields else 0

    def _descriptors(self) -> float | None:
        try:
            return float(sum(1 for _ in (self._proc / "self" / "fd").iterdir()))
        except OSError:
            return None

    def _read(self, process_id: int, name: str) -> str:
        """A file of a process; empty when it has ended meanwhile."""
        try:
            return (self._proc / str(process_id) / name).read_text(encoding="ascii", errors="replace")
        except OSError:
            return ""


def watch_processes(registry: CollectorRegistry, workers: Callable[[], Mapping[str, tuple[int, ...]]]) -> None:
    """Show what this process and its `workers`, ids by role, use."""
    registry.register(Processes(workers))
