"""Shortening a text result, and the words that say so (RES-1, RES-2, RES-3). Pure.

A cut falls between characters, and on a line boundary when that keeps at least half of what may be kept: the only line
break of a long line is not worth losing the line for.
"""

from dataclasses import dataclass

from interlock_gateway.core.tool import TruncationStrategy
from interlock_gateway.results.table import summarize_table

_LINE_FEED = 0x0A
_CONTINUATION_MASK = 0xC0
_CONTINUATION = 0x80


@dataclass(frozen=True, slots=True)
class TextLimit:
    """How much of a text may be kept: bytes of UTF-8, and lines when `max_lines` is not 0."""

    max_bytes: int
    max_lines: int = 0
    strategy: TruncationStrategy = TruncationStrategy.HEAD


@dataclass(frozen=True, slots=True)
class WholeText:
    """Where the whole of a shortened text is: the artifact's URI, or why there is none."""

    uri: str = ""
    failure: str = ""

    @property
    def directions(self) -> str:
        """What to do to get the rest."""
        return f'use read_artifact("{self.uri}")' if self.uri else f"the rest could not be stored: {self.failure}"


def exceeds(text: bytes, limit: TextLimit) -> bool:
    """Whether `text` must be shortened."""
    return len(text) > limit.max_bytes or (limit.max_lines > 0 and _line_end(text, limit.max_lines) < len(text))


def shorten(text: bytes, limit: TextLimit, whole: WholeText) -> str:
    """What is returned of a `text` that exceeds `limit`: never more than the limit and one notice.

    `text` is valid UTF-8. A table that cannot be read as one is shortened as `head`.
    """
    if limit.strategy is TruncationStrategy.HEAD_TAIL:
        return _head_tail(text, limit, whole)
    if limit.strategy is TruncationStrategy.TABLE:
        summary = summarize_table(text, limit.max_bytes, limit.max_lines)
        if summary is not None:
            return _with_notice(summary, text, whole)
    return _with_notice(text[: head_end(text, limit.max_bytes, limit.max_lines)].decode(), text, whole)


def head_end(text: bytes, max_bytes: int, max_lines: int) -> int:
    """How many bytes from the start are kept."""
    end = _line_end(text, max_lines) if max_lines > 0 else len(text)
    if end <= max_bytes:
        return end
    end = _character_start(text, max_bytes)
    line = text.rfind(b"\n", 0, end) + 1
    return line if line * 2 >= end else end


def tail_start(text: bytes, max_bytes: int, max_lines: int) -> int:
    """Where the part kept from the end begins."""
    start = _last_lines_start(text, max_lines) if max_lines > 0 else 0
    if len(text) - start <= max_bytes:
        return start
    start = _character_end(text, len(text) - max_bytes)
    if start == 0 or text[start - 1] == _LINE_FEED:
        return start
    line = text.find(b"\n", start) + 1
    return line if line and (len(text) - line) * 2 >= len(text) - start else start


def _head_tail(text: bytes, limit: TextLimit, whole: WholeText) -> str:
    half_bytes, half_lines = limit.max_bytes // 2, -(-limit.max_lines // 2)
    end = head_end(text, half_bytes, half_lines)
    start = max(end, tail_start(text, half_bytes, half_lines))
    directions = f"{whole.directions} to read them" if whole.uri else whole.directions
    marker = f"[... {start - end} bytes omitted — {directions} ...]"
    head, tail = text[:end].decode(), text[start:].decode()
    return f"{head}{_break_after(head)}{marker}\n{tail}"


def _with_notice(kept: str, text: bytes, whole: WholeText) -> str:
    directions = f"{whole.directions} for the rest" if whole.uri else whole.directions
    return f"{kept}{_break_after(kept)}[...truncated, {len(text)} bytes total — {directions}]"


def _break_after(kept: str) -> str:
    return "" if not kept or kept.endswith("\n") else "\n"


def _line_end(text: bytes, lines: int) -> int:
    at = 0
    for _ in range(lines):
        at = text.find(b"\n", at) + 1
        if at == 0:
            return len(text)
    return at


def _last_lines_start(text: bytes, lines: int) -> int:
    at = len(text) - text.endswith(b"\n")
    for _ in range(lines):
        at = text.rfind(b"\n", 0, max(at, 0))
        if at < 0:
            return 0
    return at + 1


def _character_start(text: bytes, at: int) -> int:
    while 0 < at < len(text) and text[at] & _CONTINUATION_MASK == _CONTINUATION:
        at -= 1
    return max(at, 0)


def _character_end(text: bytes, at: int) -> int:
    at = max(at, 0)
    while at < len(text) and text[at] & _CONTINUATION_MASK == _CONTINUATION:
        at += 1
    return at
