"""The figures of `make faults`: kept as JSON, merged part by part, and shown as a table in docs/reliability.md."""

import fcntl
import json
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
FIGURES = ROOT / "docs" / "reliability.json"
DOCUMENT = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- made by `make faults` -->", "<!-- up to here -->"


@dataclass(frozen=True, slots=True)
class Figure:
    """What came of one part: how much was wanted and run of `unit`, how many faults; `seconds` it took."""

    part: str
    requirement: str
    what: str
    unit: str
    wanted: int
    run: int
    faults: int
    seconds: float
    seed: int | None = None
    notes: str = ""
    date: str = ""
    machine: str = ""


def machine() -> str:
    """Where the figures come from."""
    names = [line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    processor = names[0] if names else platform.machine()
    return f"{os.cpu_count()} x {processor}, {platform.system()}, CPython {platform.python_version()}"


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines() if Path(path).exists() else []


def keep(figure: Figure, figures: Path = FIGURES, document: Path = DOCUMENT) -> None:
    """Put a part's figures in the place of its last ones, in both files; several runs may do so at once."""
    with _alone(figures):
        kept = json.loads(figures.read_text()) if figures.exists() else {}
        kept[figure.part] = asdict(figure)
        figures.write_text(json.dumps(dict(sorted(kept.items())), indent=2) + "\n")
        if document.exists():
            document.write_text(shown_in(document.read_text(), kept))


def shown_in(text: str, kept: dict[str, Any]) -> str:
    """The document with the table of these figures in it."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{table(kept)}\n\n{END}{after}"


def table(kept: dict[str, Any]) -> str:
    """The figures as Markdown, part by part; how much was wanted stands beside how much was run."""
    lines = ["| | | wanted | run | faults | seconds | seed | date |", "|---|---|--:|--:|--:|--:|--:|---|"]
    figures = [Figure(**one) for _, one in sorted(kept.items())]
    for one in figures:
        what = f"{one.what}; {one.notes}" if one.notes else one.what
        seed = "" if one.seed is None else str(one.seed)
        lines.append(
            f"| {one.requirement} | {what} | {one.wanted:,} {one.unit} | {one.run:,} | {one.faults} "
            f"| {one.seconds:,.0f} | {seed} | {one.date} |"
        )
    machines = sorted({one.machine for one in figures})
    return "\n".join([*lines, "", *(f"Machine: {one}." for one in machines)])


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            path.with_suffix(".lock").unlink()
