"""Cuts SQL into tokens as one database does, and writes it down again so that every reader cuts it the same."""

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from interlock_gateway.facts.sql.tongues import Tongue

MAX_CHARS = 64 * 1024
MAX_TOKENS = 8_000
MAX_NESTING = 48
_NUMBER = r"0[xX][0-9A-Fa-f]+|(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_NAME_START = "A-Za-z_\u00aa-\uffdc\U00010000-\U000effff"
_PLAIN_STRING = re.compile(r"[A-Za-z0-9 %_.:,/+-]{0,64}\Z")
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_CONDITION = re.compile(r"/\*M?!(?:[0-9]{5,6})?")
_INVISIBLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u00a0\u00ad\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]"
)
_NEVER = r"(?!)"
_OPENS, _CLOSES = frozenset("(["), frozenset(")]")


class Kind(Enum):
    """What a token is. A `QUOTED` one is a name in quotes."""

    WORD = auto()
    QUOTED = auto()
    STRING = auto()
    NUMBER = auto()
    SIGN = auto()


@dataclass(frozen=True, slots=True)
class Token:
    """One token: a word in upper case, what stands in quotes, a number, or one sign. `spaced`: after a blank.

    `source` is how it was written, of what is not quoted.
    """

    kind: Kind
    text: str
    spaced: bool
    source: str = ""


class UnreadableError(Exception):
    """The text cannot be cut up with certainty; the message says why."""


class OtherTongueError(UnreadableError):
    """From some place on the text is certain to be refused by this database. `before` are the tokens up to there."""

    def __init__(self, message: str, before: Sequence[Token] = ()) -> None:
        super().__init__(message)
        self.before = before


def tokens(text: str, tongue: Tongue) -> list[Token]:
    """Cut `text` up as `tongue` does. Raises UnreadableError."""
    reader = _Reader(text, tongue)
    try:
        return reader.read()
    except OtherTongueError as error:
        raise OtherTongueError(str(error), reader.found) from None


class _Reader:
    def __init__(self, text: str, tongue: Tongue) -> None:
        self.text = text
        self.tongue = tongue
        self.pos = 0
        self.spaced = False
        self.conditions = 0
        self.depth = 0
        self.found: list[Token] = []

    def read(self) -> list[Token]:
        if "\0" in self.text or "\r" in self.text:
            # One ends the text there, another the line, a third neither.
            raise UnreadableError("a NUL, or a carriage return that ends no line")
        pattern = _pattern(self.tongue)
        while self.pos < len(self.text):
            match = pattern.match(self.text, self.pos)
            assert match is not None
            self._take(match.lastgroup or "", match[0])
            if len(self.found) > MAX_TOKENS:
                raise UnreadableError(f"more than {MAX_TOKENS} words and signs")
        if self.conditions:
            raise UnreadableError("a comment that is not closed")
        return self.found

    def _take(self, kind: str, text: str) -> None:
        if kind == "comment":
            if text == "/*" or self.conditions:
                self._comment()
                return
            kind, text = "sign", "*"
        self.pos += len(text)
        if kind in {"blank", "line"}:
            self.spaced = True
            return
        if kind == "dollar":
            text = self._dollar_quoted(text)
        elif kind == "sign":
            self._sign(text)
        self._add(kind, text)

    def _sign(self, text: str) -> None:
        if text in "'\"`\\" or (text == "[" and not self.tongue.subscripts):
            # SQL Server takes a lone backslash for a sum of money.
            kind = UnreadableError if text == "\\" and self.tongue.brackets else OtherTongueError
            raise kind(f"{text} that is not closed, or does not belong there")
        if _INVISIBLE.match(text):
            raise UnreadableError("a character that nobody sees")
        self.depth += (text in _OPENS) - (text in _CLOSES)
        if self.depth > MAX_NESTING:
            raise UnreadableError(f"nested more than {MAX_NESTING} deep")

    def _add(self, kind: str, text: str) -> None:
        last = self.found[-1] if self.found else None
        if kind == "word" and not text.isascii() and _INVISIBLE.search(text):
            raise UnreadableError("a character that nobody sees")
        if kind == "word" and last and last.kind is Kind.NUMBER and not self.spaced:
            raise UnreadableError("a number that runs into a word")
        if kind == "name" and self.tongue.escape_strings and not self.spaced and self._escapes():
            raise UnreadableError("a name that is written in escapes")
        self.found.append(_token(kind, text, spaced=self.spaced))
        self.spaced = False

    def _escapes(self) -> bool:
        """Whether `U&` stands right before the cursor: the name behind it is another than the one that is seen."""
        before = [(token.text, token.spaced) for token in self.found[-2:]]
        return len(before) == 2 and before[0][0] == "U" and before[1] == ("&", False)  # noqa: PLR2004 - of two

    def _comment(self) -> None:
        """Move past a block comment, or into one whose content this database runs."""
        if self.text.startswith("*/", self.pos):
            self.conditions -= 1
            self.pos, self.spaced = self.pos + 2, True
            return
        condition = _CONDITION.match(self.text, self.pos) if self.tongue.conditional else None
        if condition:
            self.conditions += 1
            self.pos, self.spaced = condition.end(), True
            return
        depth, end = self._comment_end()
        if depth:
            if not self.tongue.open_comment:
                raise OtherTongueError("a comment that is not closed")
            end = len(self.text)
        self.pos, self.spaced = end, True

    def _comment_end(self) -> tuple[int, int]:
        """How deep the comment at the cursor is still open where it ends, and where that is."""
        if not self.tongue.nested:
            close = self.text.find("*/", self.pos + 2)
            return (1, -1) if close < 0 else (0, close + 2)
        depth = 0
        for edge in _COMMENT_EDGE.finditer(self.text, self.pos):
            depth += 1 if edge[0] == "/*" else -1
            if not depth:
                return 0, edge.end()
        return depth, -1

    def _dollar_quoted(self, tag: str) -> str:
        """What stands between the `$tag$` before the cursor and the next one."""
        end = self.text.find(tag, self.pos)
        if end < 0:
            raise OtherTongueError(f"{tag} that is not closed")
        inside = self.text[self.pos : end]
        self.pos = end + len(tag)
        return inside


