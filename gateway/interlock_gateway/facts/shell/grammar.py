"""Reads whole scripts: lists, pipelines and simple commands (bash manual, 3.2; POSIX XCU 2.10)."""

import re

from interlock_gateway.facts.shell.compounds import CASE_END, RESERVED, WORD_END, CompoundReader
from interlock_gateway.facts.shell.expansions import JOINED
from interlock_gateway.facts.shell.reading import (
    Frame,
    LimitExceededError,
    Scope,
    ShellSyntaxError,
    Simple,
)

_NOT_A_NAME = frozenset(RESERVED) - {"in", "time", "coproc"}
_BEFORE_A_COMMAND = frozenset({"time", "coproc", "-p", "--"})
_TIME_OPTIONS = re.compile(rf"(?:(?:[ \t]|\\\n)+(?:-p|--){WORD_END}){{0,2}}")
_COPROC_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?=[ \t\n])")
_SEPARATOR = re.compile(rf"&(?!{JOINED}[&>])|;(?!{JOINED}[;&])")
_PIPE = re.compile(rf"\|(?!{JOINED}\|)(?P<both>{JOINED}&)?")
_AND_OR = re.compile(rf"&{JOINED}&|\|{JOINED}\|")


class ScriptReader(CompoundReader):
    """Reads a whole script into its Reading. Every method may raise ShellSyntaxError; what was read till then stays."""

    __slots__ = ()

    def script(self) -> None:
        """Read to the end of the text."""
        self.commands_until(frozenset())
        if self.pos < len(self.text):
            raise self.unexpected()
        if self.pending:
            raise self.error("a here-document has no body")

    def nested_script(self, closer: str, stdin: str | None = None) -> None:
        """Read the script at the cursor up to and past `closer`, as in `$(...)`."""
        kept = self.pending, self.scope, self.in_substitution
        self.pending, self.in_substitution = [], True
        self.scope = self.deeper(stdin=stdin)
        self.commands_until(frozenset({closer}))
        if self.pending:
            raise self.error("a here-document with no body inside a substitution")
        if not self.text.startswith(closer, self.pos):
            raise self.unexpected()
        self.pos += 1
        self.pending, self.scope, self.in_substitution = kept

    def separate_script(self, text: str) -> None:
        """Read `text`, a script cut out of this one, noting what is wrong with it. Raises LimitExceededError only."""
        inner = ScriptReader(text, self.reading, self.deeper())
        try:
            inner.script()
        except LimitExceededError:
            raise
        except ShellSyntaxError as problem:
            self.reading.errors.append(f"in backticks: {problem}")

    def commands_until(self, closers: frozenset[str]) -> None:
        """Read commands up to one of the reserved words `closers`, a `)`, a `;;` or the end, and stop before it."""
        while True:
            self.blank_lines()
            if self._at_list_end(closers):
                return
            self._and_or()
            self.skip_blanks()
            separator = _SEPARATOR.match(self.text, self.pos)
            if separator:
                self.pos = separator.end()
            elif not self.text.startswith("\n", self.pos) and not self._at_list_end(closers):
                raise self.unexpected()

    def _at_list_end(self, closers: frozenset[str]) -> bool:
        if self.pos >= len(self.text) or self.text[self.pos] == ")":
            return True
        return self.keyword() in closers or bool(CASE_END.match(self.text, self.pos))

    def _and_or(self) -> None:
        chain = None
        while True:
            frame = Frame()
            chain = chain or frame
            self._pipeline(frame, chain)
            self.skip_blanks()
            operator = _AND_OR.match(self.text, self.pos)
            if not operator:
                return
            chain = chain if operator[0].startswith("&") else None
            self.pos = operator.end()
            self.blank_lines()

    def _pipeline(self, frame: Frame, chain: Frame) -> None:
        outer = self.scope
        while True:
            self.scope = Scope(outer, frame, frame.stages - 1, outer.depth, outer.repeated, chain=chain)
            self._command()
            self.skip_blanks()
            pipe = _PIPE.match(self.text, self.pos)
            if not pipe:
                break
            self.reading.bash_only = self.reading.bash_only or pipe["both"] is not None
            frame.stages += 1
            self.pos = pipe.end()
            self.blank_lines()
        self.scope = outer

    def _command(self) -> None:
        self.skip_blanks()
        while self._prefix():
            self.reading.budget.step()
            self.skip_blanks()
        if not self.compound():
            self._simple()

    def _prefix(self) -> bool:
        """Move past a `!`, and past `time` or `coproc` when a compound command follows."""
        keyword, start = self.keyword(), self.pos
        if keyword == "!":
            self.skip_keyword()
            return True
        if keyword == "time":
            self.skip_keyword()
            match = _TIME_OPTIONS.match(self.text, self.pos)
            self.pos = match.end() if match else self.pos
            self.skip_blanks()
            if self.at_compound() or self.keyword() in {"!", "time", "coproc"}:
                return True
        if keyword == "coproc":
            self.reading.bash_only = True
            self.skip_keyword()
            self.skip_blanks()
            name = None if self.at_compound() else _COPROC_NAME.match(self.text, self.pos)
            self.pos = name.end() if name else self.pos
            self.skip_blanks()
            if self.at_compound():
                return True
        self.pos = start
        return False

    def _simple(self) -> None:
        self.reading.budget.command()
        command, start = Simple(self.scope), self.pos
        self.reading.commands.append(command)
        try:
            while self._simple_part(command):
                self.skip_blanks()
        finally:
            command.source = self.text[start : self.pos].rstrip()
        if self.pos == start:
            raise self.unexpected()

    def _simple_part(self, command: Simple) -> bool:
        """Read the next word or redirection; false at the command's end."""
        redirection = self.redirection()
        if redirection:
            command.redirections.append(redirection)
            return True
        if self.text.startswith("(", self.pos):
            if len(command.words) != 1 or command.assignments or command.redirections:
                raise self.unexpected()
            self.empty_parenthesis()
            self.function_body(command.words.pop())
            return False
        word = self.word(assignable=all(word.source in _BEFORE_A_COMMAND for word in command.words))
        if not word.source:
            return False
        if word.name is not None:
            command.assignments.append(word)
            return True
        bare = not (word.quoted or command.words or command.assignments or command.redirections)
        if bare and word.text in _NOT_A_NAME:
            raise self.error(f"the reserved word {word.text!r} was not expected")
        command.words.append(word)
        return True
