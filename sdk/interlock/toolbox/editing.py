"""Exact search and replace in a text, and words for when it does not work out (BOX-4)."""

import difflib
from collections.abc import Iterator

from interlock.toolbox.operations import MAX_FILE_BYTES

MAX_SHOWN = 10
_MAX_COMPARED = 4000
_MAX_CHARACTERS = 300
_CLOSE = 0.6


class EditError(ValueError):
    """The edit cannot be made; the message says why and what to do."""


def replaced(text: str, old: str, new: str, *, replace_all: bool, name: str) -> tuple[str, int]:
    """The text with the old string replaced, and how often.

    Raises EditError when it is not there, when it is there more than once and not all are meant, or when nothing would
    change, or too much.
    """
    if not old:
        raise EditError("old_string is empty; use write to make a file or to replace all of it")
    if old == new:
        raise EditError("old_string and new_string are the same, so nothing would change")
    count = text.count(old)
    if not count:
        raise EditError(_not_found(text, old, name))
    if count > 1 and not replace_all:
        raise EditError(
            f"old_string is in {name} {count} times, at {_at_lines(list(_lines_of(text, old)))}. Give more of the text "
            "around the one you mean, or set replace_all"
        )
    if len(text) + count * (len(new) - len(old)) > MAX_FILE_BYTES:
        raise EditError(f"{name} would become larger than {MAX_FILE_BYTES} bytes")
    return text.replace(old, new), count


def _lines_of(text: str, old: str) -> Iterator[int]:
    at, line, counted = text.find(old), 1, 0
    while at >= 0:
        line += text.count("\n", counted, at)
        counted = at
        yield line
        at = text.find(old, at + len(old))


def _at_lines(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:MAX_SHOWN]))
    more = f" and {len(numbers) - MAX_SHOWN} more" if len(numbers) > MAX_SHOWN else ""
    return f"{'line' if len(numbers) == 1 else 'lines'} {shown}{more}"


def _not_found(text: str, old: str, name: str) -> str:
    message = f"old_string is not in {name}"
    lines, wanted = text.split("\n"), old.strip("\n").split("\n")
    spaced = _apart_from_blanks(lines, wanted)
    if spaced:
        there = _numbered(lines, spaced[0], len(wanted))
        return f"{message} as it is given. With other blanks it is at {_at_lines(spaced)}:\n{there}"
    close = _closest(lines, max(wanted, key=len))
    if not close:
        return f"{message}. Read the file again; it may have changed"
    return f"{message}. The closest lines are:\n" + "\n".join(_numbered(lines, number, 1) for number in close)


def _apart_from_blanks(lines: list[str], wanted: list[str]) -> list[int]:
    """Where the wanted lines are if blanks do not count, as line numbers."""
    plain = [" ".join(line.split()) for line in lines]
    sought = [" ".join(line.split()) for line in wanted]
    if not any(sought):
        return []
    first = sought[0]
    return [at + 1 for at, line in enumerate(plain) if line == first and plain[at : at + len(sought)] == sought]


def _closest(lines: list[str], wanted: str) -> list[int]:
    """The numbers of up to three lines most like the wanted one, in their order; of a long file the first part only."""
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted.strip()[:_MAX_CHARACTERS])
    scored: list[tuple[float, int]] = []
    for number, line in enumerate(lines[:_MAX_COMPARED], start=1):
        matcher.set_seq1(line.strip()[:_MAX_CHARACTERS])
        if matcher.real_quick_ratio() > _CLOSE and matcher.quick_ratio() > _CLOSE and matcher.ratio() > _CLOSE:
            scored.append((matcher.ratio(), number))
    return sorted(number for _, number in sorted(scored, reverse=True)[:3])


def _numbered(lines: list[str], first: int, count: int) -> str:
    shown = lines[first - 1 : first - 1 + min(count, MAX_SHOWN)]
    return "\n".join(f"{first + index}: {line[:_MAX_CHARACTERS]}" for index, line in enumerate(shown))
