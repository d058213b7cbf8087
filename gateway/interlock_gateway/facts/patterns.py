"""Patterns of file names, read so that they stand for at least what any shell or tool takes them for."""

import fnmatch
import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeAlias

from interlock_gateway.core.jsonvalue import JsonObject

SPECIAL = re.compile(r"[*?\[]")
_CLASS = re.compile(r"\[[^\[\]\\]+\]")
_NOTHING = r"\x{0}"
_BRACES = re.compile(r"\{([^{}]*)\}")
_EXPRESSION = r"^\(\?m\)\^\(\?:(?:[a-z0-9.*?:()|\[\]^]|\\x\{[0-9a-f]+\})*\)\$$"
EXPRESSIONS: dict[str, object] = {
    key: {"type": "string", "pattern": _EXPRESSION} for key in ("name", "begins", "ends", "directory")
}
"""The schemas of what `expressions` gives: regular expressions in words that all engines read alike."""
_ALTERNATIVES = 64
_NESTED = 40
"""How deep expressions nest; engines refuse some hundred."""


class _Wild(Enum):
    ONE = auto()
    MANY = auto()


_Part: TypeAlias = str | _Wild


@dataclass(frozen=True, slots=True)
class NamePattern:
    """A pattern of one name in a path. What was quoted in it counts as a pattern, too: it stands for more, not less."""

    text: str
    parts: tuple[_Part, ...]
    hidden: bool = False
    """Whether what is no dot may stand for one at the beginning of a name."""

    @property
    def special(self) -> bool:
        """Whether it is more than a name."""
        return any(isinstance(part, _Wild) for part in self.parts)

    @property
    def any_depth(self) -> bool:
        """Whether it is a `**`, which may stand for any number of directories."""
        return self.text == "**"

    @property
    def broad(self) -> bool:
        """Whether names may begin with anything: it aims at none."""
        return self.parts[:1] == (_Wild.MANY,)

    @property
    def whole(self) -> str:
        """The expression of all that it stands for, in lower case."""
        return "".join(self._expressions())

    def _expressions(self) -> list[str]:
        made = [*map(_expression, self.parts)]
        if made and not self.hidden and isinstance(self.parts[0], _Wild):
            made[0] = "[^.]" if self.parts[0] is _Wild.ONE else "(?:[^.].*)?"
        return made

    def matcher(self) -> re.Pattern[str]:
        """What finds its names in a directory, whatever their case, in linear time."""
        return re.compile(fnmatch.translate("".join(map(_written, self.parts))))

    def fits(self, name: str, matcher: re.Pattern[str]) -> bool:
        """Whether it may stand for a name."""
        dotted = self.hidden or not name.startswith(".") or self.parts[:1] == (".",)
        return dotted and bool(matcher.match(name.lower()))

    @property
    def begins(self) -> str:
        """The expression of what its names may begin with."""
        at, made = self._first(self.parts), self._expressions()
        inner = made[at] if at < len(made) and at == 0 else ".*" if at < len(made) else ""
        for expression in reversed(made[:at]):
            inner = f"(?:{expression}{inner})?"
        return inner

    @property
    def ends(self) -> str:
        """The expression of what its names may end with."""
        at, made = self._first(self.parts[::-1]), [*map(_expression, self.parts)][::-1]
        inner = ".*" if at < len(made) else ""
        for expression in reversed(made[:at]):
            inner = f"(?:{inner}{expression})?"
        return inner

    @staticmethod
    def _first(parts: tuple[_Part, ...]) -> int:
        """Where anything may stand."""
        known = (index for index, part in enumerate(parts) if part is _Wild.MANY or index == _NESTED)
        return next(known, len(parts))


def name_pattern(text: str, *, quoted: bool = False, hidden: bool = False) -> NamePattern:
    """The pattern of one name.

    `quoted` says that some of its characters may stand for themselves, `hidden` that names may begin with a dot that
    is not written.
    """
    parts: list[_Part] = []
    index, lowered = 0, text.lower()
    last = lowered.rfind("]")
    while index < len(lowered):
        char = lowered[index]
        found = _CLASS.match(lowered, index) if char == "[" and not quoted else None
        if found:
            parts.append(_Wild.ONE)
            index = found.end()
            continue
        if char == "[" and last > index:
            # Where a class ends is read differently; between its first and the last bracket anything may stand.
            parts.append(_Wild.MANY)
            index = last + 1
            continue
        parts.append({"*": _Wild.MANY, "?": _Wild.ONE}.get(char, char))
        index += 1
    again = [part is _Wild.MANY and before is _Wild.MANY for before, part in zip([None, *parts], parts, strict=False)]
    return NamePattern(text, tuple(part for part, double in zip(parts, again, strict=True) if not double), hidden)


def names_of(text: str, *, quoted: bool = False, hidden: bool = False) -> list[NamePattern]:
    """The patterns of a path, name by name."""
    return [name_pattern(part, quoted=quoted, hidden=hidden) for part in text.split("/") if part not in {"", "."}]


def alternatives(text: str) -> list[str] | None:
    """The patterns that one with `{a,b}` stands for; None when they are too many, or in one another."""
    made = [text]
    while any(found := [_BRACES.search(one) for one in made]):
        made = [
            one if match is None else f"{one[: match.start()]}{inner}{one[match.end() :]}"
            for one, match in zip(made, found, strict=True)
            for inner in ([""] if match is None else match[1].split(","))
        ]
        if len(made) > _ALTERNATIVES:
            return None
    return None if "{" in text and any("{" in one for one in made) else made


def expressions(names: list[NamePattern]) -> JsonObject:
    """What a policy compares names with, one a line: regular expressions for a pattern's last name and its directories.

    `name` matches the names that it may stand for, `begins` and `ends` what these may begin and end with, `directory`
    the names of those directories on the way that are patterns.
    """
    last = names[-1] if names else name_pattern("*")
    directories = sorted({name.whole for name in names if name.special})
    return {
        "name": _lines(last.whole),
        "begins": _lines(last.begins),
        "ends": _lines(last.ends),
        "directory": _lines("|".join(directories) or _NOTHING),
    }


def _lines(expression: str) -> str:
    return f"(?m)^(?:{expression})$"


def _expression(part: _Part) -> str:
    if isinstance(part, _Wild):
        return "." if part is _Wild.ONE else ".*"
    # What engines mean by an escaped character differs; a number means the same to all.
    return part if part.isascii() and part.isalnum() else "".join(f"\\x{{{ord(char):x}}}" for char in part)


def _written(part: _Part) -> str:
    if isinstance(part, _Wild):
        return "?" if part is _Wild.ONE else "*"
    return f"[{part}]" if part in "*?[" else part
