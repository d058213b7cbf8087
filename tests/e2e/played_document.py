"""A document played as its reader would: every command in one shell, in order, held against what the document shows."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from uuid import uuid4

from snippets import SHELLS, Snippet, played_part, snippets_in

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 20
WILDCARD = "..."
# The shell's own reports about jobs that it starts and ends.
_ABOUT_JOBS = re.compile(r"\[\d+\]\S* ")


@dataclass(frozen=True, slots=True)
class Ended:
    """What one command printed, errors among it, and its exit code."""

    output: str
    code: int


@dataclass(frozen=True, slots=True)
class Played:
    """One command of a document, how it ended, and the lines that the document shows of it; None for none."""

    place: str
    command: str
    shown: tuple[str, ...] | None
    ended: Ended

    @property
    def trouble(self) -> str | None:
        """What is not as the document says: a command that fails, or the first shown line that was not printed."""
        if self.shown is not None:
            return first_difference(self.shown, self.ended.output)
        return f"exit code {self.ended.code}" if self.ended.code else None


class Shell:
    """One interactive-like shell: directory, variables and background jobs stay between commands."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def run(self, command: str) -> Ended:
        """One command, or several lines of them; background ones go on."""
        mark = f"ended-{uuid4().hex}"
        given, printed = _pipes(self._process)
        given.write(f"{command}\n{{ printf '\\n%s %d\\n' {mark} $?; }} 2>/dev/null\n")
        given.flush()
        lines: list[str] = []
        for line in printed:
            if line.startswith(mark):
                return Ended("".join(lines).removesuffix("\n"), int(line.split()[1]))
            lines.append(line)
        raise AssertionError(f"the shell ended in: {command}\n{''.join(lines)}")


def _pipes(process: "subprocess.Popen[str]") -> tuple[IO[str], IO[str]]:
    assert process.stdin is not None
    assert process.stdout is not None
    return process.stdin, process.stdout


@contextmanager
def shell(scratch: Path, start: Path, **variables: str) -> Iterator[Shell]:
    """A shell whose home and temporary files are in `scratch`, and whose jobs end with it."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("INTERLOCK_")}
    path = os.pathsep.join([str(Path(sys.executable).parent), ours["PATH"]])
    # What documents say about make is only looked at: it would run the tests that play the documents.
    env = ours | {"HOME": str(scratch), "TMPDIR": str(scratch), "PATH": path, "MAKEFLAGS": "n"} | variables
    process = subprocess.Popen(
        ["bash", "--noprofile", "--norc"],
        cwd=start,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        start_new_session=True,  # so that it can be ended with all its jobs
    )
    try:
        yield Shell(process)
    finally:
        _end_group(process)


def _end_group(process: "subprocess.Popen[str]") -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=PATIENCE_S)
            return


def play(document: str, opened: Shell) -> Iterator[Played]:
    """Run the shell blocks of what `PLAYED` has of a document; give each command as it ended.

    Blocks that say why they are not run are not. A `bash` block is one command, and has to succeed.
    """
    text = (ROOT / document).read_text(encoding="utf-8")
    for snippet in snippets_in(document, played_part(document, text)):
        if snippet.language not in SHELLS or snippet.excuse is not None:
            continue
        for command, shown in commands_of(snippet):
            yield Played(snippet.place, command, shown, opened.run(command))


def commands_of(snippet: Snippet) -> Iterator[tuple[str, tuple[str, ...] | None]]:
    """The whole of a `bash` block; the commands behind the prompts of a `console` block, with what each shows."""
    if snippet.language != "console":
        yield f"set -e\n{snippet.body}set +e", None
        return
    for part in snippet.body.removeprefix("$ ").split("\n$ "):
        command, *shown = part.splitlines()
        yield command, tuple(shown)


def first_difference(shown: Sequence[str], output: str) -> str | None:
    """The first shown line that the output does not have in its place.

    A line of three dots stands for any lines, three dots within a line for anything.
    """
    printed = [line.rstrip() for line in output.splitlines() if not _ABOUT_JOBS.match(line)]
    at, anywhere = 0, False
    for line in shown:
        if line == WILDCARD:
            anywhere = True
            continue
        wanted = re.compile(".*".join(map(re.escape, line.rstrip().split(WILDCARD))))
        places = range(at, len(printed)) if anywhere else range(at, min(at + 1, len(printed)))
        place = next((one for one in places if wanted.fullmatch(printed[one])), None)
        if place is None:
            return line
        at, anywhere = place + 1, False
    return (
        None if anywhere or at == len(printed) or not any(printed[at:]) else f"nothing, where it says {printed[at]!r}"
    )
