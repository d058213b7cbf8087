"""Cuts the body of a here-document out of a script (bash manual, 3.6.6)."""

import re
from dataclasses import dataclass

from interlock_gateway.facts.shell.reading import Redirection

_LINE = re.compile(r"[^\n]*")
_JOINED_LINE = re.compile(r"[^\\\n]*(?:\\.[^\\\n]*)*\\?", re.DOTALL)
_PAIR = re.compile(r"\\(.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class PendingHeredoc:
    """A here-document announced on a line that has not ended yet."""

    redirection: Redirection
    delimiter: str
    quoted: bool
    strip_tabs: bool


@dataclass(frozen=True, slots=True)
class Body:
    """A here-document's text, where the script goes on, and what is wrong with it, if anything."""

    text: str
    end: int
    problem: str | None


def read_body(script: str, start: int, pending: PendingHeredoc, *, in_substitution: bool) -> Body:
    """Read from the line at `start` to the delimiter. Unless quoted, lines are joined at backslashes first."""
    lines: list[str] = []
    pos = start
    while pos < len(script):
        match = (_LINE if pending.quoted else _JOINED_LINE).match(script, pos)
        assert match is not None
        pos = match.end() + 1
        line = match[0] if pending.quoted else _PAIR.sub(lambda m: "" if m[1] == "\n" else m[0], match[0])
        line = line.lstrip("\t") if pending.strip_tabs else line
        if line == pending.delimiter:
            return Body("".join(lines), min(pos, len(script)), None)
        if in_substitution and line.startswith(pending.delimiter) and ")" in line[len(pending.delimiter) :]:
            return Body("".join(lines), len(script), "a here-document that may end where the substitution ends")
        lines.append(line + "\n")
    return Body("".join(lines), len(script), f"the here-document {pending.delimiter!r} is not closed")
