"""Reads compound commands: groups, conditionals, loops, tests, functions (bash manual, 3.2.5 and 3.3)."""

import re
from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar

from interlock_gateway.facts.shell import loops
from interlock_gateway.facts.shell.expansions import JOINED
from interlock_gateway.facts.shell.reading import HOLE, MAX_DEPTH, LimitExceededError, Scope, Word
from interlock_gateway.facts.shell.redirections import RedirectionReader

WORD_END = rf"(?={JOINED}(?:[ \t\n;&|()<>]|\Z))"
RESERVED = (
    *("if", "then", "elif", "else", "fi", "for", "select", "while", "until", "do", "done"),
    *("case", "esac", "function", "coproc", "time", "!", "{", "}", "[[", "in"),
)
_KEYWORD = re.compile(f"(?:{'|'.join(map(re.escape, RESERVED))}){WORD_END}")
_BROKEN_KEYWORD = re.compile(f"(?:{'|'.join(JOINED.join(map(re.escape, word)) for word in RESERVED)}){WORD_END}")
CASE_END = re.compile(rf";{JOINED};{JOINED}&|;{JOINED};|;{JOINED}&")
_DOUBLE_PAREN = re.compile(rf"\({JOINED}\(")
_NOT_ARITHMETIC = re.compile(r"[\w)\]}]\s+[\w.$~]|(?<![-+])[-+]\s*$|[*/%<>=&|^~?:,]\s*$")
_COMPARES = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_LOOKS_UP = frozenset({"-v", "-R"})
_VARIABLE = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_NUMBER = re.compile(r"-?[0-9]+")
# Expansions that are numbers whatever happens.
_NUMBERS = re.compile(r"\$[?#$]|\$\{#[A-Za-z_]\w*\}|\$\{(?:PIPESTATUS|BASH_VERSINFO)\[[0-9]\]\}", re.ASCII)
_LONGEST = max(map(len, RESERVED))
_TEST_BLANKS = re.compile(r"(?:[ \t\n]|\\\n)+")


