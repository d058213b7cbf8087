"""Reads what starts with `$`, a backtick, `<(` or a quote, and finds where each ends (bash manual, 3.5)."""

import re
from abc import ABC, abstractmethod
from enum import Enum, auto

from interlock_gateway.facts.shell import ansi
from interlock_gateway.facts.shell.heredocs import PendingHeredoc
from interlock_gateway.facts.shell.reading import HOLE, Reading, Scope, ShellSyntaxError, Word

JOINED = r"(?:\\\n)*"
"""Line continuations, which may stand between any two characters of an operator or a name."""

NAME = rf"[A-Za-z_](?:{JOINED}[A-Za-z0-9_])*"
"""A variable's name."""

_BLANKS = re.compile(r"(?:[ \t]|\\\n)*(?:#[^\n]*)?")
_DOUBLE_PLAIN = re.compile(r'[^"\\$`]+')
_HEREDOC_PLAIN = re.compile(r"[^\\$`]+")
_UNTIL_PLAIN = re.compile(r"[^\\'\"$`<>\[\]{}]+")
_BREAKS = re.compile(r"[ \t\n;&|<>()]")
_ARITHMETIC_PLAIN = re.compile(r"[^$`()'\"\\]+")
_BACKTICKS = re.compile(r"`([^`\\]*(?:\\.[^`\\]*)*)`", re.DOTALL)
_PAIR = re.compile(r"\\(.)", re.DOTALL)
_ANSI = re.compile(r"([^'\\]*(?:\\.[^'\\]*)*)'", re.DOTALL)
_PROCESS = re.compile(rf"([<>]){JOINED}\(")
_OPENING = re.compile(rf"{JOINED}\(")
_PARAMETER = re.compile(r"[#!]?(?:[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-])")
# Up to what follows the operator, in which a line break would join what is taken apart here.
_HEAD = re.compile(r"(?:\\\n|[#!\w@*?$-])*(?:\[[^\]]*\]?)?(?:\\\n|[:=+?@-])*", re.ASCII)
_NAMES_OF = re.compile(r"(?:\[[@*]\]|[@*])\}")
_ASSIGNS_DEFAULT = re.compile(rf":?{JOINED}=")
_OFFSET = re.compile(rf":{JOINED}(?![-=?+\\])")
_NOT_A_NUMBER = re.compile(r"[A-Za-z_$`\"]")
_NAMED = re.compile(r"(\w+)\}", re.ASCII)
_PROMPT_OPERATOR = re.compile(rf"{JOINED}@{JOINED}P")
_DOLLAR = re.compile(
    rf"\${JOINED}(?:(?P<arithmetic>\({JOINED}\()|(?P<command>\()|(?P<brace>\{{)|(?P<bracket>\[)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-])|(?P<single>')|(?P<double>\"))"
)


class Quoting(Enum):
    """What surrounds an expansion."""

    BARE = auto()
    DOUBLE = auto()
    HEREDOC = auto()


