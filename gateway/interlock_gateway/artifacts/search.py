"""Search a content line by line as it streams past: linear time, bounded memory, bounded matches (ART-3).

RE2 does the matching, so no pattern can take more than linear time; `never_nl` keeps a match within one line. A line
longer than a window is searched in overlapping windows, so that one long line of JSON is searched too.
"""

import re
from collections import deque
from dataclasses import dataclass, field

import re2

from interlock_gateway.artifacts.errors import ArtifactSearchError
from interlock_gateway.core.clock import Clock

MAX_PATTERN = 1000
MAX_MATCHES = 1000
MAX_CONTEXT = 20
MAX_LINE_BYTES = 4096
_WINDOW = 256 * 1024
_OVERLAP = 8 * 1024
# One window is matched between two looks at the clock; this bounds what that can cost.
_MAX_PROGRAM = 2000
# Anchors of the text, not of the line, and switched-off flags do not mean what they say in a window of many lines.
_TEXT_ANCHOR = re.compile(r"\\[AzZ]|\(\?[a-zA-Z]*-")


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """What to search for: a literal, or with `regex` an RE2 expression, matched within single lines.

    `context` is the number of lines given before and after a match (0-20), `limit` the most matches (1-1000),
    `timeout_s` the seconds after which the search stops with what it has.
    """

    pattern: str
    regex: bool = False
    ignore_case: bool = False
    context: int = 0
    limit: int = 100
    timeout_s: float = 2.0