class CompoundReader(RedirectionReader):
    """Compound commands on top of redirections. Methods may raise ShellSyntaxError."""

    __slots__ = ()

    @abstractmethod
    def commands_until(self, closers: frozenset[str]) -> None:
        """Read commands up to one of the reserved words `closers`, a `)`, a `;;` or the end, and stop before it."""

    def deeper(self, *, repeated: bool = False, stdin: str | None = None) -> Scope:
        """A scope inside the current one. Raises LimitExceededError when there are too many."""
        scope = self.scope
        if scope.depth >= MAX_DEPTH:
            raise LimitExceededError(f"the script is nested more than {MAX_DEPTH} deep")
        return Scope(scope, None, 0, scope.depth + 1, scope.repeated or repeated, stdin)

    def keyword(self) -> str | None:
        """The reserved word at the cursor, or None."""
        match = _KEYWORD.match(self.text, self.pos) or self._broken_keyword()
        return match[0].replace("\\\n", "") if match else None

    def _broken_keyword(self) -> re.Match[str] | None:
        broken = "\\\n" in self.text[self.pos : self.pos + _LONGEST]
        return _BROKEN_KEYWORD.match(self.text, self.pos) if broken else None

    def skip_keyword(self) -> None:
        """Move past the reserved word at the cursor."""
        match = _KEYWORD.match(self.text, self.pos) or self._broken_keyword()
        self.pos = match.end() if match else self.pos

    def _take(self, *expected: str) -> str:
        self.blank_lines()
        keyword = self.keyword()
        if keyword not in expected:
            raise self.unexpected()
        self.skip_keyword()
        return keyword

    def at_compound(self) -> bool:
        """Whether a compound command starts at the cursor."""
        return self.text.startswith("(", self.pos) or self.keyword() in self._kinds

    def compound(self) -> bool:
        """Read the compound command at the cursor and its redirections; false if there is none."""
        if not self.at_compound():
            return False
        outer, keyword = self.scope, self.keyword()
        self.reading.budget.step()
        self.scope = self.deeper(repeated=keyword in {"for", "while", "until", "select"})
        if keyword is None:
            self._parenthesis()
        else:
            self.skip_keyword()
            self._kinds[keyword](self)
        self.skip_blanks()
        while redirection := self.redirection():
            self.reading.loose_redirections.append(redirection)
            if redirection.operator.startswith("<"):
                self.scope.stdin = "redirect"
            self.skip_blanks()
        self.scope = outer
        return True

    def _parenthesis(self) -> None:
        double = _DOUBLE_PAREN.match(self.text, self.pos)
        if double:
            self.pos = double.end()
            self.reading.bash_only = True
            # A shell without arithmetic commands would run what stands here.
            if _NOT_ARITHMETIC.search(self.arithmetic()):
                raise self.error("`((` around what is not arithmetic")
            return
        self.pos += 1
        self.commands_until(frozenset())
        if not self.text.startswith(")", self.pos):
            raise self.unexpected()
        self.pos += 1

    def _group(self) -> None:
        self.commands_until(frozenset({"}"}))
        self._take("}")

    def _if(self) -> None:
        keyword = "if"
        while keyword in {"if", "elif"}:
            self.commands_until(frozenset({"then"}))
            self._take("then")
            self.commands_until(frozenset({"elif", "else", "fi"}))
            keyword = self._take("elif", "else", "fi")
        if keyword == "else":
            self.commands_until(frozenset({"fi"}))
            self._take("fi")

    def _while(self) -> None:
        self.commands_until(frozenset({"do"}))
        self._do_group()

    def _do_group(self) -> None:
        if self._take("do", "{") == "{":
            self._group()
            return
        self.commands_until(frozenset({"done"}))
        self._take("done")

    def _select(self) -> None:
        self._for(loop=False)

    def _for(self, *, loop: bool = True) -> None:
        self.skip_blanks()
        double = _DOUBLE_PAREN.match(self.text, self.pos)
        name, values = Word("", ""), list[Word]()
        if double:
            self.pos = double.end()
            self.reading.bash_only = True
            self.arithmetic()
        else:
            name = self.needed_word()
            self.reading.assignments.append(Word(HOLE, name.source, name=name.text, loop=loop))
            self.blank_lines()
            if self.keyword() == "in":
                self.skip_keyword()
                values = self._for_words()
        self.skip_blanks()
        self.pos += self.text.startswith(";", self.pos)
        start, outer = self.pos, self.bound
        # What it does is read once for each word, if it is certain which word it is.
        for value in values if loop and self._certain(name, values) else [None]:
            self.pos = start
            self.bound = outer if value is None else {**outer, name.text: value}
            self._do_group()
        self.bound = outer

    def _certain(self, name: Word, values: list[Word]) -> bool:
        self.loops += 1
        return self.loops <= loops.MOST and loops.certain(name, values, self.bound, self.text)

    def _for_words(self) -> list[Word]:
        words: list[Word] = []
        self.skip_blanks()
        while self.pos < len(self.text) and self.text[self.pos] not in ";\n":
            words.append(self.needed_word())
            self.skip_blanks()
        return words

    def _case(self) -> None:
        self.skip_blanks()
        self.needed_word()
        self._take("in")
        while True:
            self.blank_lines()
            if self.keyword() == "esac":
                self.skip_keyword()
                return
            self._case_patterns()
            self.commands_until(frozenset({"esac"}))
            end = CASE_END.match(self.text, self.pos)
            if end:
                self.pos = end.end()
            elif self.keyword() != "esac":
                raise self.unexpected()

    def _case_patterns(self) -> None:
        self.pos += self.text.startswith("(", self.pos)
        while True:
            self.skip_blanks()
            self.needed_word()
            self.skip_blanks()
            if self.text[self.pos : self.pos + 1] not in {"|", ")"}:
                raise self.unexpected()
            self.pos += 1
            if self.text[self.pos - 1] == ")":
                return

    def _test(self) -> None:
        self.reading.bash_only = True
        words: list[Word] = []
        while True:
            self.reading.budget.step()
            blanks = _TEST_BLANKS.match(self.text, self.pos)
            self.pos = blanks.end() if blanks else self.pos
            if blanks and "\n" in blanks[0] and self.pending:
                raise self.error("a here-document that is announced before a test over several lines")
            char = self.text[self.pos : self.pos + 1]
            if char == "#":
                raise self.error("`#` in a test, which may be a comment or a pattern")
            word = self.word()
            if word.text == "]]" and not word.quoted:
                if _evaluates(words):
                    self.reading.hazards.add("nested_evaluation")
                return
            words.append(word)
            if word.source:
                continue
            if not char or char not in "()<>|&":
                raise self.unexpected()
            self.pos += 1

    def _function(self) -> None:
        self.reading.bash_only = True
        self.skip_blanks()
        name = self.needed_word()
        self.skip_blanks()
        if self.text.startswith("(", self.pos):
            self.empty_parenthesis()
        self.function_body(name)

    def empty_parenthesis(self) -> None:
        """Read the `()` of a function definition."""
        self.pos += 1
        self.skip_blanks()
        if not self.text.startswith(")", self.pos):
            raise self.unexpected()
        self.pos += 1

    def function_body(self, name: Word) -> None:
        """Read what follows `name ()`."""
        self.reading.functions.append(name.text.replace(HOLE, "?"))
        self.blank_lines()
        outer = self.scope
        self.scope = self.deeper(repeated=True)
        if not self.compound():
            raise self.unexpected()
        self.scope = outer

    _kinds: ClassVar[dict[str, Callable[["CompoundReader"], None]]] = {
        "{": _group,
        "if": _if,
        "while": _while,
        "until": _while,
        "for": _for,
        "select": _select,
        "case": _case,
        "[[": _test,
        "function": _function,
    }


def _evaluates(words: list[Word]) -> bool:
    """Whether a test does arithmetic with more than numbers that stand there, or looks for a variable by any name."""
    for index, word in enumerate(words):
        before, after = words[index - 1 : index] if index else [], words[index + 1 : index + 2]
        if word.text in _COMPARES and not all(map(_is_number, before + after)):
            return True
        if word.text in _LOOKS_UP and not all(_VARIABLE.fullmatch(operand.text) for operand in after):
            return True
    return False


def _is_number(word: Word) -> bool:
    return _NUMBER.fullmatch(word.text) is not None or _NUMBERS.fullmatch(word.source.strip('"')) is not None
