r"""Regular expressions that mean the same to ripgrep and to Python.

An expression is read by Python's parser and written again for each of the two from what was read, in the syntax that
both share, so that no difference of dialect is left: classes and letter case are spelled out, `\w`, `\d`, `\s` and
`\b` mean ASCII, `.` and a negated class match one valid UTF-8 character and nothing of a line end, `$` also matches
before a carriage return. What only one of the two can do (look-around, back-references) is refused.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

_parser: Any = re._parser  # type: ignore[attr-defined]  # noqa: SLF001 -- the only reader of the syntax that there is
_c: Any = re._constants  # type: ignore[attr-defined]  # noqa: SLF001 -- what that reader answers with

MAX_CHARACTERS = 2000
MAX_REPEAT = 1000

Range: TypeAlias = tuple[int, int]
_NEWLINE = 0x0A
_RETURN = 0x0D
_LAST = 0x10FFFF
_SURROGATES = (0xD800, 0xDFFF)


class Dialect(Enum):
    """Who is to read the expression."""

    PYTHON = "python"
    RIPGREP = "ripgrep"


class BadExpressionError(ValueError):
    """An expression that cannot be used, and why."""


@dataclass(frozen=True, slots=True)
class Expression:
    """One expression, written for each dialect. It matches within a line."""

    python: str
    ripgrep: str


def expression(text: str, *, literal: bool = False, ignore_case: bool = False) -> Expression:
    """Read an expression, or a text to be found literally.

    Raises BadExpressionError with a sentence.
    """
    if not text or len(text) > MAX_CHARACTERS:
        raise BadExpressionError(f"the pattern has to have 1 to {MAX_CHARACTERS} characters")
    tree = _parsed(re.escape(text) if literal else text)
    flags = (tree.state.flags | (re.IGNORECASE if ignore_case else 0)) & ~re.UNICODE
    return Expression(*(_Writer(dialect).sequence(tree, flags) for dialect in Dialect))


def _parsed(text: str) -> Any:
    _refuse_set_operations(text)
    try:
        return _parser.parse(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise BadExpressionError(f"the pattern is not a regular expression: {error}") from None


def _refuse_set_operations(text: str) -> None:
    """Refuse what means a set operation to some, and characters to others (of which Python warns)."""
    inside = skip = False
    for index, character in enumerate(text):
        if skip:
            skip = False
        elif character == "\\":
            skip = True
        elif not inside:
            inside = character == "["
            first = index + (2 if text[index + 1 : index + 2] == "^" else 1)
        elif character == "]" and index > first:
            inside = False
        elif (character == "[" and (index <= first or text[index + 1 : index + 2] in (":", ".", "="))) or (
            index > first and text[index - 1 : index + 1] in ("--", "&&", "~~", "||")
        ):
            raise BadExpressionError("sets within sets, [:names:] and set operations are not supported; escape with \\")


_CATEGORIES: dict[Any, tuple[tuple[Range, ...], bool]] = {
    _c.CATEGORY_DIGIT: (((0x30, 0x39),), False),
    _c.CATEGORY_NOT_DIGIT: (((0x30, 0x39),), True),
    _c.CATEGORY_SPACE: (((0x09, 0x0D), (0x20, 0x20)), False),
    _c.CATEGORY_NOT_SPACE: (((0x09, 0x0D), (0x20, 0x20)), True),
    _c.CATEGORY_WORD: (((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)), False),
    _c.CATEGORY_NOT_WORD: (((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)), True),
}


@dataclass(frozen=True, slots=True)
class _Writer:
    dialect: Dialect

    def sequence(self, tree: Iterable[tuple[Any, Any]], flags: int) -> str:
        return "".join(self.item(kind, value, flags) for kind, value in tree)

    def item(self, kind: Any, value: Any, flags: int) -> str:
        write = _WRITERS.get(kind)
        if write is None:
            raise BadExpressionError(_REFUSED.get(kind, f"{str(kind).lower()} is not supported in a pattern"))
        written: str = write(self, value, flags)
        return written

    def literal(self, value: int, flags: int) -> str:
        return self.ranges(_cased([(value, value)], flags))

    def not_literal(self, value: int, flags: int) -> str:
        return self.ranges(_without(_cased([(value, value)], flags)))

    def any(self, _value: None, _flags: int) -> str:
        return self.ranges(_without([]))

    def any_of(self, value: Any, flags: int) -> str:
        negated = value[0][0] is _c.NEGATE
        found = list(_members(value[1:] if negated else value, flags))
        return self.ranges(_without(found) if negated else found)

    def at(self, value: Any, _flags: int) -> str:
        if value not in _PLACES:
            raise BadExpressionError("\\A and \\Z are not supported; use ^ and $")
        return _PLACES[value][self.dialect]

    def branch(self, value: Any, flags: int) -> str:
        return f"(?:{'|'.join(self.sequence(one, flags) for one in value[1])})"

    def group(self, value: Any, flags: int) -> str:
        _, added, removed, inner = value
        return f"(?:{self.sequence(inner, (flags | added) & ~removed)})"

    def repeat(self, value: Any, flags: int) -> str:
        least, most, inner = value
        if least > MAX_REPEAT or (most is not _c.MAXREPEAT and most > MAX_REPEAT):
            raise BadExpressionError(f"the pattern repeats something more than {MAX_REPEAT} times")
        upper = "" if most is _c.MAXREPEAT else str(most)
        return f"(?:{self.sequence(inner, flags)}){{{least},{upper}}}"

    def ranges(self, found: Iterable[Range]) -> str:
        """A class of code points, a line end and surrogates (which stand for invalid bytes) never among them.

        An empty class cannot be written in both dialects: a place that is a boundary and none is nowhere, too.
        """
        kept = list(_minus(_minus(_merged(found), (_NEWLINE, _NEWLINE)), _SURROGATES))
        if not kept:
            return "".join(_PLACES[never][self.dialect] for never in (_c.AT_BOUNDARY, _c.AT_NON_BOUNDARY))
        if len(kept) == 1 and kept[0][0] == kept[0][1]:
            return _point(kept[0][0])
        return f"[{''.join(_point(first) + '-' + _point(last) for first, last in kept)}]"


def _point(code: int) -> str:
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 -- what four digits hold


def _merged(found: Iterable[Range]) -> Iterator[Range]:
    last: Range | None = None
    for first, end in sorted(found):
        if last is not None and first <= last[1] + 1:
            last = (last[0], max(last[1], end))
            continue
        if last is not None:
            yield last
        last = (first, end)
    if last is not None:
        yield last


def _minus(found: Iterable[Range], taken: Range) -> Iterator[Range]:
    for first, last in found:
        if first < taken[0]:
            yield first, min(last, taken[0] - 1)
        if last > taken[1]:
            yield max(first, taken[1] + 1), last


def _without(found: Iterable[Range]) -> Iterator[Range]:
    """Everything else; a carriage return is half of a line end, and no part of it either."""
    rest: Iterable[Range] = [(0, _LAST)]
    for one in [*found, (_RETURN, _RETURN)]:
        rest = list(_minus(rest, one))
    return iter(list(rest))


def _members(value: Any, flags: int) -> Iterator[Range]:
    for kind, one in value:
        if kind is _c.LITERAL:
            yield from _cased([(one, one)], flags)
        elif kind is _c.RANGE:
            yield from _cased([one], flags)
        elif kind is _c.CATEGORY:
            found, negated = _CATEGORIES[one]
            yield from _without(found) if negated else iter(found)


def _cased(found: Iterable[Range], flags: int) -> Iterator[Range]:
    """The ranges, with the other case of each letter when case is ignored; of long ranges of ASCII letters only."""
    for first, last in found:
        yield first, last
        if flags & re.IGNORECASE:
            letters = range(first, last + 1) if last - first < _SHORT else range(max(first, 0x41), min(last, 0x7A) + 1)
            for code in letters:
                for other in (chr(code).lower(), chr(code).upper()):
                    if len(other) == 1 and ord(other) != code:
                        yield ord(other), ord(other)


_SHORT = 512

_PLACES: dict[Any, dict[Dialect, str]] = {
    _c.AT_BEGINNING: dict.fromkeys(Dialect, "^"),
    _c.AT_END: dict.fromkeys(Dialect, r"(?:\x0d?$)"),
    _c.AT_BOUNDARY: {Dialect.PYTHON: r"\b", Dialect.RIPGREP: r"(?-u:\b)"},
    _c.AT_NON_BOUNDARY: {Dialect.PYTHON: r"\B", Dialect.RIPGREP: r"(?-u:\B)"},
}

_WRITERS: dict[Any, Any] = {
    _c.LITERAL: _Writer.literal,
    _c.NOT_LITERAL: _Writer.not_literal,
    _c.ANY: _Writer.any,
    _c.IN: _Writer.any_of,
    _c.AT: _Writer.at,
    _c.BRANCH: _Writer.branch,
    _c.SUBPATTERN: _Writer.group,
    _c.MAX_REPEAT: _Writer.repeat,
    _c.MIN_REPEAT: _Writer.repeat,
}

_REFUSED: dict[Any, str] = {
    _c.ASSERT: "look-ahead and look-behind are not supported in a pattern",
    _c.ASSERT_NOT: "look-ahead and look-behind are not supported in a pattern",
    _c.GROUPREF: "back-references are not supported in a pattern",
    _c.GROUPREF_EXISTS: "conditional groups are not supported in a pattern",
    _c.ATOMIC_GROUP: "atomic groups and possessive repeats are not supported in a pattern",
    _c.POSSESSIVE_REPEAT: "atomic groups and possessive repeats are not supported in a pattern",
}
