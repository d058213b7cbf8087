"""What is wanted of the figures (PERF-1, 2, 4, 6, 7), and whether it was measured."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Report = dict[str, Any]


@dataclass(frozen=True)
class Bound:
    """One thing wanted: at most so much, or at least so much; `measured` is what a report has of it."""

    what: str
    wanted: float
    measured: float
    unit: str
    at_least: bool = False

    @property
    def holds(self) -> bool:
        """Whether what was measured is within it."""
        return self.measured >= self.wanted if self.at_least else self.measured <= self.wanted


def bounds_of(report: Report) -> Iterator[Bound]:
    """Each bound that a report has a figure for."""
    calls = {(one["what"], one["input_bytes"], one["concurrency"]): one for one in report["figures"]}
    (alone, hop), (beside, hop_beside) = (
        (calls["gateway, read-only", 1000, at_once], calls["bare proxy", 1000, at_once]) for at_once in (1, 16)
    )
    share = 100 * beside["calls_per_second"] / hop_beside["calls_per_second"]
    yield Bound("read-only call, 1 KB, 16 at once, of the bare proxy's throughput", 50, share, "%", at_least=True)
    for part, wanted in (("p50_ms", 0.5), ("p99_ms", 1.2)):
        what = f"read-only call, 1 KB, one at a time, added at {part[:3]}"
        yield Bound(what, wanted, alone[part] - hop[part], "ms")
    yield Bound("ready, with an existing state directory", 1.5, report["start_s"], "s")
    yield Bound("resident memory, idle, all processes", 150, report["idle_resident_mib"], "MiB")
    if "decisions" in report:
        yield from _of_policy(report)


def _of_policy(report: Report) -> Iterator[Bound]:
    decided = {one["what"]: one["p50_us"] for one in report["decisions"]}
    plain = decided["input of 1 KB"]
    yield Bound("one decision, 1 KB, in the engine, at p50", 250, plain, "us")
    more = 100 * (decided["input of 1 KB, 10,000 more settings entries"] / plain - 1)
    yield Bound("more for it with 10,000 more settings entries", 20, more, "%")
    for one in report["replay"]:
        if one["processes"] == 1:
            what = f"recorded decisions replayed: {one['what']}, a process"
            yield Bound(what, 5000, one["per_second"], "a second", at_least=True)


def shown(bounds: list[Bound]) -> str:
    """A line for each."""
    lines = [
        f"{'' if one.holds else 'MISSED: ':>8}{one.what:<72}"
        f"{'at least' if one.at_least else 'at most':>9} {one.wanted:g} {one.unit}: {one.measured:,.2f}"
        for one in bounds
    ]
    return "\n".join(lines)
