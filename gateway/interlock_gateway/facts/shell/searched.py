"""What lies in the directories that a command searches, as far as policies need it to find secrets among it."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from interlock_gateway.core.jsonvalue import JsonObject
from interlock_gateway.facts.listing import Entry, Listing, TooMuchError
from interlock_gateway.facts.patterns import NamePattern, expressions, name_pattern, names_of
from interlock_gateway.facts.shell.searching import Search

MAX_NAMES = 1_000
_MAX_IGNORE_BYTES = 64 * 1024
_VERSION_CONTROL = frozenset({".git", ".hg", ".svn"})
_IGNORE_FILES = frozenset({".ignore", ".rgignore"})
_PLAIN_IGNORE = re.compile(r"[\w.-]+/?")
# Code, text for reading, pictures, and what is built of code: there are thousands, and secrets are not named so.
_ENDINGS = (
    "py pyi pyc pyx ipynb js mjs cjs ts tsx jsx vue svelte map css scss sass less html htm md mdx rst tex go "
    "rs java class kt kts scala groovy c h cc cpp cxx hpp hh m mm swift cs fs vb rb erb rake php pl pm lua r "
    "jl ex exs erl hs ml mli clj dart zig nim proto sql graphql sh bash zsh fish ps1 bat png jpg jpeg gif svg "
    "ico webp bmp woff woff2 ttf otf eot mp3 mp4 pdf so o a dll dylib exe wasm jar lock sum patch diff po pot "
    "mo rego feature snap"
)
ORDINARY = frozenset(_ENDINGS.split())


@dataclass(slots=True)
class Searched:
    """Names of files and directories, in lower case. Of files whose ending is ordinary only the endings are kept.

    `complete` is false when there is more than may be looked at, when links are followed, or names may be taken for
    others; `seen` says that there is a directory at all.
    """

    names: set[str] = field(default_factory=set)
    endings: set[str] = field(default_factory=set)
    complete: bool = True
    seen: bool = False

    def check(self) -> None:
        """Raise `TooMuchError` when there are more names than a policy is shown."""
        if len(self.names) > MAX_NAMES:
            raise TooMuchError


def only(text: str) -> JsonObject:
    """The names that a pattern of files to search stands for. Those of code, it is taken, begin with no dot."""
    ordinary = text.lower().rpartition(".")[2] in ORDINARY
    return expressions(names_of(text, hidden=not ordinary))


def look(listing: Listing, start: str, search: Search, found: Searched) -> None:
    """Add what lies in the directory `start`, an absolute path."""
    matchers = _Matchers(search)
    waiting: list[tuple[str, frozenset[str] | None]] = [(start, frozenset())]
    try:
        for directory, above in waiting:
            entries = listing.of(directory)
            if entries is None:
                continue
            found.seen = True
            ignored = None if search.ignored else _ignored(entries, above)
            for entry in entries:
                listing.look()
                if matchers.leaves_out(entry, ignored) or (entry.directory and not search.deep):
                    continue
                _note(entry, found)
                strays = (entry.link and search.follows) or (search.plain_names and odd(entry.name))
                found.complete = found.complete and not strays
                if entry.directory:
                    waiting.append((entry.path, ignored))
            found.check()
    except TooMuchError:
        found.complete = False


class _Matchers:
    def __init__(self, search: Search) -> None:
        self._search = search
        self._only = [_matcher(text) for text in search.only]
        self._without = [_matcher(text) for text in search.without]
        self._without_directories = [_matcher(text) for text in search.without_directories]

    def leaves_out(self, entry: Entry, ignored: frozenset[str] | None) -> bool:
        """Whether the search does not come to an entry; in doubt it does."""
        if entry.link and not self._search.follows:
            return True
        if entry.name in _VERSION_CONTROL or (ignored and entry.name in ignored):
            return True
        if entry.name.startswith(".") and not self._search.hidden:
            return True
        if entry.directory:
            return _exactly(entry, self._without_directories)
        if entry.link:
            return False
        return bool(self._only and not _fits(entry, self._only)) or _exactly(entry, self._without)


def odd(name: str) -> bool:
    """Whether `xargs` takes a name for more than itself, if it is not told otherwise, or `grep` it for no text."""
    return not name.isprintable() or any(char in "'\"\\ " for char in name)


def _matcher(text: str) -> tuple[NamePattern, re.Pattern[str]]:
    pattern = name_pattern(text.rpartition("/")[2] or "*", hidden=True)
    return pattern, pattern.matcher()


def _fits(entry: Entry, matchers: list[tuple[NamePattern, re.Pattern[str]]]) -> bool:
    return any(pattern.fits(entry.name, matcher) for pattern, matcher in matchers)


def _exactly(entry: Entry, matchers: list[tuple[NamePattern, re.Pattern[str]]]) -> bool:
    """Whether a pattern certainly stands for a name: one with classes may stand for less than is thought."""
    return _fits(entry, [one for one in matchers if not re.search(r"[\[/\\]", one[0].text)])


def _note(entry: Entry, found: Searched) -> None:
    name = entry.name.lower()
    ending = name.rpartition(".")[2]
    if not entry.directory and not name.startswith(".") and ending in ORDINARY and ending != name:
        found.endings.add(ending)
    else:
        found.names.add(name.encode("utf-8", "replace").decode("utf-8"))


def _ignored(entries: tuple[Entry, ...], above: frozenset[str] | None) -> frozenset[str] | None:
    """The names that ripgrep passes over from here on; None when it may come back to some."""
    names = {entry.name: entry for entry in entries}
    if above is None or names.keys() & _IGNORE_FILES:
        return None
    own = names.get(".gitignore")
    if own is None:
        return above
    try:
        with Path(own.path).open(encoding="utf-8", errors="replace") as file:
            lines = file.read(_MAX_IGNORE_BYTES).split("\n")
    except OSError:
        return None
    if any(line.startswith("!") for line in lines):
        return None
    return above | {line.strip().rstrip("/") for line in lines if _PLAIN_IGNORE.fullmatch(line.strip())}
