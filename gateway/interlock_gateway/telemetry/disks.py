"""How full the disks are that the gateway writes to, and how much of that is receipts (OBS-1).

A disk may hang, and with it whoever asks: it is asked on a thread of its own, and a scrape waits only so long.
"""

import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from interlock_gateway.audit.segments import list_segments

PATIENCE_S = 1.0
"""How long a scrape waits for all disks together; what has not answered by then is left out of it."""

RECEIPTS = "interlock_audit_stored_bytes"


@dataclass(frozen=True, slots=True)
class Space:
    """What is free for the gateway on a directory's file system, and what anybody uses there, in bytes.

    Of inodes, which each file takes one of, too; both 0 where the file system has no fixed number of them.
    """

    free: int
    used: int
    free_inodes: int = 0
    used_inodes: int = 0


def space_at(directory: Path) -> Space:
    """The space there. Raises `OSError`."""
    found = os.statvfs(directory)
    return Space(
        free=found.f_bavail * found.f_frsize,
        used=(found.f_blocks - found.f_bfree) * found.f_frsize,
        free_inodes=found.f_favail,
        used_inodes=found.f_files - found.f_ffree,
    )


def receipts_in(directory: Path) -> int:
    """How many bytes of receipts are there. Raises `OSError`."""
    return sum(segment.path.stat().st_size for segment in list_segments(directory))


class _Look(threading.Thread):
    """One look at a disk; `found` stays empty while it lasts, and when the disk cannot be asked."""

    def __init__(self, name: str, ask: Callable[[], dict[str, float]]) -> None:
        super().__init__(name=f"disk-{name}", daemon=True)
        self._ask = ask
        self.found: dict[str, float] = {}

    def run(self) -> None:
        try:
            self.found = self._ask()
        except OSError:
            return  # a directory that is not there has no figures


class Disks(Collector):
    """The space on the disk of each of `directories`, by their names; and the receipts in the one named `audit`."""

    def __init__(
        self,
        directories: Mapping[str, Path],
        *,
        space: Callable[[Path], Space] = space_at,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._directories = dict(directories)
        self._space = space
        self._patience_s = patience_s
        self._looks: dict[str, _Look] = {}
        self._lock = threading.Lock()

    def describe(self) -> list[GaugeMetricFamily]:
        """The names, without asking for values."""
        return list(self._families())

    def collect(self) -> list[GaugeMetricFamily]:
        """The disks as they are, without those that do not answer in time."""
        families = {family.name: family for family in self._families()}
        looks = {name: self._look(name) for name in self._directories}
        until = time.monotonic() + self._patience_s
        for name, look in looks.items():
            look.join(max(0.0, until - time.monotonic()))
            for metric, value in look.found.items():
                families[metric].add_metric([] if metric == RECEIPTS else [name], value)
        return list(families.values())

    def _look(self, name: str) -> _Look:
        """The look at a disk that is under way, or a new one: of a disk that hangs one waits, and not one a scrape."""
        with self._lock:
            under_way = self._looks.get(name)
            if under_way is None or not under_way.is_alive():
                under_way = self._looks[name] = _Look(name, lambda: self._figures(name))
                under_way.start()
            return under_way

    def _figures(self, name: str) -> dict[str, float]:
        directory = self._directories[name]
        space = self._space(directory)
        found: dict[str, float] = {"interlock_disk_free_bytes": space.free, "interlock_disk_used_bytes": space.used}
        if space.free_inodes or space.used_inodes:
            found["interlock_disk_free_inodes"] = space.free_inodes
            found["interlock_disk_used_inodes"] = space.used_inodes
        if name == "audit":
            found[RECEIPTS] = receipts_in(directory)
        return found

    def _families(self) -> tuple[GaugeMetricFamily, ...]:
        return (
            GaugeMetricFamily(
                "interlock_disk_free_bytes",
                "Bytes that the gateway may still use on a directory's file system; absent while it does not answer.",
                labels=("directory",),
            ),
            GaugeMetricFamily(
                "interlock_disk_used_bytes",
                "Bytes that are used on a directory's file system, by whomever; absent while it does not answer.",
                labels=("directory",),
            ),
            GaugeMetricFamily(
                "interlock_disk_free_inodes",
                "Files that may still be made on a directory's file system; absent where their number is not fixed.",
                labels=("directory",),
            ),
            GaugeMetricFamily(
                "interlock_disk_used_inodes",
                "Files on a directory's file system, whoever made them; absent where their number is not fixed.",
                labels=("directory",),
            ),
            GaugeMetricFamily(
                "interlock_audit_stored_bytes",
                "Bytes of receipts in the audit directory; nothing removes them by itself.",
                labels=(),
            ),
        )


def watch_disks(registry: CollectorRegistry, directories: Mapping[str, Path]) -> None:
    """Show how full the disks of `directories` are."""
    registry.register(Disks(directories))
