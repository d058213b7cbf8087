"""Rego as a row of tokens, as far as rules have the usual forms: enough to put the text of one where its name stands.

Nothing here knows all of Rego. What does not look as expected is not among the rules found.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

_TOKEN = re.compile(
    r"""(?P<text>"(?:\\.|[^"\\\n])*"|`[^`]*`)|(?P<comment>\#[^\n]*)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"""
    r"""|(?P<number>[0-9](?:[eE][+-]|[A-Za-z0-9_.])*)|(?P<line>\n)|(?P<space>[ \t\r]+)|(?P<sign>:=|==|!=|<=|>=|.)""",
    re.DOTALL,
)
_OPEN = {"(": ")", "[": "]", "{": "}"}
_CLOSE = frozenset(_OPEN.values())
_ENDS = frozenset({"\n", ";"})
SIGNS = frozenset({"==", "!=", "<", ">", "<=", ">=", "+", "-", "*", "/", "%", "|", "&", "in"})
"""What stands between the parts of an expression, or before it."""
# A line that ends with one of these, or begins with one, goes on.
_GOES_ON = SIGNS | {":=", "=", ",", ".", ":"}
_WORDS = frozenset({"as", "contains", "default", "else", "every", "false", "if", "import", "in", "not", "null"})
_WORDS |= {"data", "input", "package", "some", "true", "with", "_"}
# Words that something follows, and words that follow something.
_BETWEEN = frozenset(
    {"as", "contains", "default", "else", "every", "if", "import", "in", "not", "package", "some", "with"}
)
_BEHIND = frozenset({"as", "contains", "else", "if", "in", "with"})

Tokens = list[str]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of a usual form, at `start` to `end` of the source: it holds, has values, or adds a key to a set.

    `bodies` follow each other with `else`, each with what the rule is then, which is nothing where it is `true`; one
    that holds always has no statements. A set has one body.
    """

    name: str
    kind: Literal["true", "value", "set"]
    arguments: tuple[str, ...] | None
    key: Tokens
    values: tuple[Tokens, ...]
    bodies: tuple[Tokens, ...]
    start: int
    end: int

    @property
    def texts(self) -> tuple[Tokens, ...]:
        """Everything but its name and its arguments."""
        return (self.key, *self.values, *self.bodies)


@dataclass(frozen=True, slots=True)
class Definition:
    """What defines a name, at `start` to `end` of the source, or one part of it."""

    name: str
    tokens: Tokens
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Item:
    """One definition in a module; `rule` is `None` when it is of another form."""

    name: str
    tokens: Tokens
    rule: Rule | None


def items(source: str) -> list[Item]:
    """The definitions in a module, in order; `package` and imports are not among them."""
    return [Item(one.name, one.tokens, _rule(one.tokens, one.start, one.end)) for one in definitions(source)]


def definitions(source: str) -> list[Definition]:
    """The same, not looked into."""
    found = list(tokens_of(source))
    starts: list[int] = []
    level, before = 0, "\n"
    for place, (kind, text, _) in enumerate(found):
        if not level and before == "\n" and kind == "name" and text not in {"else", "package", "import"}:
            starts.append(place)
        level += (text in _OPEN) - (text in _CLOSE)
        before = text
    made: list[Definition] = []
    for first, after in pairwise([*starts, len(found)]):
        part = [(text, start) for kind, text, start in found[first:after] if kind != "space"]
        while part[-1][0] == "\n":
            part.pop()
        texts = [text for text, _ in part]
        name = texts[1] if texts[0] == "default" and len(texts) > 1 else texts[0]
        made.append(Definition(name, texts, part[0][1], part[-1][1] + len(part[-1][0])))
    return made


def is_regular(source: str) -> bool:
    """Whether it can be told where statements and definitions end.

    Statements are apart by lines or semicolons, and definitions begin their lines. The engine reads others, too.
    """
    level, before, is_apart = 0, "\n", True
    for kind, text, _ in tokens_of(source):
        if kind == "space":
            is_apart = is_apart and bool(level)
        elif text in _ENDS:
            is_apart = True
        else:
            level -= text in _CLOSE
            if _can_end(before) and _can_begin(text) and not is_apart:
                return False
            if not level and (before, text) == ("}", "{"):
                return False
            level += text in _OPEN
            before, is_apart = text, False
    return True


def matching(tokens: Sequence[str], opening: int) -> int | None:
    """Where the bracket closes that opens there."""
    expected: list[str] = []
    for place in range(opening, len(tokens)):
        one = tokens[place]
        if one in _OPEN:
            expected.append(_OPEN[one])
        elif one in _CLOSE:
            if expected.pop() != one:
                return None
            if not expected:
                return place
    return None


def levels(tokens: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Each token, and in how many brackets it stands; a bracket itself stands outside."""
    level = 0
    for one in tokens:
        level -= one in _CLOSE
        yield one, level
        level += one in _OPEN


def statements(tokens: Tokens) -> list[Tokens] | None:
    """The statements of a body, without what divides them; `None` when that is not certain."""
    made: list[Tokens] = []
    begun = 0
    for place, (one, level) in enumerate(levels(tokens)):
        if level < 0:
            return None
        if level or one not in _ENDS:
            continue
        if place == begun:
            begun = place + 1
        elif not _goes_on(tokens, begun, place):
            made.append(tokens[begun:place])
            begun = place + 1
    return [*made, tokens[begun:]] if begun < len(tokens) else made


