"""Reads one shell word: quoting, escapes, and every script inside its expansions (bash manual, 3.1.2 and 3.5)."""

import re
from dataclasses import replace

from interlock_gateway.facts.shell.expansions import JOINED, NAME, ExpansionReader, Quoting
from interlock_gateway.facts.shell.reading import HOLE, PROCESS, ShellSyntaxError, Word

_QUOTED_VARIABLE = re.compile(r'"\$(?:(\w+)|\{(\w+)\})"', re.ASCII)
_PLAIN = re.compile(r"[^ \t\n\\'\"$`|&;()<>*?\[\]{}]+")
_ENDS = frozenset(" \t\n|&;)")
_ASSIGNMENT = re.compile(rf"({NAME}){JOINED}(?:\+{JOINED})?=")
_SUBSCRIPTED = re.compile(rf"({NAME}){JOINED}\[")
_ASSIGNS = re.compile(rf"{JOINED}(?:\+{JOINED})?=")
_SUBSCRIPT_PARTS = re.compile(r"(?P<opens>[A-Za-z0-9_]\[)|(?P<closes>\])|\$[({]|`")


class _Parts:
    """A word as it grows."""

    __slots__ = ("brace", "bracket", "glob", "opened", "pieces", "quoted", "separated")

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.quoted = self.glob = False
        self.bracket = self.opened = self.separated = self.brace = False

    def plain(self, chunk: str) -> None:
        """Add unquoted text that has no special character."""
        self.pieces.append(chunk)
        if self.opened and ("," in chunk or ".." in chunk):
            self.separated = True

    def pattern(self, char: str) -> None:
        """Add one unquoted character that file name or brace expansion may act on."""
        self.pieces.append(char)
        if char == "[":
            self.bracket = True
        elif char == "{":
            self.opened = True
        elif char == "}":
            self.brace = self.brace or self.separated
        else:
            self.glob = self.glob or char != "]" or self.bracket

    def text(self) -> str:
        """What has been read, quotes removed."""
        return "".join(self.pieces)


class WordReader(ExpansionReader):
    """Words on top of expansions; scripts inside them are read by the grammar above."""

    __slots__ = ()

    def word(self, *, assignable: bool = False) -> Word:
        """The word at the cursor, empty if there is none; with `assignable`, NAME=VALUE is an assignment.

        Raises ShellSyntaxError.
        """
        self.reading.budget.step()
        start, parts = self.pos, _Parts()
        name = self._assignment_name(parts) if assignable else None
        tilde = self.text.startswith("~", self.pos)
        while self._part(parts, name):
            self.reading.budget.step()
        source = self.text[start : self.pos]
        whole = _QUOTED_VARIABLE.fullmatch(source)
        if whole and (value := self.bound.get(whole[1] or whole[2])) and value.glob:
            return replace(value, source=source)
        if self.pending and "\n" in source:
            raise self.error("a line break inside a word, before the here-document of its line")
        return self._finished(parts, name, source, tilde=tilde)

    def _finished(self, parts: _Parts, name: str | None, source: str, *, tilde: bool) -> Word:
        text = parts.text()
        if parts.brace and name is None:
            self.reading.bash_only = True
            text = HOLE
        if parts.quoted and "[" in text and _substitutes_in_subscript(text):
            self.reading.hazards.add("nested_evaluation")
        return Word(text, source, parts.quoted, parts.glob and name is None, tilde, name)

    def _assignment_name(self, parts: _Parts) -> str | None:
        match = _ASSIGNMENT.match(self.text, self.pos)
        if match:
            self.pos = match.end()
            return _joined(match[1])
        match = _SUBSCRIPTED.match(self.text, self.pos)
        if not match:
            return None
        self.reading.bash_only = True
        self.pos = match.end()
        self.subscript()
        assigns = _ASSIGNS.match(self.text, self.pos)
        if not assigns:
            parts.pieces.append(HOLE)
            return None
        self.pos = assigns.end()
        return _joined(match[1])

    def _part(self, parts: _Parts, name: str | None) -> bool:
        """Read one part of the word; false at the word's end."""
        plain = _PLAIN.match(self.text, self.pos)
        if plain:
            parts.plain(plain[0])
            self.pos = plain.end()
        char = self.text[self.pos : self.pos + 1]
        if not char or char in _ENDS:
            return False
        if char in "*?[]{}":
            parts.pattern(char)
            self.pos += 1
        elif char in "'\"\\":
            self._quoting(char, parts)
        elif char == "$":
            parts.pieces.append(self.dollar(Quoting.BARE))
            parts.quoted = parts.quoted or self.text[self.pos - 1] in "'\""
        elif char == "`":
            self.backtick(Quoting.BARE)
            parts.pieces.append(HOLE)
        elif char == "(":
            self.reading.budget.deeper()
            found = self._array(parts, name)
            self.reading.budget.back()
            return found
        elif self.process_substitution():
            parts.pieces.append(PROCESS)
        else:
            return False
        return True

    def _quoting(self, char: str, parts: _Parts) -> None:
        if char == "'":
            parts.pieces.append(self.single_quoted())
        elif char == '"':
            parts.pieces.append(self.double_quoted())
        elif self.text.startswith("\\\n", self.pos):
            # A continuation is no quoting; it may join what brace expansion looks for.
            parts.separated = parts.separated or parts.opened
            self.pos += 2
            return
        else:
            parts.pieces.append(self.text[self.pos + 1 : self.pos + 2] or "\\")
            self.pos = min(self.pos + 2, len(self.text))
        parts.quoted = True

    def _array(self, parts: _Parts, name: str | None) -> bool:
        so_far = parts.text()
        declared = _ASSIGNMENT.fullmatch(so_far) is not None and not parts.quoted
        if not declared and (name is None or so_far):
            return False
        self.reading.bash_only = True
        self.pos += 1
        while True:
            self.blank_lines()
            self.reading.budget.step()
            if self.text.startswith(")", self.pos):
                self.pos += 1
                parts.pieces.append(HOLE)
                return True
            if self.text.startswith("[", self.pos):
                self.pos += 1
                self.subscript()
            elif not self.word().source:
                raise self.unexpected()

    def needed_word(self) -> Word:
        """The word at the cursor. Raises ShellSyntaxError when there is none."""
        word = self.word()
        if not word.source:
            raise self.unexpected()
        return word

    def unexpected(self) -> ShellSyntaxError:
        """The error for what is at the cursor."""
        found = self.text[self.pos : self.pos + 1]
        return self.error(f"{found!r} was not expected" if found else "the script ends too early")


def _joined(text: str) -> str:
    return text.replace("\\\n", "")


def _substitutes_in_subscript(text: str) -> bool:
    """Whether literal text has `name[...$(...)...]`, which arithmetic and some builtins would run."""
    inside = False
    for part in _SUBSCRIPT_PARTS.finditer(text):
        if inside and part.lastgroup is None:
            return True
        inside = part.lastgroup == "opens" or (inside and part.lastgroup != "closes")
    return False
