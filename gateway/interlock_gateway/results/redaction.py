"""Redaction: secrets by detector, fields by policy, in text and in structured data alike (RES-6).

A clean text costs one pass of one automaton over it: every detector's anchor is in one RE2 set, and only the detectors
whose anchor is there look at the text again. RE2 is linear in the length of the text and runs without the
interpreter's lock.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import re2

from interlock_gateway.core.jsonvalue import JsonValue
from interlock_gateway.results.detectors import DETECTORS, NAME_IS_SECRET, NAME_MAY_BE_SECRET, Detector
from interlock_gateway.results.screening import assigned_secret, assigned_token

POLICY = "policy"
# Escapes of plain characters, behind which a secret would not be recognised in JSON text.
HIDING_ESCAPE = re.compile(rb"\\u00(?:0[9aAcCdD]|[2-7])|\\/")
TOO_MANY = "too-many"
TOO_DEEP = "too-deep"
MAX_DEPTH = 200
# A text or value with more of what might be secrets is not shown at all: judging each takes a few microseconds.
MAX_MATCHES = 50_000
_NO_COUNTS: Mapping[str, int] = {}


def mark(kind: str) -> str:
    """What stands where a secret of `kind` was."""
    return f"[redacted:{kind}]"


@dataclass(frozen=True, slots=True)
class RedactedText:
    """A text without its secrets, and how many of each kind there were."""

    text: str
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class RedactedValue:
    """A JSON value without its secrets, how many of each kind there were, and the JSON pointers where they were."""

    value: JsonValue
    counts: Mapping[str, int]
    pointers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Span:
    start: int
    end: int
    rank: int


class Redactor:
    """Finds secrets and puts marks in their place. Immutable once built; safe to use from any thread."""

    def __init__(self, detectors: tuple[Detector, ...] = DETECTORS) -> None:
        options = re2.Options()
        options.encoding = re2.Options.Encoding.LATIN1
        options.log_errors = False
        self._detectors = detectors
        self._patterns = tuple(re2.compile(detector.pattern, options) for detector in detectors)
        options.never_capture = True
        self._anchors = re2.Set.SearchSet(options)
        for detector in detectors:
            self._anchors.Add(detector.anchor)
        self._anchors.Compile()

    def may_hold_secret(self, encoded: bytes) -> bool:
        """Whether a second look is needed. False means: no detector matches anywhere in this UTF-8 text.

        For JSON text it covers the strings inside too, when no plain character in it is escaped.
        """
        return self._anchors.Match(encoded) is not None

    def may_hold_secret_in_json(self, encoded: bytes) -> bool:
        """The same for JSON text that others wrote, who may have escaped anything."""
        return self.may_hold_secret(encoded) or (b"\\" in encoded and HIDING_ESCAPE.search(encoded) is not None)

    def redact_text(self, text: str) -> RedactedText:
        """The text with each secret replaced by `[redacted:<kind>]`; the same object when it has none."""
        encoded = text.encode("utf-8", "surrogatepass")
        candidates = self._anchors.Match(encoded)
        if candidates is None:
            return RedactedText(text, _NO_COUNTS)
        spans = self._spans(candidates, encoded)
        if spans is None:
            return RedactedText(mark(TOO_MANY), {TOO_MANY: 1})
        if not spans:
            return RedactedText(text, _NO_COUNTS)
        pieces: list[bytes] = []
        counts: Counter[str] = Counter()
        at = 0
        for span in spans:
            kind = self._detectors[span.rank].kind
            counts[kind] += 1
            pieces += (encoded[at : span.start], mark(kind).encode())
            at = span.end
        pieces.append(encoded[at:])
        return RedactedText(b"".join(pieces).decode("utf-8", "surrogatepass"), dict(counts))

    def redact_value(self, value: JsonValue) -> RedactedValue:
        """The value with each secret replaced: in its strings, its keys, and under names that say what they hold."""
        walk = _Walk(self)
        clean = walk.value(value, "", 0)
        return RedactedValue(clean, dict(walk.counts), tuple(walk.pointers))

    def _spans(self, candidates: list[int], encoded: bytes) -> list[_Span] | None:
        """Where the secrets are, in order; `None` when there are too many matches to judge."""
        found: list[_Span] = []
        left = MAX_MATCHES
        for rank in candidates:
            for match in self._patterns[rank].finditer(encoded):
                left -= 1
                if left < 0:
                    return None
                span = self._judged(rank, encoded, match)
                if span is not None:
                    found.append(span)
        return _merged(sorted(found, key=lambda span: (span.start, span.rank)), encoded)

    def _judged(self, rank: int, encoded: bytes, match: "re2._Match") -> _Span | None:
        detector = self._detectors[rank]
        start, end = _secret_bounds(match, self._patterns[rank].groups)
        name = (match.group(1) or b"") if detector.named else b""
        if detector.screen is not None and not detector.screen(encoded, name, start, end):
            return None
        return _Span(start, detector.extend(encoded, start, end) if detector.extend is not None else end, rank)


def _secret_bounds(match: "re2._Match", groups: int) -> tuple[int, int]:
    for group in range(groups, 0, -1):
        start, end = match.span(group)
        if start >= 0:
            return start, end
    bounds: tuple[int, int] = match.span()
    return bounds


def _merged(spans: list[_Span], encoded: bytes) -> list[_Span]:
    """Spans that overlap become one, of the most specific kind; ends fall between characters."""
    merged: list[_Span] = []
    for span in spans:
        if merged and span.start < merged[-1].end:
            last = merged[-1]
            merged[-1] = _Span(last.start, max(last.end, span.end), min(last.rank, span.rank))
        else:
            merged.append(span)
    return [_Span(_back(encoded, it.start), _forward(encoded, it.end), it.rank) for it in merged]


def _forward(encoded: bytes, at: int) -> int:
    while at < len(encoded) and encoded[at] & 0xC0 == 0x80:  # noqa: PLR2004 - a UTF-8 continuation byte
        at += 1
    return at


def _back(encoded: bytes, at: int) -> int:
    while at > 0 and at < len(encoded) and encoded[at] & 0xC0 == 0x80:  # noqa: PLR2004 - a UTF-8 continuation byte
        at -= 1
    return at


@lru_cache(maxsize=4096)
def _kind_of_name(name: str) -> str:
    """`password` for a member name that says outright that it holds a secret, `secret` for one that may, else empty."""
    if NAME_IS_SECRET.fullmatch(name):
        return "password"
    return "secret" if NAME_MAY_BE_SECRET.fullmatch(name) else ""


@dataclass(slots=True)
class _Walk:
    """One pass over a JSON value. Unchanged parts are passed on, not copied."""

    redactor: Redactor
    counts: Counter[str] = field(default_factory=Counter)
    pointers: list[str] = field(default_factory=list)

    def value(self, value: JsonValue, pointer: str, depth: int) -> JsonValue:
        if isinstance(value, str):
            return self._string(value, pointer)
        if isinstance(value, dict | list) and depth >= MAX_DEPTH:
            return self._replaced(TOO_DEEP, pointer)
        if isinstance(value, dict):
            return self._object(value, pointer, depth)
        if isinstance(value, list):
            items = [self.value(item, f"{pointer}/{index}", depth + 1) for index, item in enumerate(value)]
            return value if all(new is old for new, old in zip(items, value, strict=True)) else items
        return value

    def _object(self, value: dict[str, JsonValue], pointer: str, depth: int) -> JsonValue:
        members: dict[str, JsonValue] = {}
        changed = False
        for name, item in value.items():
            at = f"{pointer}/{_escaped(name)}"
            new_name = self._string(name, at)
            kind = _kind_of_name(name)
            new = self._named(kind, name, item, at) if kind else item
            new = self.value(new, at, depth + 1) if new is item else new
            changed = changed or new is not item or new_name is not name
            members[new_name] = new
        return members if changed else value

    def _named(self, kind: str, name: str, item: JsonValue, pointer: str) -> JsonValue:
        if isinstance(item, list) and item and all(isinstance(part, str) for part in item):
            return [self._named(kind, name, part, f"{pointer}/{index}") for index, part in enumerate(item)]
        if isinstance(item, bool) or not isinstance(item, str | int | float):
            return item
        encoded = str(item).encode("utf-8", "surrogatepass")
        screen = assigned_secret if kind == "password" else assigned_token
        if screen(encoded, name.encode("utf-8", "surrogatepass"), 0, len(encoded)):
            return self._replaced(kind, pointer)
        return item

    def _string(self, text: str, pointer: str) -> str:
        if len(self.pointers) >= MAX_MATCHES:
            return self._replaced(TOO_MANY, pointer)
        redacted = self.redactor.redact_text(text)
        if redacted.counts:
            self.counts.update(redacted.counts)
            self.pointers.append(pointer)
        return redacted.text

    def _replaced(self, kind: str, pointer: str) -> str:
        self.counts[kind] += 1
        self.pointers.append(pointer)
        return mark(kind)


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