def with_queries(part: Tokens, change: Callable[[Tokens], Tokens]) -> Tokens:
    """A statement with each query in its comprehensions as `change` makes it."""
    made: Tokens = []
    place = 0
    while place < len(part):
        closed = matching(part, place) if part[place] in {"{", "["} else None
        if closed is None:
            made.append(part[place])
            place += 1
            continue
        inner = part[place + 1 : closed]
        bar = next((at for at, found in enumerate(levels(inner)) if found == ("|", 0)), None)
        query = [] if bar is None else ["\n", *change(inner[bar + 1 :]), "\n"]
        made += [part[place], *(with_queries(inner, change) if bar is None else inner[: bar + 1]), *query, part[closed]]
        place = closed + 1
    return made


def joined(tokens: Iterable[str]) -> str:
    """The text of tokens."""
    made: list[str] = []
    before, is_sign = "\n", False
    for one in tokens:
        is_tight = "." in {before, one} or before == "\n" or (one in {"(", "["} and _is_followed(before))
        # A number below nothing is one word.
        is_tight = is_tight or (is_sign and one[0].isdigit())
        made.append(one if is_tight else f" {one}")
        before, is_sign = one, one == "-" and (before in SIGNS or not _can_end(before))
    return "".join(made)


def divided(tokens: Tokens) -> list[Tokens]:
    """What stands between commas."""
    made: list[Tokens] = [[]]
    for one, level in levels(tokens):
        if one == "," and not level:
            made.append([])
        elif one != "\n" or level:
            made[-1].append(one)
    return made


def is_reference(tokens: Sequence[str], place: int) -> bool:
    """Whether a name there is one by itself, and not what follows a dot."""
    return not place or tokens[place - 1] != "."


def is_name(token: str) -> bool:
    """Whether it is a name that policies can give."""
    return token.isidentifier() and token not in _WORDS


def _is_followed(token: str) -> bool:
    return is_name(token) or token in {"data", "input", ")", "]", "}"}


def _can_end(token: str) -> bool:
    return token[0] in '"`)]}' or token[0].isdigit() or (token.isidentifier() and token not in _BETWEEN)


def _can_begin(token: str) -> bool:
    return token[0] in '"`' or token[0].isdigit() or (token.isidentifier() and token not in _BEHIND)


def _goes_on(tokens: Tokens, begun: int, place: int) -> bool:
    while place > begun + 1 and tokens[place - 1] == "\n":
        place -= 1
    before = tokens[place - 1]
    while place < len(tokens) and tokens[place] in _ENDS:
        place += 1
    return before in _GOES_ON or (place < len(tokens) and tokens[place] in _GOES_ON)


def tokens_of(source: str) -> Iterator[tuple[str, str, int]]:
    """Tokens with their kinds and places; of spaces, those at the beginning of a line."""
    for match in _TOKEN.finditer(source):
        kind = str(match.lastgroup)
        if kind not in {"space", "comment"}:
            yield kind, match[0], match.start()
        elif match.start() == 0 or source[match.start() - 1] == "\n":
            yield "space", "", match.start()


def _rule(tokens: Tokens, start: int, end: int) -> Rule | None:
    if not is_name(tokens[0]) or len(tokens) == 1:
        return None
    place, key = 1, Tokens()
    arguments: tuple[str, ...] | None = None
    if tokens[1] == "(":
        closed = matching(tokens, 1) or 1
        arguments, place = tuple(tokens[2:closed:2]), closed + 1
        if set(tokens[3:closed:2]) - {","} or not all(one == "_" or is_name(one) for one in arguments):
            return None
    elif tokens[1] == "contains":
        place = next((at for at, (one, level) in enumerate(levels(tokens)) if one == "if" and not level), len(tokens))
        key = tokens[2:place]
    ways = _ways(tokens[place:])
    values, bodies = tuple(value for value, _ in ways), tuple(body for _, body in ways)
    if not ways or (key and (len(ways) > 1 or values[0])) or (not any(values) and not all(bodies)):
        return None
    kind: Literal["true", "value", "set"] = "set" if key else "value" if any(values) else "true"
    return Rule(tokens[0], kind, arguments, key, values, bodies, start, end)


def _ways(tokens: Tokens) -> list[tuple[Tokens, Tokens]]:
    """What stands behind `:=` and behind `if`, and behind each `else`; nothing when it is anything else."""
    found = [at for at, (one, level) in enumerate(levels(tokens)) if one == "else" and not level]
    made: list[tuple[Tokens, Tokens]] = []
    for first, after in pairwise([-1, *found, len(tokens)]):
        way = _stripped(tokens[first + 1 : after])
        at = next((at for at, (one, level) in enumerate(levels(way)) if one == "if" and not level), len(way))
        value, body = _stripped(way[:at]), _stripped(way[at + 1 :])
        closed = matching(body, 0) if body[:1] == ["{"] else None
        is_block = closed is not None and closed == len(body) - 1
        if (value and value[0] != ":=") or not (value or body) or (not is_block and {"\n", ";"} & set(body)):
            return []
        made.append((value[1:], body[1:-1] if is_block else body))
    return made


def _stripped(tokens: Tokens) -> Tokens:
    begun, end = 0, len(tokens)
    while begun < end and tokens[begun] == "\n":
        begun += 1
    while end > begun and tokens[end - 1] == "\n":
        end -= 1
    return tokens[begun:end]
