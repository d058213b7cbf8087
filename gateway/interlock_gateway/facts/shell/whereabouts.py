"""Which places the words of a script name, following `cd` as far as it can be followed."""

import os
import posixpath
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

from interlock_gateway.facts.listing import TooMuchError
from interlock_gateway.facts.patterns import SPECIAL, NamePattern, names_of
from interlock_gateway.facts.places import Place, Workspace
from interlock_gateway.facts.shell.reading import HOLE, PROCESS, Frame, Scope, Word
from interlock_gateway.facts.shell.searched import Searched, look
from interlock_gateway.facts.shell.searching import Search
from interlock_gateway.facts.shell.survey import Found, Survey

Location: TypeAlias = Literal["inside", "outside", "unknown", "stream", "network", "none"]

_MAX_DIRECTORIES = 8
_CHANGES = frozenset({"cd", "chdir", "pushd", "popd"})
_LATER = frozenset({"trap", "alias"})
_STREAM = re.compile(r"/dev/(?:null|zero|full|u?random|stdin|stdout|stderr|tty|fd/[0-9]+)")
_NETWORK = re.compile(r"/dev/(?:tcp|udp)/")


@dataclass(frozen=True, slots=True)
class Matched:
    """What a pattern stands for, name by name, and the paths that were found for it, below where the pattern begins.

    `links` is where those lead that are symbolic links. `known` says that these are all: something was found, and not
    too much.
    """

    names: tuple[NamePattern, ...]
    paths: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    known: bool = False


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a word leads: a file inside or outside the roots, a stream such as /dev/null, a network connection.

    A pattern leads outside when one of the files does that it stands for; `pattern` is what these are.
    """

    location: Location
    normalised: str | None = None
    symlink: bool = False
    pattern: Matched | None = None

    @property
    def inside(self) -> bool:
        """Whether it is certain that nothing outside of the roots is named."""
        return self.location in {"inside", "stream", "none"}


NOWHERE = Spot("none")
_UNKNOWN = Spot("unknown")


class Whereabouts:
    """Follows the commands of a survey in order; `enter` must be called for each before its words are looked at."""

    def __init__(self, workspace: Workspace, survey: Survey) -> None:
        self._workspace = workspace
        start = [workspace.base] if workspace.base is not None else []
        changes = [item for item in survey.found if item.name in _CHANGES]
        # A `cd` that may run again, or later, changes what the words before it mean.
        lost = any(item.scope.repeated or _LATER & set(item.wrappers) for item in changes)
        lost = lost or (bool(changes) and "cdpath" in survey.hazards)
        self._directories: list[str] = [] if lost else start
        self._chains: dict[int, list[str]] = {}
        self._lost = lost
        self.changed = lost

    @property
    def current(self) -> Spot:
        """Where the script may end up."""
        return self._joint(".", self._directories)

    def enter(self, found: Found) -> None:
        """Note a command, after its words have been looked at; a change of directory takes effect on what follows."""
        if found.name not in _CHANGES or found.moved:
            return
        self.changed = True
        before = self._of(found.scope)
        after = _targets(found, before, self._workspace)
        if not after or self._lost:
            self._lost, self._directories, self._chains = True, [], {}
            return
        for scope in _outwards(found.scope):
            if scope.chain is not None and id(scope.chain) in self._chains:
                self._chains[id(scope.chain)] = _merged(self._chains[id(scope.chain)], after)
        self._directories = _merged(self._directories, after)
        self._lost = self._lost or len(self._directories) > _MAX_DIRECTORIES
        chain: Frame | None = found.scope.chain
        if chain is not None and found.scope.frame is not None and found.scope.frame.stages == 1:
            self._chains[id(chain)] = after

    def spot(self, word: Word, text: str, found: Found | None) -> Spot:
        """Where `text`, which is `word` or a part of it, leads when the command `found` runs."""
        special = _special(text)
        if special or HOLE in text or (found is not None and found.moved):
            spot = special or _UNKNOWN
            return replace(spot, pattern=Matched(tuple(names_of(text.replace(HOLE, "*"))))) if word.glob else spot
        directories = self._directories if found is None else self._of(found.scope)
        if not word.glob:
            return self._joint(text, directories)
        return self._pattern(text, directories, quoted=word.quoted)

    def _pattern(self, text: str, directories: list[str], *, quoted: bool) -> Spot:
        special = SPECIAL.search(text)
        fixed = text[: special.start()].rpartition("/") if special else (text, "", "")
        rest = text[len(fixed[0]) + len(fixed[1]) :]
        names = names_of(rest, quoted=quoted)
        if ".." in rest:
            return Spot("unknown", pattern=Matched(tuple(names)))
        before = (fixed[0] + fixed[1]) or "."
        spot = self._joint(before, directories)
        shown = spot.normalised and f"{spot.normalised.rstrip('/')}/{rest}"
        unseen = Spot(spot.location, shown, spot.symlink, Matched(tuple(names)))
        if not spot.inside:
            return unseen
        starts = {self._workspace.locate(before, directory).normalised for directory in directories}
        try:
            listing = self._workspace.listing
            paths = {path: start for start in starts if start for path in listing.matches(start, names)}
        except TooMuchError:
            return replace(unseen, location="unknown")
        return self._found(paths, unseen, names) if paths else unseen

    def _found(self, paths: dict[str, str], unseen: Spot, names: list[NamePattern]) -> Spot:
        """Where all of the paths lead that a pattern stands for, each with the directory that it begins in."""
        places = {path: self._workspace.locate(path) for path in paths}
        links = [place.normalised for path, place in places.items() if place.normalised not in {None, path}]
        below = tuple(path.removeprefix(start).lstrip("/") for path, start in paths.items())
        matched = Matched(tuple(names), below, tuple(link for link in links if link), known=True)
        outside = [place for place in places.values() if not place.inside]
        spot = _spot(outside) if outside else unseen
        symlink = unseen.symlink or any(place.symlink for place in places.values())
        return replace(spot, symlink=symlink, pattern=matched)

    def search(self, search: Search, found: Found) -> tuple[Searched, bool]:
        """What lies where a command searches, and whether it searches all of a root, or more."""
        seen, top = Searched(), False
        words = search.directories or (Word(".", "."),)
        for word in words:
            spot = self.spot(word, word.text, found)
            starts = self._starts(word, spot, found)
            seen.complete = seen.complete and bool(starts)
            for start in starts:
                top = top or self._workspace.is_top(start)
                look(self._workspace.listing, start, search, seen)
        return seen, top

    def in_working_tree(self, search: Search, found: Found) -> bool:
        """Whether all that a command names lies in the working tree of git's that it certainly runs in."""
        words = [search.within, *(word.text for word in search.directories)]
        if self._lost or found.moved or any(HOLE in text or text.startswith(("/", "~")) for text in words):
            return False
        directories = self._of(found.scope)
        tops = {_working_tree(self._workspace.locate(search.within, at).normalised) for at in directories}
        top = tops.pop() if len(tops) == 1 else None
        if top is None:
            return False
        places = {posixpath.normpath(f"{at}/{text}") for at in directories for text in words}
        return all(place == top or place.startswith(f"{top}/") for place in places)

    def _starts(self, word: Word, spot: Spot, found: Found) -> list[str]:
        """Where a word of a search leads, in each directory that its command may run in."""
        if spot.location != "inside":
            return []
        directories = self._of(found.scope)
        if spot.pattern is None:
            placed = [self._workspace.locate(word.text, directory).normalised for directory in directories]
            return [place for place in placed if place]
        base = (spot.normalised or "").removesuffix("/".join(name.text for name in spot.pattern.names))
        return [f"{base}{path}" for path in spot.pattern.paths] or [base.rstrip("/")]

    def exists(self, text: str, found: Found) -> bool:
        """Whether a plain word happens to be the name of something in a directory the command may run in."""
        return any(self._workspace.exists(f"{directory}/{text}") for directory in self._of(found.scope))

    def _of(self, scope: Scope) -> list[str]:
        if self._chains:
            for around in _outwards(scope):
                if around.chain is not None and id(around.chain) in self._chains:
                    return self._chains[id(around.chain)]
        return self._directories

    def _joint(self, text: str, directories: list[str]) -> Spot:
        if text.startswith("/"):
            return _spot([self._workspace.locate(text)])
        if self._lost or not directories:
            return _UNKNOWN
        return _spot([self._workspace.locate(text, directory) for directory in directories])


