"""Commands that are given the names of the files that `find` finds, by itself or through a pipe to `xargs`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from interlock_gateway.facts.shell.options import Options, parse
from interlock_gateway.facts.shell.reading import HOLE, Redirection, Word
from interlock_gateway.facts.shell.searched import odd
from interlock_gateway.facts.shell.searching import Search, plainly_named

# Primaries of GNU find that neither run nor write anything, nor print what is no name: without a value, and with one.
_ALONE_NAMES = (
    "a and daystart depth empty executable false follow mount noleaf nowarn prune readable true warn writable xdev"
)
_VALUED_NAMES = (
    "amin anewer atime cmin cnewer ctime gid group ilname iname inum ipath iregex iwholename links lname maxdepth "
    "mindepth mmin mtime name newer path perm regex regextype samefile size type uid used user wholename xtype"
)
_ALONE, _VALUED = (frozenset(f"-{name}" for name in names.split()) for names in (_ALONE_NAMES, _VALUED_NAMES))
_NOT = frozenset({"!", "-not"})
_OR = frozenset({"-o", "-or"})
_JOINS = _NOT | _OR | {"(", ")", ","}
_PRINTS = frozenset({"-print", "-print0"})
_ROOT_OPTIONS = frozenset({"-H", "-L", "-P"})

# Neither an option, nor a list of files as `@list` is to some programs.
_ROOT = re.compile(r"[\w./]")
MOST_STAGES = 8
_LINES = {
    "grep": (Options("EFGPaivwx", "e", "", "", "", permuted=True), 1),
    "head": (Options("", "n", "", "", "lines", digits=True), 0),
    "sort": (Options("fnruV", "", "", "unique reverse", ""), 0),
    "tail": (Options("", "n", "", "", "lines", digits=True), 0),
    "uniq": (Options(), 0),
}
"""Programs that pass on some of the lines that they read, whole: the options with which they do, and how many operands
they take for it."""


@dataclass(slots=True)
class Finding:
    """A `find` that is understood: each place where it runs something, with the search whose names it hands over there.

    `printed` is the search whose names it writes, if it does; `zero` says that a NUL follows each, not a line's end.
    """

    runs: dict[int, Search] = field(default_factory=dict)
    printed: Search | None = None
    zero: bool = False


def finding(words: list[Word]) -> Finding | None:
    """What a `find` hands over and prints; None when it may do anything else, or begin anywhere else than is written.

    Names begin with a place that is written down, and so are never taken for options.
    """
    index = 1
    follows = any(word.text in {"-L", "-H", "-follow"} for word in words)
    while index < len(words) and words[index].text in _ROOT_OPTIONS:
        index += 1
    start = index
    while index < len(words) and not words[index].text.startswith("-") and words[index].text not in _JOINS:
        index += 1
    roots = tuple(words[start:index])
    if any(root.glob or root.tilde or not _ROOT.match(root.text) or HOLE in root.text for root in roots):
        return None
    return _Expression(words, Search(roots, follows=follows)).read(index)


class _Expression:
    """Reads what follows the places: the tests so far say which files come to an action."""

    def __init__(self, words: list[Word], everything: Search) -> None:
        self._words = words
        self._everything = everything
        self._names: tuple[str, ...] = ()
        self._files = False
        self._plain = True
        self._found = Finding()
        self._prints: set[str] = set()

    def read(self, index: int) -> Finding | None:
        while index < len(self._words):
            after = self._primary(index)
            if after is None or any(word.literal is None or word.glob for word in self._words[index:after]):
                return None
            index = after
        if not self._prints and not self._found.runs:
            self._printed("-print")
        self._found.zero = "-print0" in self._prints
        return self._found if len(self._prints) < len(_PRINTS) else None

    def _primary(self, index: int) -> int | None:
        """Note the test or action at `index`; where the next one stands, or None when it is not understood."""
        text, value = self._words[index].text, self._text(index + 1)
        names = self._any_name(index) if text == "(" else ()
        if names:
            self._names = self._names or names
            return index + 3 * len(names) + 1
        if text == "-exec":
            self._found.runs[index] = self._search()
            end = end_of_exec(self._words, index + 1)
            return end + 1 if end < len(self._words) else None
        if text in _PRINTS:
            self._printed(text)
        elif text in _NOT and value in _VALUED:
            return index + 3 if self._text(index + 2) is not None else None
        elif text in _JOINS:
            self._plain = False
        elif text in _VALUED and value is not None:
            self._test(text, value)
            return index + 2
        elif text not in _ALONE:
            return None
        return index + 1

    def _text(self, index: int) -> str | None:
        return self._words[index].literal if index < len(self._words) else None

    def _any_name(self, index: int) -> tuple[str, ...]:
        """The names in `( -name A -o -name B )`, which begins at `index`; nothing where something else stands there."""
        names: list[str] = []
        while self._text(index + 1) == "-name" and (name := self._text(index + 2)) is not None:
            names.append(name)
            index += 3
            if self._text(index) == ")":
                return tuple(names) if all(map(plainly_named, names)) else ()
            if self._text(index) not in _OR:
                break
        return ()

    def _test(self, name: str, value: str) -> None:
        if name == "-name" and plainly_named(value):
            self._names = self._names or (value,)
        elif name == "-type":
            self._files = self._files or value == "f"

    def _printed(self, action: str) -> None:
        # What is printed at two places is, for all that is said here, everything.
        again = self._found.printed is not None
        self._prints.add(action)
        self._found.printed = replace(self._everything, follows=True) if again else self._search()

    def _search(self) -> Search:
        if not self._plain:
            return replace(self._everything, follows=True)
        return replace(self._everything, only=self._names, follows=self._everything.follows or not self._files)


def end_of_exec(words: list[Word], start: int) -> int:
    """Where the command ends that stands behind `-exec`: the place of `;` or `+`, or the end of all words."""
    for index in range(start, len(words)):
        text = words[index].text
        if text == ";" or (text == "+" and index > start and words[index - 1].text == "{}"):
            return index
    return len(words)


def given_last(words: Sequence[Word], mark: str) -> tuple[Word, ...] | None:
    """A command with a hole in place of its last word, where that is `mark` and all others are written down."""
    *before, last = words
    if not before or last.text != mark or any(word.literal is None or mark in word.text for word in before):
        return None
    return (*before, Word(HOLE, last.source))


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a pipeline that is a single command: its program, words and redirections."""

    name: str | None
    words: list[Word]
    redirections: list[Redirection]


