"""Reads redirections, and the here-documents that follow the line they stand on (bash manual, 3.6)."""

import re

from interlock_gateway.facts.shell.expansions import JOINED, NAME
from interlock_gateway.facts.shell.heredocs import PendingHeredoc, read_body
from interlock_gateway.facts.shell.reading import HOLE, Redirection, Word
from interlock_gateway.facts.shell.words import WordReader

_REDIRECTION = re.compile(
    rf"(?P<fd>[0-9](?:{JOINED}[0-9]){{0,8}}|\{{{JOINED}(?P<name>{NAME}){JOINED}\}})?{JOINED}"
    rf"(?P<op><{JOINED}<{JOINED}[<-]?|<{JOINED}[>&]|>{JOINED}[>&|]|<(?!{JOINED}\()|>(?!{JOINED}\())"
    rf"|(?P<both>&{JOINED}>(?:{JOINED}>)?)"
)
# The number of a file that is opened is put into a place of an array: `{BASH_CMDS[cat]}>x`.
_INTO_AN_ARRAY = re.compile(rf"\{{{JOINED}{NAME}{JOINED}\[")
_REDIRECTION_START = frozenset("<>&{0123456789")


class RedirectionReader(WordReader):
    """Redirections on top of words. Methods may raise ShellSyntaxError."""

    __slots__ = ()

    def blank_lines(self) -> None:
        """Move past blanks, comments, line ends and the bodies of here-documents."""
        self.skip_blanks()
        while self.text.startswith("\n", self.pos):
            self.reading.budget.step()
            self.pos += 1
            if self.pending:
                self._heredoc_bodies()
            self.skip_blanks()

    def _heredoc_bodies(self) -> None:
        waiting, self.pending = self.pending, []
        for pending in waiting:
            body = read_body(self.text, self.pos, pending, in_substitution=self.in_substitution)
            self.pos = body.end
            inner = type(self)(body.text, self.reading, self.scope)
            inner.in_substitution = self.in_substitution
            pending.redirection.body = body.text if pending.quoted else inner.heredoc_text()
            if body.problem:
                raise self.error(body.problem)

    def redirection(self) -> Redirection | None:
        """The redirection at the cursor, or None if there is none; a here-document's body follows the line."""
        if self.text[self.pos : self.pos + 1] not in _REDIRECTION_START:
            return None
        match = _REDIRECTION.match(self.text, self.pos)
        if _INTO_AN_ARRAY.match(self.text, self.pos):
            self.reading.hazards.add("indirect")
        if not match:
            return None
        operator = (match["op"] or match["both"]).replace("\\\n", "")
        self.reading.bash_only = self.reading.bash_only or operator in {"<<<", "&>", "&>>"}
        self.pos = match.end()
        self.skip_blanks()
        target = self.needed_word()
        descriptor = match["fd"] and match["fd"].replace("\\\n", "")
        if match["name"]:
            self.reading.assignments.append(Word(HOLE, match["fd"], name=match["name"].replace("\\\n", "")))
        redirection = Redirection(operator, descriptor, target)
        if operator == "<<<":
            redirection.body = target.text + "\n"
        elif operator.startswith("<<"):
            if HOLE in target.text or "$" in target.source or "`" in target.source:
                raise self.error("a here-document whose delimiter has an expansion in it")
            self.pending.append(PendingHeredoc(redirection, target.text, target.quoted, operator == "<<-"))
        return redirection