def _working_tree(directory: str | None) -> str | None:
    """The directory with git's own that is next above, or is, an absolute one; None where none is seen."""
    above = [Path(directory), *Path(directory).parents] if directory else []
    own = (at for at in above if (at / ".git").is_file() or (at / ".git" / "HEAD").is_file())
    return next(map(str, own), None)


def _special(text: str) -> Spot | None:
    if text == PROCESS:
        return Spot("stream")
    if _STREAM.fullmatch(text):
        return Spot("stream", text)
    return Spot("network", text) if _NETWORK.match(text) else None


def _spot(places: list[Place]) -> Spot:
    last = places[-1]
    symlink = any(place.symlink for place in places)
    if all(place.inside for place in places):
        return Spot("inside", last.normalised, symlink)
    known = any(not place.inside and place.problem is None for place in places)
    return Spot("outside" if known else "unknown", last.normalised, symlink)


def _targets(found: Found, before: list[str], workspace: Workspace) -> list[str]:
    operands = [word for word in found.words[1:] if word.text not in {"-L", "-P", "-e", "-@", "--"}]
    target = operands[0] if len(operands) == 1 and found.name in {"cd", "chdir"} else None
    if target is None or target.literal is None or target.glob or target.tilde or target.text.startswith("-"):
        return []
    reached: list[str] = []
    for directory in before or (["/"] if target.text.startswith("/") else []):
        joined = os.path.join(directory, target.text)  # noqa: PTH118 - a Path would fold what is to be seen
        place = workspace.locate(joined)
        if place.normalised is None:
            return []
        # `cd` folds `..` by text, `cd -P` and other shells do not.
        reached = _merged(reached, [os.path.normpath(joined), place.normalised])
    return reached if len(reached) <= _MAX_DIRECTORIES else []


def _merged(some: list[str], others: list[str]) -> list[str]:
    return list(dict.fromkeys([*some, *others]))


def _outwards(scope: Scope | None) -> list[Scope]:
    around: list[Scope] = []
    while scope is not None:
        around.append(scope)
        scope = scope.parent
    return around