def piped(stages: Sequence[Stage], *, zero: bool) -> Search | None:
    """The search whose names, and nothing else, come out of `stages`: a `find`, then what passes on whole lines.

    `zero` says that what follows takes NULs for the ends of names. If it does not, it takes blanks, quotes and
    backslashes for more than themselves, and there must be none in any name.
    """
    first, *rest = stages
    found = finding(first.words) if first.name in {"find", "gfind"} else None
    if found is None or found.printed is None or found.runs or found.zero != zero:
        return None
    if any(not _drops_errors(item) for stage in stages for item in stage.redirections):
        return None
    if zero:
        return None if rest else found.printed
    roots = found.printed.directories
    if not all(map(_passes_lines, rest)) or any(odd(root.text) for root in roots):
        return None
    return replace(found.printed, plain_names=True)


def _drops_errors(item: Redirection) -> bool:
    return item.descriptor == "2" and item.operator in {">", ">>"} and item.target.literal == "/dev/null"


def _passes_lines(stage: Stage) -> bool:
    options, operands = _LINES.get(stage.name or "", (None, 0))
    if options is None or any(word.literal is None or word.glob for word in stage.words):
        return False
    if stage.words[0].text != stage.name:
        return False
    parsed = parse(stage.words[1:], options)
    wanted = 0 if "e" in parsed.given else operands
    known = {*options.flags, *options.valued, *options.long_flags.split(), *options.long_valued.split()}
    listed = all(name in known or name.lstrip("-").isdecimal() for name in parsed.given)
    return parsed.known and listed and len(parsed.operands) == wanted