@functools.cache
def _pattern(tongue: Tongue) -> re.Pattern[str]:
    escaped = r"'[^'\\]*(?:(?:\\.|'')[^'\\]*)*'"
    plain = r"'[^']*(?:''[^']*)*'"
    doubled = r'"[^"\\]*(?:(?:\\.|"")[^"\\]*)*"' if tongue.backslash else r'"[^"]*(?:""[^"]*)*"'
    strings = [r"(?:[nN]|[bB]|[xX]|[uU]&)?" + (escaped if tongue.backslash else plain)]
    strings = [rf"[eE]{escaped}", *strings] if tongue.escape_strings else strings
    names = [r"`[^`]*(?:``[^`]*)*`"] if tongue.backtick else []
    names += [r"\[[^\]]*(?:\]\][^\]]*)*\]"] if tongue.brackets else []
    (strings if tongue.double else names).append(doubled)
    line = r"--(?:(?=[ \t\n])[^\n]*|\Z)" if tongue.dash_blank else r"--[^\n]*"
    parts = {
        "blank": r"[ \t\n]+",
        "line": "|".join([line, *([r"\#[^\n]*"] if tongue.hash_comment else [])]),
        "comment": r"/\*|\*/",
        "string": "|".join(strings),
        "name": "|".join(names),
        "dollar": r"\$(?:[A-Za-z_\u0080-\uffff]\w*)?\$" if tongue.dollar else _NEVER,
        "number": _NUMBER,
        "word": rf"{tongue.sigils}[{_NAME_START}][\w{tongue.inside}]*",
        "null": r"\\N\b" if tongue.backslash else _NEVER,
        "sign": r".",
    }
    return re.compile("|".join(f"(?P<{name}>{part})" for name, part in parts.items()), re.DOTALL)


def _token(kind: str, text: str, *, spaced: bool) -> Token:
    if kind in {"dollar", "string"}:
        return Token(Kind.STRING, _inside(text) if kind == "string" else text, spaced)
    if kind == "name":
        return Token(Kind.QUOTED, text[1:-1], spaced)
    if kind == "number":
        return Token(Kind.NUMBER, text, spaced, text)
    if kind == "null":
        return Token(Kind.WORD, "NULL", spaced, text)
    if kind == "word":
        return Token(Kind.WORD, text.upper(), spaced, text)
    return Token(Kind.SIGN, text, spaced, text)


def _inside(text: str) -> str:
    return text[text.index(text[-1]) + 1 : -1]


def plainly(found: Sequence[Token], tongue: Tongue) -> str:
    """The tokens as text without comments, with quotes that no reader can take for anything else."""
    shown: dict[str, str] = {}
    pieces: list[str] = []
    for before, token in zip((None, *found), found, strict=False):
        # Signs that are a comment to sqlglot only are kept apart: `--1` in MySQL, `{#` in templates.
        apart = bool(pieces) and (pieces[-1] == "{" or f"{pieces[-1]}{token.text}" in {"--", "/*"})
        # So are quotes: `[a][b]` is two names, and a doubled quote is one with a quote in it.
        apart |= before is not None and token.kind is before.kind and token.kind in {Kind.STRING, Kind.QUOTED}
        pieces.append(" " if token.spaced or apart else "")
        if token.kind is Kind.STRING:
            plain = (
                token.text if _PLAIN_STRING.match(token.text) else shown.setdefault(token.text, f"text-{len(shown)}")
            )
            pieces.append(f"'{plain}'")
        elif token.kind is Kind.QUOTED:
            pieces.append(_quoted(token.text, tongue))
        else:
            pieces.append(token.text)
    return "".join(pieces)


def _quoted(name: str, tongue: Tongue) -> str:
    kept = re.sub(r"[^\w $.-]", "_", name) or "_"
    return f"`{kept}`" if tongue.double else f'"{kept}"'
