"""Patterns of paths, matched in time linear in pattern and path.

Ignore files come with whatever a working directory holds, and a regular expression made of `*a*a*a*a*b` takes minutes
for one long name while it holds the interpreter. Here each name is matched by a translation without backtracking
(the standard library's `fnmatch` makes atomic groups), and the names of a path by one pass with one way back.
"""

import fnmatch
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

MAX_ALTERNATIVES = 64
MAX_CHARACTERS = 500
MAX_BRACES = 10
ANY_DEPTH = "**"


class BadGlobError(ValueError):
    """A pattern that cannot be used, and why."""


@dataclass(frozen=True, slots=True)
class PathPattern:
    """A pattern for a path, name by name; None stands for `**`: any number of names, but at the end at least one."""

    names: tuple[re.Pattern[str] | None, ...]

    def matches(self, parts: Sequence[str]) -> bool:
        """Whether the whole path matches."""
        at = here = 0
        back: tuple[int, int] | None = None
        while here < len(parts):
            if at < len(self.names) and self.names[at] is None:
                if at == len(self.names) - 1:
                    return True
                back = (at + 1, here)
                at += 1
            elif at < len(self.names) and _fits(self.names[at], parts[here]):
                at, here = at + 1, here + 1
            elif back is not None:
                back = (back[0], back[1] + 1)
                at, here = back
            else:
                return False
        return at == len(self.names)

    def may_match_below(self, parts: Sequence[str]) -> bool:
        """Whether a path that begins with these directories can match."""
        for name, part in zip(self.names, parts, strict=False):
            if name is None:
                return True
            if not _fits(name, part):
                return False
        return len(parts) < len(self.names)


def _fits(name: re.Pattern[str] | None, part: str) -> bool:
    return name is not None and name.match(part) is not None


def path_pattern(text: str) -> PathPattern:
    r"""The pattern that a text with `*`, `?`, `[...]`, `\` and `**` between slashes means."""
    names = [one for one in text.split("/") if one]
    return PathPattern(tuple(None if name == ANY_DEPTH else re.compile(_translated(name)) for name in names))


@dataclass(frozen=True, slots=True)
class Glob:
    """What a person writes to find files: a path pattern with `{a,b}` alternatives."""

    alternatives: tuple[PathPattern, ...]

    def matches(self, parts: Sequence[str]) -> bool:
        """Whether one of the alternatives matches the whole path."""
        return any(one.matches(parts) for one in self.alternatives)

    def may_match_below(self, parts: Sequence[str]) -> bool:
        """Whether a path that begins with these directories can match."""
        return any(one.may_match_below(parts) for one in self.alternatives)


def glob(text: str) -> Glob:
    """The glob of a text.

    Raises BadGlobError when it is absolute, leads upwards, is too long, or has more than `MAX_ALTERNATIVES`
    alternatives.
    """
    if not text or len(text) > MAX_CHARACTERS:
        raise BadGlobError(f"the pattern has to have 1 to {MAX_CHARACTERS} characters")
    if text.startswith("/") or ".." in text.split("/"):
        raise BadGlobError("the pattern is relative to the directory searched: it has no / at the start and no ..")
    alternatives: list[str] = []
    for one in _alternatives(text):
        alternatives.append(one)
        if len(alternatives) > MAX_ALTERNATIVES:
            raise BadGlobError(f"the pattern has more than {MAX_ALTERNATIVES} alternatives")
    return Glob(tuple(map(path_pattern, alternatives)))


def _alternatives(text: str) -> Iterator[str]:
    group = _first_group(text)
    if group is None:
        yield text
        return
    start, end, commas = group
    edges = [start, *commas, end]
    for left, right in itertools.pairwise(edges):
        for inner in _alternatives(text[left + 1 : right]):
            for rest in _alternatives(text[end + 1 :]):
                yield text[:start] + inner + rest


def _first_group(text: str) -> tuple[int, int, list[int]] | None:
    """Where the first `{...}` with a comma begins and ends, and where its own commas are."""
    depth, start, commas, skip = 0, 0, list[int](), False
    for index, character in enumerate(text):
        if skip:
            skip = False
        elif character == "\\":
            skip = True
        elif character == "{":
            depth += 1
            if depth > MAX_BRACES:
                raise BadGlobError(f"the pattern has more than {MAX_BRACES} braces within each other")
            if depth == 1:
                start, commas = index, []
        elif character == "," and depth == 1:
            commas.append(index)
        elif character == "}" and depth:
            depth -= 1
            if not depth and commas:
                return start, index, commas
    return None


def _translated(name: str) -> str:
    """The regular expression of one name's pattern."""
    made: list[str] = []
    classes: list[str] = []
    index = 0
    while index < len(name):
        character = name[index]
        if character == "\\":
            made.append(_literally(name[index + 1 : index + 2] or "\\"))
            index += 2
            continue
        found = _class(name, index) if character == "[" else None
        if found is None:
            made.append(_literally(character) if character == "[" else character)
            index += 1
        else:
            made.append(chr(_FIRST_PLACE + len(classes)))
            classes.append(found[0])
            index = found[1]
    expression = fnmatch.translate("".join(made))
    for number, one in enumerate(classes):
        expression = expression.replace(chr(_FIRST_PLACE + number), one)
    return expression


_FIRST_PLACE = 0xD800
"""Half of a surrogate pair stands for a class while the rest is translated: no decoded name holds one."""


def _literally(character: str) -> str:
    return f"[{character}]" if character in "*?[" else character


def _class(name: str, start: int) -> tuple[str, int] | None:
    r"""The regular expression of the class that begins at `start`, and where it has ended; None when nothing closes it.

    As git has it: the first member may be `]`, a backslash takes the next character as it is, and a range whose end
    comes before its beginning has its beginning only.
    """
    index = start + 1
    negated = name[index : index + 1] in ("!", "^")
    index += negated
    members: list[str] = []
    first = True
    while first or name[index : index + 1] != "]":
        low, index = _member(name, index)
        high = low
        if name[index : index + 1] == "-" and name[index + 1 : index + 2] not in ("", "]"):
            high, index = _member(name, index + 1)
        if not high or index >= len(name):
            return None
        members.append(f"{re.escape(low)}-{re.escape(max(low, high))}")
        first = False
    return f"[{'^' if negated else ''}{''.join(members)}]", index + 1


def _member(name: str, index: int) -> tuple[str, int]:
    """One character of a class, and where the next begins; an empty one at the end."""
    index += name[index : index + 1] == "\\"
    return name[index : index + 1], index + 1
