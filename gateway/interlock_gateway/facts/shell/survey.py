"""Reads a script and everything it runs in turn, into one flat list of commands."""

import re
import unicodedata
from dataclasses import dataclass, field

from interlock_gateway.facts.shell import feeding, programs, unwrap
from interlock_gateway.facts.shell.effects import NOTHING, UNKNOWN, Effects, Run
from interlock_gateway.facts.shell.grammar import ScriptReader
from interlock_gateway.facts.shell.interpreters import SHELLS
from interlock_gateway.facts.shell.reading import (
    HOLE,
    MAX_DEPTH,
    MAX_SCRIPT_BYTES,
    Budget,
    LimitExceededError,
    Reading,
    Redirection,
    Scope,
    ShellSyntaxError,
    Simple,
    Word,
)
from interlock_gateway.facts.shell.searching import Search, search

_DECLARES = frozenset({"export", "declare", "typeset", "local", "readonly"})
_LOADER = re.compile(
    r"(?:LD_|DYLD_).*|BASH_ENV|ENV|PROMPT_COMMAND|PS[0-4]|SHELLOPTS|BASHOPTS|BASH_FUNC_.*|BASH_LOADABLES_PATH|PYTHONPATH"
    r"|PYTHONSTARTUP|PYTHONHOME|PERL5(?:OPT|LIB)|RUBY(?:OPT|LIB)|NODE_OPTIONS|JAVA_TOOL_OPTIONS|GIT_.*(?:COMMAND|ASKPASS|DIFF|EDITOR)"
    r"|GIT_(?:PAGER|CONFIG.*|EXEC_PATH)|EDITOR|VISUAL|PAGER|MANPAGER|LESSOPEN|LESSCLOSE|BROWSER|SHELL|ZDOTDIR"
)
# Directories below the one a command runs in: what Python finds there is the project's own, as what it finds in it.
_OWN = r"(?:\.|(?:\./)?\w[\w.-]*(?:/\w[\w.-]*)*)/?"
_OWN_DIRECTORIES = re.compile(f"{_OWN}(?::{_OWN})*", re.ASCII)
_VARIABLE_HAZARDS = {"IFS": "ifs", "PATH": "path", "CDPATH": "cdpath", "BASH_ALIASES": "alias", "BASH_CMDS": "indirect"}
_INVISIBLE = frozenset({"Cc", "Cf", "Zl", "Zp", "Zs"})
_INDIRECT = {
    "bind": {"-x"},
    "compgen": {"-C", "-F"},
    "complete": {"-C", "-F", "-D"},
    "enable": {"-f"},
    "fc": {"-s", "-e"},
    "hash": {"-p"},
    "mapfile": {"-C"},
    "readarray": {"-C"},
}


@dataclass(slots=True)
class Found:
    """One command, as written or as another command runs it. `name` is None when it is only known at run time.

    `fed` is the search whose files, and nothing else, its last word stands for.
    """

    words: list[Word]
    scope: Scope
    source: str
    name: str | None
    wrappers: tuple[str, ...] = ()
    assignments: list[Word] = field(default_factory=list)
    redirections: list[Redirection] = field(default_factory=list)
    effects: Effects = NOTHING
    moved: bool = False
    implied: bool = False
    fed: Search | None = None

    @property
    def stdin_script(self) -> bool:
        """Whether it takes code to run from its standard input."""
        return self.effects.interprets is not None and self.effects.interprets.source == "stdin"


