"""A replay from the receipts on disk to what would change."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from interlock_gateway.audit.segments import list_segments, read_raw_lines
from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.replay.crew import Crew, Job
from interlock_gateway.policy.replay.lines import beginning, of_the_log_itself
from interlock_gateway.policy.replay.period import Period
from interlock_gateway.policy.replay.tally import Tally

MOST_LINES = 256
MOST_BYTES = 1 << 20
RECEIPT, INTENT = b"receipt", b"intent"


@dataclass(slots=True)
class Progress:
    """How far a replay is: bytes read of all, and what was counted so far."""

    total_bytes: int = 0
    read_bytes: int = 0
    tally: Tally = field(default_factory=Tally)


OnProgress: TypeAlias = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """A replay: receipts in `directory` under `candidate`.

    `baseline` are the policies in force; a decision that they made is evaluated under them too when it would change, or
    always with `always`, so that what is not reproduced is not taken for a change.
    """

    directory: Path
    candidate: PolicyBundle
    baseline: PolicyBundle | None = None
    always: bool = False
    period: Period = field(default_factory=Period)
    processes: int = 0
    seconds: float = 1.0
    memory_bytes: int = 512 * 1024 * 1024


def replay(plan: Plan, on_progress: OnProgress = lambda _: None) -> Tally:
    """What would change. Memory does not grow with the receipts. Raises `ReplayError` and `OSError`."""
    progress = Progress(sum(segment.path.stat().st_size for segment in list_segments(plan.directory)))

    def told(tally: Tally) -> None:
        progress.tally.add(tally)
        on_progress(progress)

    when = "always" if plan.always else "changed"
    job = Job(plan.candidate, plan.baseline, when, plan.seconds, plan.memory_bytes)
    Crew(job, plan.processes or os.cpu_count() or 1, told).run(_batches(plan, progress))
    return progress.tally


def _batches(plan: Plan, progress: Progress) -> Iterator[bytes]:
    batch: list[bytes] = []
    size = 0
    for line in _wanted(plan, progress):
        batch.append(line)
        size += len(line)
        if len(batch) >= MOST_LINES or size >= MOST_BYTES:
            yield b"".join(batch)
            batch, size = [], 0
    if batch:
        yield b"".join(batch)


def _wanted(plan: Plan, progress: Progress) -> Iterator[bytes]:
    """The receipts of the period, and intents that no receipt followed: calls that a crash cut off."""
    unfinished: dict[bytes, bytes] = {}
    for line in _lines(plan.directory, progress):
        begun = beginning(line)
        if begun is None:
            # Nobody knows what stood there, and so whether it would change.
            progress.tally.unreadable += not of_the_log_itself(line)
            continue
        if begun.kind not in {RECEIPT, INTENT} or not plan.period.has(begun.timestamp):
            continue
        if begun.kind == INTENT:
            unfinished[begun.decision_id] = line
        else:
            unfinished.pop(begun.decision_id, None)
            yield line
    yield from unfinished.values()


def _lines(directory: Path, progress: Progress) -> Iterator[bytes]:
    for segment in list_segments(directory):
        for line in read_raw_lines(segment.path):
            progress.read_bytes += len(line)
            if line.endswith(b"\n"):
                yield line
