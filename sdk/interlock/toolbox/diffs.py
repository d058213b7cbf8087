"""Unified diffs that stay small and take no time, for previews."""

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from interlock.toolbox.textfiles import NotTextError, decoded

MAX_LINES = 1000
MAX_BYTES = 64 * 1024
CONTEXT = 3
# Comparing takes time with the product of the lines that differ; above this the whole range is shown as replaced.
_MAX_PRODUCT = 4_000_000


@dataclass(frozen=True, slots=True)
class Change:
    """What a change to a file looks like: the diff to show, and how many lines and bytes come and go."""

    shown: str
    added: int
    removed: int


def change(path: str, before: bytes | None, after: bytes | None) -> Change:
    """The change from one content to another, None meaning that there is no file; cut when it is long."""
    if before == after:
        return Change("[nothing changes]", 0, 0)
    try:
        old, new = _both_lines(before or b"", after or b"")
    except NotTextError:
        return Change(_binary_change(path, before, after), 0, 0)
    lines = [
        "--- /dev/null" if before is None else f"--- a/{path}",
        "+++ /dev/null" if after is None else f"+++ b/{path}",
    ]
    counts = {"+": 0, "-": 0, " ": 0, "@": 0}
    left_out = size = 0
    for line in _hunks(old, new):
        counts[line[0]] += 1
        size += len(line)
        if len(lines) < MAX_LINES and size <= MAX_BYTES:
            lines.append(line)
        elif line[0] in "+-":
            left_out += 1
    if left_out:
        lines.append(f"[... {left_out} more changed lines are not shown]")
    return Change("\n".join(lines), counts["+"], counts["-"])


def _both_lines(before: bytes, after: bytes) -> tuple[list[str], list[str]]:
    """The lines of both, with their line ends where those differ."""
    old, new = decoded(before), decoded(after)
    ends = before and after and old.crlf != new.crlf
    return _lines(old.text, "\r" if ends and old.crlf else ""), _lines(new.text, "\r" if ends and new.crlf else "")


def _lines(text: str, end: str) -> list[str]:
    if not text:
        return []
    lines = [line + end for line in text.split("\n")]
    if text.endswith("\n"):
        lines.pop()
    else:
        lines[-1] += "\n\\ No newline at end of file"
    return lines


def _binary_change(path: str, before: bytes | None, after: bytes | None) -> str:
    def size(content: bytes | None) -> str:
        return "no file" if content is None else f"{len(content)} bytes"

    return f"{path} is not text: {size(before)} become {size(after)}"


def _hunks(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    middle_old, middle_new = old[start : len(old) - end], new[start : len(new) - end]
    if not middle_old and not middle_new:
        return
    before = old[max(0, start - CONTEXT) : start]
    after = old[len(old) - end : len(old) - end + CONTEXT]
    if len(middle_old) * len(middle_new) > _MAX_PRODUCT:
        hunks: Iterator[str] = _replaced(before, middle_old, middle_new, after)
    else:
        hunks = difflib.unified_diff(
            [*before, *middle_old, *after], [*before, *middle_new, *after], n=CONTEXT, lineterm=""
        )
    for index, line in enumerate(hunks):
        if index > 1:
            yield _moved(line, start - len(before)) if line.startswith("@@") else line


def _replaced(before: Sequence[str], old: Sequence[str], new: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    around = len(before) + len(after)
    yield from ("", "")
    yield f"@@ -1,{len(old) + around} +1,{len(new) + around} @@"
    yield from (f" {line}" for line in before)
    yield from (f"-{line}" for line in old)
    yield from (f"+{line}" for line in new)
    yield from (f" {line}" for line in after)


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    count = 0
    for one, other in zip(old, new, strict=False):
        if one != other:
            break
        count += 1
    return count


def _moved(header: str, by: int) -> str:
    """A hunk's header with its line numbers moved."""
    _, old, new, _ = header.split(" ")

    def move(numbers: str) -> str:
        first, comma, count = numbers[1:].partition(",")
        return f"{numbers[0]}{int(first) + by}{comma}{count}"

    return f"@@ {move(old)} {move(new)} @@"