class ExpansionReader(ABC):
    """A cursor over `text` that reads expansions. Every method may raise ShellSyntaxError."""

    __slots__ = ("bound", "in_substitution", "loops", "pending", "pos", "reading", "scope", "text")

    def __init__(self, text: str, reading: Reading, scope: Scope) -> None:
        self.text = text
        self.pos = 0
        self.reading = reading
        self.scope = scope
        self.pending: list[PendingHeredoc] = []
        self.in_substitution = False
        self.loops = 0
        self.bound: dict[str, Word] = {}
        """What the variables of the loops around the cursor stand for, as far as that is certain."""

    @abstractmethod
    def nested_script(self, closer: str, stdin: str | None = None) -> None:
        """Read the script at the cursor up to and past `closer`."""

    @abstractmethod
    def separate_script(self, text: str) -> None:
        """Read `text`, a script cut out of this one; what is wrong with it is noted, not raised."""

    @abstractmethod
    def blank_lines(self) -> None:
        """Move past blanks, comments, line ends and the here-documents they start."""

    def error(self, message: str) -> ShellSyntaxError:
        """An error at the cursor."""
        line = self.text.count("\n", 0, self.pos) + 1
        return ShellSyntaxError(f"line {line}: {message}")

    def skip_blanks(self) -> None:
        """Move to the next token: past blanks and a comment, not past the line's end."""
        match = _BLANKS.match(self.text, self.pos)
        if match:
            self.pos = match.end()

    def single_quoted(self) -> str:
        """The inside of '...'."""
        end = self.text.find("'", self.pos + 1)
        if end < 0:
            raise self.error("a single quote is not closed")
        inside = self.text[self.pos + 1 : end]
        self.pos = end + 1
        return inside

    def double_quoted(self) -> str:
        """The inside of "...", with holes."""
        self.pos += 1
        inside = self._expanded(_DOUBLE_PLAIN, '$`"\\', Quoting.DOUBLE)
        if not self.text.startswith('"', self.pos):
            raise self.error("a double quote is not closed")
        self.pos += 1
        return inside

    def heredoc_text(self) -> str:
        """The whole text as the body of an unquoted here-document, with holes."""
        return self._expanded(_HEREDOC_PLAIN, "$`\\", Quoting.HEREDOC)

    def _expanded(self, plain: re.Pattern[str], escapable: str, quoting: Quoting) -> str:
        pieces: list[str] = []
        while True:
            self.reading.budget.step()
            match = plain.match(self.text, self.pos)
            if match:
                pieces.append(match[0])
                self.pos = match.end()
            char = self.text[self.pos : self.pos + 1]
            if char == "\\":
                following = self.text[self.pos + 1 : self.pos + 2]
                pieces.append(following if following and following in escapable else char + following)
                pieces[-1] = "" if following == "\n" else pieces[-1]
                self.pos = min(self.pos + 2, len(self.text))
            elif char == "$":
                pieces.append(self.dollar(quoting))
            elif char == "`":
                self.backtick(quoting)
                pieces.append(HOLE)
            else:
                return "".join(pieces)

    def dollar(self, quoting: Quoting) -> str:
        """What stands at `$`: literal text, or a hole."""
        self.reading.budget.step()
        self.reading.budget.deeper()
        value = self._dollar(quoting)
        self.reading.budget.back()
        return value

    def _dollar(self, quoting: Quoting) -> str:
        match = _DOLLAR.match(self.text, self.pos)
        kind = match.lastgroup if match else None
        if match is None or kind is None or (kind in {"single", "double"} and quoting is not Quoting.BARE):
            self.pos += 1
            return "$"
        self.pos = match.end()
        if kind == "name" and match["name"] in self.bound:
            return self._value(match["name"])
        if kind == "brace" and (named := _NAMED.match(self.text, self.pos)) and named[1] in self.bound:
            self.pos = named.end()
            return self._value(named[1])
        if kind == "single":
            return self._ansi_c()
        if kind == "double":
            self.reading.bash_only = True
            self.pos -= 1
            self.double_quoted()
        elif kind == "arithmetic":
            self.arithmetic()
        elif kind == "command":
            self.nested_script(")")
        elif kind == "brace":
            self._braces(quoting)
        elif kind == "bracket":
            self.reading.bash_only = True
            self._evaluated("]", Quoting.DOUBLE if quoting is Quoting.BARE else quoting)
        return HOLE

    def _value(self, name: str) -> str:
        """What a variable of a loop stands for in a part of a word: a pattern stands for names that are not known."""
        value = self.bound[name]
        return HOLE if value.glob else value.text

    def _ansi_c(self) -> str:
        match = _ANSI.match(self.text, self.pos)
        if not match:
            raise self.error("$'...' is not closed")
        self.pos = match.end()
        self.reading.bash_only = True
        if "\\'" in match[1]:
            # A shell that does not know $'...' ends the string here and runs what follows.
            self.reading.hazards.add("dialect")
        value = ansi.decode(match[1])
        return HOLE if value is None else value

    def backtick(self, quoting: Quoting) -> None:
        """Read `...`, whose script is what remains after one level of backslashes."""
        match = _BACKTICKS.match(self.text, self.pos)
        if not match:
            raise self.error("a backtick is not closed")
        escapable = '`$\\"' if quoting is Quoting.DOUBLE else "`$\\"
        self.pos = match.end()
        # Line continuations go here, before quotes are looked at: inside of single quotes too.
        self.separate_script(_PAIR.sub(lambda m: _unescaped(m[1], escapable), match[1]))

    def process_substitution(self) -> bool:
        """Read `<(...)` or `>(...)` if one is here; false if not."""
        match = _PROCESS.match(self.text, self.pos)
        if not match:
            return False
        self.reading.bash_only = True
        self.pos = match.end()
        if _OPENING.match(self.text, self.pos):
            # Here bash joins the lines of quoted here-documents too, and ends them elsewhere.
            raise self.error("`((` that may be arithmetic or a subshell")
        self.nested_script(")", "pipe" if match[1] == ">" else None)
        return True

    def arithmetic(self) -> str:
        """Read up to and past the `))` that closes; the text between. Quotes other than "..." are refused."""
        start, depth = self.pos, 0
        while True:
            self.reading.budget.step()
            match = _ARITHMETIC_PLAIN.match(self.text, self.pos)
            self.pos = match.end() if match else self.pos
            char = self.text[self.pos : self.pos + 1]
            if char == ")" and not depth:
                break
            if char in {"(", ")"}:
                depth += 1 if char == "(" else -1
                self.pos += 1
            elif char == '"':
                self.double_quoted()
            elif not self._expansion(char, Quoting.DOUBLE):
                raise self.error("arithmetic that is not closed, or has quotes in it")
        if not self.text.startswith("))", self.pos):
            raise self.error("`((` that may be arithmetic or a subshell")
        self.pos += 2
        self._note_evaluation(start, self.pos - 2)
        return self.text[start : self.pos - 2]

    def _evaluated(self, closer: str, quoting: Quoting) -> None:
        """Read an arithmetic expression up to and past `closer`."""
        start = self.pos
        self.until(closer, quoting, opens="[" if closer == "]" else None)
        self._note_evaluation(start, self.pos - 1)

    def _note_evaluation(self, start: int, end: int) -> None:
        # A name may be assigned there; and what a variable holds is evaluated in its turn, with the commands in it.
        if _NOT_A_NUMBER.search(self.text, start, end):
            self.reading.hazards.add("nested_evaluation")

    def _expansion(self, char: str, quoting: Quoting) -> bool:
        if char == "$":
            self.dollar(quoting)
        elif char == "`":
            self.backtick(quoting)
        elif self.text.startswith("\\\n", self.pos):
            self.pos += 2
        else:
            return False
        return True

    def _braces(self, quoting: Quoting) -> None:
        if self.text[self.pos : self.pos + 1] in {" ", "\t", "\n", "|"}:
            self.pos += self.text.startswith("|", self.pos)
            self.nested_script("}")
            return
        head = _HEAD.match(self.text, self.pos)
        if head and "\\\n" in head[0]:
            raise self.error("a line break inside a substitution in braces")
        parameter = _PARAMETER.match(self.text, self.pos)
        if not parameter:
            raise self.error("a substitution in braces that is not understood")
        if parameter[0].startswith("!") and not _NAMES_OF.match(self.text, parameter.end()):
            # The variable that another names, or a place in an array, which is evaluated.
            self.reading.hazards.add("nested_evaluation")
        self.pos = parameter.end()
        subscripted = self.text.startswith("[", self.pos)
        if subscripted:
            self.pos += 1
            self._evaluated("]", quoting)
        assigns = _ASSIGNS_DEFAULT.match(self.text, self.pos)
        if assigns and subscripted:
            self.reading.hazards.add("indirect")
        elif assigns:
            self.reading.assignments.append(Word(HOLE, parameter[0], name=parameter[0].lstrip("#!")))
        elif _OFFSET.match(self.text, self.pos):
            self.pos += 1
            self._evaluated("}", quoting)
            return
        if _PROMPT_OPERATOR.match(self.text, self.pos):
            self.reading.hazards.add("prompt_expansion")
        pattern = self.text[self.pos : self.pos + 1] in {"#", "%", "/", "^", ","}
        self.until("}", quoting, quotes=quoting is Quoting.BARE or (pattern and quoting is Quoting.DOUBLE))

    def subscript(self) -> None:
        """Read up to and past the `]` that closes. Blanks and operators are refused: to some shells they end a word."""
        self.until("]", Quoting.BARE, opens="[", forbidden=_BREAKS)

    def until(
        self,
        closer: str,
        quoting: Quoting,
        *,
        opens: str | None = None,
        quotes: bool | None = None,
        forbidden: re.Pattern[str] | None = None,
    ) -> None:
        """Read up to and past `closer`, through nested `opens`. Single quotes are read as quotes only if `quotes`.

        Where shells disagree on what a quote does, it is refused: the end would be a guess.
        """
        quotes = quoting is Quoting.BARE if quotes is None else quotes
        depth = 0
        while True:
            self.reading.budget.step()
            match = _UNTIL_PLAIN.match(self.text, self.pos)
            self.pos = match.end() if match else self.pos
            char = self.text[self.pos : self.pos + 1]
            if forbidden and forbidden.search((match[0] if match else "") + char):
                raise self.error("an array subscript with blanks or operators in it")
            if not char:
                raise self.error(f"{closer!r} is missing")
            if char == closer and not depth:
                self.pos += 1
                return
            depth += (char == opens) - (char == closer)
            self._inside(char, quoting, quotes=quotes)

    def _inside(self, char: str, quoting: Quoting, *, quotes: bool) -> None:
        start = self.pos
        if char == "\\":
            self.pos = min(self.pos + 2, len(self.text))
        elif char == "'" or (char == '"' and quoting is Quoting.HEREDOC):
            if not quotes:
                raise self.error("a quote inside an expansion that shells read differently")
            inside = self.single_quoted()
            if "$(" in inside or "`" in inside:
                self.reading.hazards.add("nested_evaluation")
        elif char == '"':
            self.double_quoted()
        elif char == "$" and self.text.startswith("'", self.pos + 1) and quoting is not Quoting.BARE:
            raise self.error("$'...' inside an expansion that shells read differently")
        elif self._expansion(char, quoting):
            pass
        elif char in "<>" and quoting is Quoting.BARE and self.process_substitution():
            if "}" in self.text[start : self.pos]:
                raise self.error("a process substitution with braces inside an expansion")
        else:
            self.pos += 1


def _unescaped(char: str, escapable: str) -> str:
    if char == "\n":
        return ""
    return char if char in escapable else f"\\{char}"
