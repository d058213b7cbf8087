"""Where a path leads: made absolute, links resolved, inside which root. Looks at the gateway's file system only."""

import errno
import os
import re
import stat
from dataclasses import dataclass
from enum import Enum, auto

from interlock_gateway.facts.listing import Listing

MAX_PATH_BYTES = 4096
MAX_NAME_BYTES = 255
MAX_COMPONENTS = 256
MAX_LINKS = 40
MAX_LOOKUPS = 5_000
"""How often one call may ask the file system about a name; links could be laid out to make it ask for ever."""

_REASONS = {
    "empty": "empty",
    "nul": "contains a NUL character",
    "control": "contains a control character",
    "padded": "starts or ends with white space, which a tool may remove",
    "home": "starts with ~, which a tool may expand",
    "url": "a URL, not a path",
}
_AMISS = re.compile(
    r"(?P<empty>\A\Z)|(?P<home>\A~)|(?P<url>\A[A-Za-z][A-Za-z0-9+.-]*:/)|(?P<nul>\x00)"
    r"|(?P<control>[\x01-\x1f\x7f\x80-\x9f\u2028\u2029])|(?P<padded>\A\s|\s\Z)"
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a path leads. `normalised` is absolute with links resolved, None when `problem` says why it is not known.

    `inside` is true only if it lies in a root both as the system reads it and as a tool that folds `..` by text would.
    """

    normalised: str | None = None
    root: str | None = None
    inside: bool = False
    symlink: bool = False
    exists: bool = False
    problem: str | None = None


class Workspace:
    """The roots a call may touch and where it starts: `base` is None when relative paths lead nowhere known.

    Of `roots` those count that lie inside one of `within`, links resolved: whoever may lay a link in the workspace must
    not make a root of it.
    """

    __slots__ = ("_bounds", "_lookups", "_places", "_roots", "base", "listing")

    def __init__(self, workdir: str, roots: tuple[str, ...], within: tuple[str, ...]) -> None:
        self._places: dict[tuple[str | None, str], Place] = {}
        self._lookups = _Lookups()
        self.listing = Listing()
        outer = self._resolved(within)
        known = [
            (root, path) for root, path in self._resolved(roots) if any(_lies_in(path, bound) for _, bound in outer)
        ]
        self._roots = sorted(known, key=lambda pair: len(pair[1]), reverse=True)
        self._bounds = sorted((bound for _, bound in outer), key=len, reverse=True)
        start = workdir or (roots[0] if roots else "")
        self.base = start if start.startswith("/") and _complaint(start) is None else None

    def _resolved(self, roots: tuple[str, ...]) -> list[tuple[str, str]]:
        """Each root that can be told, with where it is."""
        usable = [root for root in roots if _complaint(root) is None and root.startswith("/")]
        found = [(root, _resolve(root, self._lookups).normalised) for root in usable]
        return [(root, path) for root, path in found if path is not None]

    def locate(self, text: str, base: str | None = None) -> Place:
        """The place `text` names, relative to `base` or the workspace's own. Never raises."""
        base = self.base if base is None else base
        key = (base, text)
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = self._look(text, base)
        return place

    def _look(self, text: str, base: str | None) -> Place:
        complaint = _complaint(text)
        if complaint:
            return Place(problem=complaint)
        if not text.startswith("/"):
            if base is None:
                return Place(problem="relative, and no working directory is known")
            text = f"{base}/{text}"
        place = self._contained(_resolve(text, self._lookups))
        if ".." not in text or place.problem or not place.inside:
            return place
        folded = self._contained(_resolve(os.path.normpath(text), self._lookups))
        return place if folded.inside else folded

    def _contained(self, place: Place) -> Place:
        path = place.normalised
        if path is None:
            return place
        for root, resolved in self._roots:
            if _lies_in(path, resolved):
                return Place(path, root, inside=True, symlink=place.symlink, exists=place.exists)
        return place

    def exists(self, path: str) -> bool:
        """Whether something goes by an absolute path; true when it cannot be told."""
        try:
            return self._lookups.at(path) is not _Found.NOTHING
        except OSError:
            return True

    def is_top(self, path: str) -> bool:
        """Whether an absolute path without links is a root, or has one in it."""
        return any(_lies_in(resolved, path) for _, resolved in self._roots)

    def below_bound(self, place: Place) -> str | None:
        """The path from the innermost of the operator's roots, wherever in it the session's lies."""
        path = place.normalised
        if path is None or not place.inside:
            return None
        return next((path[len(bound) :].lstrip("/") for bound in self._bounds if _lies_in(path, bound)), None)

    def below_root(self, place: Place) -> str | None:
        """The path from its root, without a leading slash; None outside of every root."""
        for root, resolved in self._roots:
            if root == place.root and place.normalised is not None:
                return place.normalised[len(resolved) :].lstrip("/")
        return None


def _lies_in(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")


def workdir_inside(workdir: str, roots: tuple[str, ...], within: tuple[str, ...]) -> str | None:
    """Why a call's working directory is refused (TOOL-9), or None. Empty is the provider's own, and is not refused."""
    if not workdir:
        return None
    complaint = _complaint(workdir)
    if complaint:
        return f"the working directory is not usable: {complaint}"
    if not workdir.startswith("/"):
        return "the working directory must be an absolute path"
    if not roots:
        return "the session has no workspace roots, so no working directory lies inside one"
    place = Workspace(workdir, roots, within).locate(workdir)
    if place.problem:
        return f"the working directory is not usable: {place.problem}"
    return None if place.inside else f"the working directory {workdir} lies outside the session's workspace roots"


def _complaint(text: str) -> str | None:
    """Why `text` is not taken for a path, or None."""
    found = _AMISS.search(text)
    if found:
        return _REASONS[found.lastgroup or ""]
    try:
        raw = text.encode("utf-8")
    except UnicodeEncodeError:
        return "not valid Unicode"
    if len(raw) > MAX_PATH_BYTES:
        return f"longer than {MAX_PATH_BYTES} bytes"
    components = raw.split(b"/")
    if len(components) > MAX_COMPONENTS:
        return f"more than {MAX_COMPONENTS} components"
    if len(raw) > MAX_NAME_BYTES and max(map(len, components)) > MAX_NAME_BYTES:
        return f"a component longer than {MAX_NAME_BYTES} bytes"
    return None


class _Found(Enum):
    PLAIN = auto()
    NOTHING = auto()


class _Lookups:
    """Asks the file system about each name once, and about `MAX_LOOKUPS` at most."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[str, str | _Found] = {}

    def at(self, path: str) -> str | _Found:
        """Where a symbolic link points, or what else is there. Raises OSError when it cannot be told."""
        known = self._known.get(path)
        if known is None:
            if len(self._known) >= MAX_LOOKUPS:
                raise OSError(errno.EBUSY, "the call names more places than are looked at")
            known = self._known[path] = _look_up(path)
        return known


def _look_up(path: str) -> str | _Found:
    try:
        if not stat.S_ISLNK(os.lstat(path).st_mode):
            return _Found.PLAIN
        target = os.readlink(path)  # noqa: PTH115 - a Path would fold its parts
    except (FileNotFoundError, NotADirectoryError):
        return _Found.NOTHING
    if not target.isprintable() and _complaint(target):
        raise OSError(errno.EILSEQ, "a symbolic link to a name that is no text")
    return target


def _resolve(path: str, lookups: _Lookups) -> Place:
    """Follow `path`, which is absolute. A part that does not exist is taken as it stands; what follows is looked at."""
    waiting = path.split("/")[::-1]
    current, links, exists = "", 0, True
    while waiting:
        part = waiting.pop()
        if part in {"", "."}:
            continue
        if part == "..":
            current = current.rpartition("/")[0]
            continue
        candidate = f"{current}/{part}"
        try:
            target = lookups.at(candidate)
        except OSError as error:
            return Place(symlink=links > 0, problem=f"cannot be looked up: {error.strerror}")
        if not isinstance(target, str):
            exists = exists and target is _Found.PLAIN
            current = candidate
            continue
        links += 1
        if links > MAX_LINKS:
            return Place(symlink=True, problem="a loop of symbolic links")
        current = "" if target.startswith("/") else current
        waiting.extend(target.split("/")[::-1])
    return Place(current or "/", symlink=links > 0, exists=exists)