class Survey:
    """All the commands of the scripts given to it, in the order of the text, each before what it runs."""

    def __init__(self) -> None:
        self.budget = Budget()
        self.found: list[Found] = []
        self.loose_redirections: list[Redirection] = []
        self.assignments: list[Word] = []
        self.functions: list[str] = []
        self.aliases: list[str] = []
        self.hazards: set[str] = set()
        self.errors: list[str] = []
        self.bash_only = False
        # The commands of each stage of each pipeline; a pipeline lives as long as its commands' scopes.
        self._stages: dict[tuple[int, int], list[Found]] = {}

    def take_script(self, text: str) -> None:
        """Read a script as a call gives it. Never raises; what is not understood is in `errors`."""
        problem = _unreadable(text)
        if problem:
            self.errors.append(problem)
            return
        if not text.isascii() or not text.replace("\n", " ").replace("\t", " ").isprintable():
            text = self._unusual(text)
        try:
            self._script(text, Scope(), (), moved=False)
        except (LimitExceededError, RecursionError) as limit:
            # The bounds on depth are there to be met first; Python's own is the net below them.
            self.errors.append(str(limit))

    def take_words(self, texts: list[str]) -> None:
        """Read a command given as a list of words, which no shell splits or expands. Never raises."""
        problem = _unreadable("\n".join(texts)) or ("an empty command" if not texts else None)
        if problem:
            self.errors.append(problem)
            return
        try:
            self._command([Word(text, text, quoted=True) for text in texts], Scope(), (), " ".join(texts))
        except LimitExceededError as limit:
            self.errors.append(str(limit))

    def _unusual(self, text: str) -> str:
        rest = text.replace("\r\n", "\n")
        if "\r" in text:
            self.errors.append("carriage returns, which a shell takes as part of a word and a tool may remove")
        if any(unicodedata.category(char) in _INVISIBLE for char in set(rest) - {"\n", "\t", " "}):
            self.hazards.add("invisible_characters")
        return rest

    def _script(self, text: str, scope: Scope, wrappers: tuple[str, ...], *, moved: bool) -> None:
        self.budget.step()
        if scope.depth > MAX_DEPTH:
            raise LimitExceededError(f"the script is nested more than {MAX_DEPTH} deep")
        reading = Reading(self.budget)
        limit: LimitExceededError | None = None
        try:
            ScriptReader(text, reading, scope).script()
        except LimitExceededError as reached:
            limit = reached
        except ShellSyntaxError as problem:
            reading.errors.append(str(problem))
        self._absorb(reading, wrappers)
        if HOLE in text:
            self.hazards.add("dynamic_script")
        for simple in reading.commands:
            self._simple(simple, wrappers, moved=moved)
        if limit:
            raise limit

    def _absorb(self, reading: Reading, wrappers: tuple[str, ...]) -> None:
        inside = f"in the script of {wrappers[-1]}: " if wrappers else ""
        self.errors += [inside + error for error in reading.errors]
        self.loose_redirections += reading.loose_redirections
        self.functions += reading.functions
        self.hazards |= reading.hazards
        self.bash_only = self.bash_only or reading.bash_only
        for assignment in reading.assignments:
            self._assigned(assignment)

    def _simple(self, simple: Simple, wrappers: tuple[str, ...], *, moved: bool) -> None:
        for assignment in simple.assignments:
            self._assigned(assignment)
        if not simple.words:
            self.loose_redirections += simple.redirections
            return
        self._command(
            simple.words,
            simple.scope,
            wrappers,
            simple.source,
            assignments=simple.assignments,
            redirections=simple.redirections,
            moved=moved,
        )

    def _command(
        self,
        words: list[Word],
        scope: Scope,
        wrappers: tuple[str, ...],
        source: str,
        *,
        assignments: list[Word] | None = None,
        redirections: list[Redirection] | None = None,
        moved: bool = False,
        implied: bool = False,
        fed: Search | None = None,
    ) -> None:
        if len(wrappers) > MAX_DEPTH:
            raise LimitExceededError(f"commands wrap one another more than {MAX_DEPTH} deep")
        found = Found(words, scope, source, _name(words), wrappers, assignments or [], redirections or [])
        found.moved, found.implied = moved, implied
        self.found.append(found)
        self._stages.setdefault((id(scope.frame), scope.stage), []).append(found)
        if found.name is None:
            return
        # Without a place of its own ripgrep searches the directory that it stands in.
        searches = search(found.name, words, fed=found.name != "rg")
        found.fed = None if moved or searches else fed
        found.effects = self._given_names(found) or unwrap.effects(found.name, words)
        self._note(found, found.name)
        for run in found.effects.runs:
            self._run(run, found)
        if found.stdin_script:
            self._fed_script(found)

    def _run(self, run: Run, outer: Found) -> None:
        self.budget.step()
        wrappers = (*outer.wrappers, outer.name or "")
        moved = outer.moved or run.moved
        for assignment in run.assignments:
            self._assigned(assignment)
        if run.script is not None:
            inner = Scope(outer.scope, depth=outer.scope.depth + 1, repeated=outer.scope.repeated)
            self._script(run.script, inner, wrappers, moved=moved)
            return
        self.budget.command()
        self.budget.step(len(run.words))
        words = [*run.words, *([Word(HOLE, "")] if run.appended or run == UNKNOWN else [])]
        assignments = [*outer.assignments, *run.assignments]
        self._command(
            words,
            outer.scope,
            wrappers,
            outer.source,
            assignments=assignments,
            moved=moved,
            implied=run.implied,
            fed=run.fed,
        )

    def _given_names(self, found: Found) -> Effects | None:
        """What `xargs` does, where all that it is given are names of files that a `find` in its pipeline finds."""
        frame, stages = found.scope.frame, []
        if found.name not in {"xargs", "gxargs"} or frame is None or self.bash_only or found.moved:
            return None
        if found.scope.stage > feeding.MOST_STAGES:
            return None
        for stage in range(found.scope.stage):
            # A stage of several commands, or of one that is not written there itself, could give it anything.
            there = self._stages.get((id(frame), stage), [])
            if len(there) != 1 or there[0].moved or there[0].wrappers != found.wrappers:
                return None
            stages.append(feeding.Stage(there[0].name, there[0].words, there[0].redirections))
        redirected = any(item.operator.startswith("<") for item in found.redirections)
        return programs.fed_by_pipe(found.words, stages) if stages and not redirected else None

    def _fed_script(self, found: Found) -> None:
        bodies = [item.body for item in found.redirections if item.body is not None and item.descriptor in {None, "0"}]
        shell = found.effects.interprets is not None and found.effects.interprets.language == "shell"
        for body in bodies[-1:] if shell else []:
            self._run(Run(script=body, moved=found.name not in SHELLS), found)

    def _note(self, found: Found, name: str) -> None:
        if name in _DECLARES:
            for word in found.words[1:]:
                declared = unwrap.assignment(word)
                if declared:
                    self._assigned(declared)
        elif name == "alias":
            self.aliases += [
                word.text.partition("=")[0].replace(HOLE, "?") for word in found.words[1:] if "=" in word.text
            ]
            self.hazards.add("alias") if self.aliases else None
        elif name == "let" and any("$(" in word.text or "`" in word.text for word in found.words):
            self.hazards.add("nested_evaluation")
        if any(word.text[:2] in _INDIRECT.get(name, ()) for word in found.words[1:]):
            self.hazards.add("indirect")

    def _assigned(self, word: Word) -> None:
        self.assignments.append(word)
        name = word.name or ""
        hazard = _VARIABLE_HAZARDS.get(name) or ("loader" if _LOADER.fullmatch(name) else None)
        if name == "PYTHONPATH" and _OWN_DIRECTORIES.fullmatch(word.literal or ""):
            return
        if hazard:
            self.hazards.add(hazard)


def _unreadable(text: str) -> str | None:
    if len(text) > MAX_SCRIPT_BYTES:
        return f"the script is longer than {MAX_SCRIPT_BYTES} bytes"
    try:
        size = len(text.encode("utf-8"))
    except UnicodeEncodeError:
        return "the script is not valid Unicode"
    if size > MAX_SCRIPT_BYTES:
        return f"the script is longer than {MAX_SCRIPT_BYTES} bytes"
    if "\0" in text:
        return "the script contains a NUL character"
    return "the script contains a noncharacter" if HOLE in text else None


def _name(words: list[Word]) -> str | None:
    first = words[0] if words else None
    if first is None or first.literal is None or first.glob:
        return None
    return first.text.rpartition("/")[2].lower().removesuffix(".exe")