@dataclass(frozen=True, slots=True)
class Match:
    """One line that matches: its number from 1, the byte offset where it begins, its text without the line break.

    A line longer than 4 KiB is cut to the part around the match.
    """

    line: int
    offset: int
    text: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The matches in order, and how complete the search was."""

    matches: tuple[Match, ...]
    lines_searched: int
    more_matches: bool
    timed_out: bool


@dataclass(slots=True)
class _Found:
    line: int
    offset: int
    text: str
    before: tuple[str, ...]
    after: list[str] = field(default_factory=list)


class LineSearcher:
    """Takes chunks and collects matches. Raises `ArtifactSearchError` when it is built with a pattern it cannot use.

    `feed` answers true when nothing more is wanted: the limit is reached, or the time is up.
    """

    def __init__(self, query: SearchQuery, clock: Clock) -> None:
        self._regex = _compile(query)
        self._context = min(max(query.context, 0), MAX_CONTEXT)
        self._limit = min(max(query.limit, 1), MAX_MATCHES)
        self._clock = clock
        self._deadline = clock.monotonic() + query.timeout_s
        self._found: list[_Found] = []
        self._recent: deque[str] = deque(maxlen=self._context)
        self._line = 1
        self._offset = 0
        self._line_offset = 0
        self._matched_line = 0
        self._carry = b""
        self._more = False
        self._timed_out = False

    def feed(self, chunk: bytes) -> bool:
        """Search the next chunk."""
        for start in range(0, len(chunk), _WINDOW):
            self._carry += chunk[start : start + _WINDOW]
            whole = self._carry.rfind(b"\n") + 1
            if whole:
                self._search(self._carry[:whole])
                self._carry = self._carry[whole:]
            elif len(self._carry) > _WINDOW:
                self._search_part_of_a_line()
            if self._is_done():
                return True
        return False

    def finish(self) -> None:
        """Search what is left: a last line without a line break."""
        if self._carry and not self._is_done():
            self._search(self._carry)
            self._line += 1

    def result(self) -> SearchResult:
        """What was found so far."""
        matches = tuple(Match(it.line, it.offset, it.text, it.before, tuple(it.after)) for it in self._found)
        return SearchResult(matches, self._line - 1, self._more, self._timed_out)

    def _is_done(self) -> bool:
        if self._clock.monotonic() >= self._deadline:
            self._timed_out = True
        return self._timed_out or (self._more and not self._wants_after())

    def _wants_after(self) -> bool:
        return bool(self._found) and len(self._found[-1].after) < self._context

    def _search_part_of_a_line(self) -> None:
        self._match_all(self._carry)
        done = len(self._carry) - _OVERLAP
        self._offset += done
        self._carry = self._carry[done:]

    def _search(self, block: bytes) -> None:
        self._match_all(block)
        if self._context:
            self._pass_context(block)
        breaks = block.count(b"\n")
        self._line += breaks
        self._offset += len(block)
        if breaks:
            self._line_offset = self._offset - (len(block) - block.rfind(b"\n") - 1)

    def _match_all(self, block: bytes) -> None:
        at, line, counted = 0, self._line, 0
        while not self._more and (span := self._next(block, at)) is not None:
            start = block.rfind(b"\n", 0, span[0]) + 1
            end = block.find(b"\n", span[0])
            end = len(block) if end < 0 else end
            line += block.count(b"\n", counted, start)
            counted = start
            self._add(block, line, (start, end), span)
            at = end + 1
            if at > len(block):
                return

    def _next(self, block: bytes, at: int) -> tuple[int, int] | None:
        found = self._regex.search(block, at)
        if found is None:
            return None
        start, end = found.span()
        # An empty match behind the last line break is no line.
        return None if start == len(block) and block.endswith(b"\n") else (start, end)

    def _add(self, block: bytes, line: int, bounds: tuple[int, int], span: tuple[int, int]) -> None:
        if line == self._matched_line:
            return
        if len(self._found) == self._limit:
            self._more = True
            return
        self._matched_line = line
        start, end = bounds
        offset = self._line_offset if start == 0 else self._offset + start
        before = self._before(block, start)
        self._found.append(_Found(line, offset, _excerpt(block[start:end], span[0] - start), before))

    def _before(self, block: bytes, start: int) -> tuple[str, ...]:
        if not self._context:
            return ()
        near = _last_lines(block, start, self._context)
        missing = self._context - len(near)
        return (*(list(self._recent)[-missing:] if missing else ()), *near)

    def _pass_context(self, block: bytes) -> None:
        for found in self._found:
            if len(found.after) < self._context:
                self._fill_after(found, block)
        self._recent.extend(_last_lines(block, len(block), self._context))

    def _fill_after(self, found: _Found, block: bytes) -> None:
        at = 0
        # Lines of this block up to and including the match are not behind it.
        for _ in range(max(0, found.line + len(found.after) + 1 - self._line)):
            at = block.find(b"\n", at) + 1
            if at == 0:
                return
        while len(found.after) < self._context and at < len(block):
            end = block.find(b"\n", at)
            end = len(block) if end < 0 else end
            found.after.append(_excerpt(block[at:end], 0))
            at = end + 1


def _last_lines(block: bytes, end: int, count: int) -> list[str]:
    """The last `count` whole lines of `block[:end]`, which ends behind a line break, first to last."""
    lines: list[str] = []
    while end > 0 and len(lines) < count:
        start = block.rfind(b"\n", 0, end - 1) + 1
        lines.append(_excerpt(block[start:end].removesuffix(b"\n"), 0))
        end = start
    return lines[::-1]


def _excerpt(line: bytes, match_at: int) -> str:
    line = line.removesuffix(b"\r")
    if len(line) > MAX_LINE_BYTES:
        start = max(0, min(match_at - MAX_LINE_BYTES // 4, len(line) - MAX_LINE_BYTES))
        line = line[start : start + MAX_LINE_BYTES]
        # A cut may fall inside a character; its rest is not shown.
        return line.decode("utf-8", "ignore")
    return line.decode("utf-8", "replace")


def _compile(query: SearchQuery) -> "re2._Regexp":
    if not query.pattern:
        raise ArtifactSearchError("the search pattern is empty")
    if len(query.pattern) > MAX_PATTERN:
        raise ArtifactSearchError(f"the search pattern is longer than {MAX_PATTERN} characters")
    if "\n" in query.pattern:
        raise ArtifactSearchError("the search pattern has a line break; patterns match within one line")
    if query.regex and _TEXT_ANCHOR.search(query.pattern):
        raise ArtifactSearchError(r"use ^ and $ for the ends of a line; \A, \z and (?-flags) cannot be used")
    options = re2.Options()
    options.log_errors = False
    options.never_nl = True
    options.case_sensitive = not query.ignore_case
    pattern = query.pattern if query.regex else re2.escape(query.pattern)
    try:
        # Alone first: "x)(y" must not become an expression by what is put around it.
        re2.compile(pattern.encode(), options)
        compiled = re2.compile(f"(?m:{pattern})".encode(), options)
    except (re2.error, UnicodeError) as error:
        raise ArtifactSearchError(f"the search pattern is not a valid RE2 expression: {_detail(error)}") from error
    if compiled.programsize > _MAX_PROGRAM:
        raise ArtifactSearchError("the search pattern is too complex; use fewer or shorter repetitions")
    return compiled


def _detail(error: Exception) -> str:
    argument = error.args[0] if error.args else ""
    return argument.decode("utf-8", "replace") if isinstance(argument, bytes) else str(argument)
