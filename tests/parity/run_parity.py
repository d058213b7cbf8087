"""`make parity`: both engines decide generated inputs, under many policies; ends with 1 when they disagree (ENG-2)."""

import argparse
import asyncio
import json
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from engines_side_by_side import Comparison  # noqa: E402 - found through the path above
from parity_run import compared  # noqa: E402 - as above

SHOWN = 5


def main() -> int:
    """Compare, and say what came of it; the exit code."""
    parser = argparse.ArgumentParser(prog="make parity", description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000, help="how many to count, without those set aside")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000))
    parser.add_argument("--policies", type=int, default=100, help="how many sets of policies decide a share each")
    parser.add_argument("--into", type=Path, help="a file for every disagreement, one JSON object a line")
    asked = parser.parse_args()
    opa = shutil.which("opa")
    if opa is None:
        _say("opa is missing (make tools)")
        return 2
    began = time.monotonic()
    comparison = asyncio.run(compared(Path(opa), asked.inputs, asked.seed, asked.policies, on_progress=_progress))
    if asked.into is not None:
        _keep(comparison, asked.into)
    for one in comparison.disagreements[:SHOWN]:
        _say(f"\n{one.policies}\n{one.document.decode()}\n  embedded: {one.embedded}\n  opa:      {one.opa}")
    versions = f"regorus {version('gordon-to-regorus')}, OPA {_version(opa)}"
    _say(f"\n{asked.policies} sets of policies, seed {asked.seed}, {versions}, {time.monotonic() - began:.0f} s")
    for line in said(comparison):
        _say(line)
    return 1 if comparison.disagreements or comparison.counted < asked.inputs else 0


def said(comparison: Comparison) -> Iterator[str]:
    """What is said of a comparison: what was counted and what came of it, then what was set aside, and why."""
    counted, strange = comparison.counted, comparison.strange
    yield f"{counted:,} inputs counted, {strange:,} of them with a field of a type that no gateway sends"
    yield f"{len(comparison.disagreements):,} disagreements"
    yield ", ".join(f"{kind} {count:,}" for kind, count in comparison.agreed.most_common())
    yield f"{comparison.set_aside.total():,} more set aside, all with such a field"
    for kind, count in comparison.set_aside.most_common():
        yield f"  {kind}: {count:,}"


def _keep(comparison: Comparison, into: Path) -> None:
    lines = (json.dumps(asdict(one) | {"document": one.document.decode()}) for one in comparison.disagreements)
    into.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _version(opa: str) -> str:
    said = subprocess.run([opa, "version"], capture_output=True, text=True, check=True).stdout
    return said.split("\n", 1)[0].removeprefix("Version: ")


def _progress(done: int) -> None:
    sys.stderr.write(f"\r{done:,}")
    sys.stderr.flush()


def _say(words: str) -> None:
    sys.stdout.write(f"{words}\n")


if __name__ == "__main__":
    sys.exit(main())
