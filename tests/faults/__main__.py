"""`make faults`: approvals attacked, gateways killed and cut off, previews made stale, work undone, in full sizes.

Takes about an hour with two processors to itself. The table is in docs/reliability.md, each part's figures in
docs/reliability.json; a part that is run again takes the place of its last figures. Ends with 1 when there was a fault.
"""

import argparse
import asyncio
import os
import random
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from fault_figures import DOCUMENT, FIGURES, Figure, keep, machine  # noqa: E402 - found through the path above
from fault_parts import PARTS, Part, measured  # noqa: E402 - as above

SIZES = ("mutations", "approvals", "kills", "interleavings", "rounds", "outages", "drains", "calls")


def main() -> int:
    """Run what was asked for; the exit code."""
    parser = argparse.ArgumentParser(prog="make faults", description=__doc__)
    parser.add_argument("--only", action="append", default=[], metavar="PART", help="a part, or how its name begins")
    parser.add_argument("--list", action="store_true", help="say which parts there are, and run none")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000))
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no more of a part after so long")
    parser.add_argument("--json", type=Path, default=FIGURES)
    parser.add_argument("--document", type=Path, default=DOCUMENT)
    for size in SIZES:
        parser.add_argument(f"--{size}", type=int, default=0, help="how many, in place of the full number")
    asked = parser.parse_args()
    parts = [part for part in PARTS if not asked.only or any(part.name.startswith(name) for name in asked.only)]
    if asked.list or not parts:
        _say("\n".join(f"{part.name:<26} {part.wanted:>7,} {part.unit}: {part.what}" for part in PARTS))
        return 0 if asked.list else 2
    faults = 0
    for part in parts:
        figure = asyncio.run(_figure(part, getattr(asked, part.size) or part.wanted, asked.seed, asked.minutes))
        keep(figure, asked.json, asked.document)
        faults += figure.faults
    return 1 if faults else 0


async def _figure(part: Part, count: int, seed: int, minutes: float) -> Figure:
    _say(f"{part.name}: {count:,} {part.unit}, seed {seed}")
    began, done = time.monotonic(), 0

    def progress(what: str) -> bool:
        nonlocal done
        done += 1
        taken = time.monotonic() - began
        _say(f"  {part.name} {done} ({taken:.0f} s): {what}")
        return taken < 60 * minutes

    came, seconds = await measured(part, count, seed, progress)
    _say(
        f"{part.name}: {came.run:,} of {part.wanted:,} {part.unit}, {came.faults} faults, {seconds:.0f} s. {came.notes}"
    )
    load = f"load {os.getloadavg()[1]:.0f}"
    return Figure(
        part=part.name,
        requirement=part.requirement,
        what=part.what,
        unit=part.unit,
        wanted=part.wanted,
        run=came.run,
        faults=came.faults,
        seconds=round(seconds, 1),
        seed=seed,
        notes=f"{came.notes}; {load}" if came.notes else load,
        date=datetime.now(UTC).date().isoformat(),
        machine=machine(),
    )


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
