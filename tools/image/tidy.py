"""Take out of an environment what installers leave behind, and what nobody runs."""

import csv
import shutil
from pathlib import Path

LEFT_BEHIND = ("direct_url.json", "uv_cache.json", "REQUESTED", "uv_build.json")
"""Where a wheel lay, and when: true of the machine that built, and no use to the one that runs."""


def tidy_environment(environment: Path, keep: tuple[str, ...]) -> None:
    """Leave the programs in `keep` and the interpreter, and records that say what is still there."""
    for program in (environment / "bin").iterdir():
        if program.name not in keep and not program.name.startswith("python"):
            program.unlink()
    for name in ("include", "share", "etc", "man"):
        shutil.rmtree(environment / name, ignore_errors=True)
    for record in sorted(environment.glob("lib/python3.*/site-packages/*.dist-info/RECORD")):
        for name in LEFT_BEHIND:
            (record.parent / name).unlink(missing_ok=True)
        keep_what_is_there(record)


def keep_what_is_there(record: Path) -> None:
    """Take out of a RECORD the lines of files that are gone; paths in it start at the modules' directory."""
    start = record.parents[1]
    with record.open(newline="", encoding="utf-8") as file:
        lines = [line for line in csv.reader(file) if line and (start / line[0]).exists()]
    with record.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(sorted(lines))
