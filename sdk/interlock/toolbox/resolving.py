"""Resolution of a place without a race: one walk for every kind of file system (BOX-12).

The walk opens each directory from the one before it, never following a link, and follows links by hand: it reads the
link and goes on from the open directory that the link lies in. A path is never handed to the system whole, so whatever
is swapped behind the walk's back, the directory it ends in was reached from a root through directories alone. A `..`
goes back along the directories that were opened, not to what `..` means to the system by then.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Generic, Protocol, Self, TypeVar

from interlock.toolbox.errors import MissingError, OperationError, OutsideRootsError, WrongKindError
from interlock.toolbox.operations import Place

MAX_LINKS = 40
SELF = "."


class Directory(Protocol):
    """An open directory."""

    def enter(self, name: str) -> Self:
        """Open a directory in this one. Raises FileNotFoundError, NotADirectoryError for anything else, links too."""
        ...

    def link(self, name: str) -> str | None:
        """What the link of that name says; None when there is no link of that name."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


D = TypeVar("D", bound=Directory)


@dataclass(frozen=True, slots=True)
class Found(Generic[D]):
    """Where a place is: `name` in an open directory, or the directory itself when the name is `SELF`.

    `place` is the same as a path without links. Nothing need be there, and what is there may change.
    """

    directory: D
    name: str
    place: Place


class LinkInTheWayError(OperationError):
    """A link where none may be followed."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} leads through a symbolic link")


class ParentMissingError(MissingError):
    """Directories on the way are missing; `missing` are they, outermost first, and `place` is where it would be."""

    def __init__(self, place: Place, missing: tuple[Place, ...]) -> None:
        super().__init__(str(place))
        self.place = place
        self.missing = missing


@dataclass(slots=True)
class _Walk(Generic[D]):
    """The directories opened so far, the names they were opened by, and what is still to be walked."""

    open_root: Callable[[str], D]
    wanted: Place
    roots: Sequence[str]
    follow_last: bool
    follow_any: bool
    root: str = ""
    opened: list[D] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    ahead: list[str] = field(default_factory=list)
    links: int = 0

    def run(self) -> Found[D]:
        self._start(self.wanted)
        while self.ahead:
            name = self.ahead.pop()
            if name == "..":
                self._back()
            elif name not in ("", SELF):
                if not any(one not in ("", SELF) for one in self.ahead):
                    target = self.opened[-1].link(name) if self.follow_last else None
                    if target is None:
                        return Found(self.opened[-1], name, self._here(name))
                    self._follow(target)
                else:
                    self._enter(name)
        return Found(self.opened[-1], SELF, self._here())

    def _here(self, *more: str) -> Place:
        return Place(self.root, (*self.names, *more), self.wanted.given)

    def _start(self, place: Place) -> None:
        self.close()
        self.root, self.names, self.ahead = place.root, [], list(reversed(place.parts))
        self.opened = [self.open_root(place.root)]

    def _back(self) -> None:
        if not self.names:
            raise OutsideRootsError(str(self.wanted))
        self.names.pop()
        self.opened.pop().close()

    def _enter(self, name: str) -> None:
        here = self.opened[-1]
        try:
            inner = here.enter(name)
        except FileNotFoundError:
            raise self._parent_missing(name) from None
        except NotADirectoryError:
            target = here.link(name)
            if target is None:
                raise WrongKindError(str(self.wanted), "in a directory") from None
            self._follow(target)
            return
        self.opened.append(inner)
        self.names.append(name)

    def _parent_missing(self, name: str) -> OperationError:
        rest = [one for one in reversed(self.ahead) if one not in ("", SELF)]
        if ".." in rest:
            return MissingError(str(self.wanted))
        missing = tuple(Place(self.root, (*self.names, name, *rest[:length])) for length in range(len(rest)))
        return ParentMissingError(self._here(name, *rest), missing)

    def _follow(self, target: str) -> None:
        self.links += 1
        if not self.follow_any or self.links > MAX_LINKS:
            raise LinkInTheWayError(str(self.wanted))
        path = PurePosixPath(target)
        if not path.is_absolute():
            self.ahead.extend(reversed(path.parts))
            return
        for root in sorted(self.roots, key=len, reverse=True):
            if path.is_relative_to(root):
                rest = tuple(reversed(self.ahead))
                self._start(Place(root, (*path.relative_to(root).parts, *rest)))
                return
        raise OutsideRootsError(str(self.wanted))

    def close(self) -> None:
        while self.opened:
            self.opened.pop().close()


@contextmanager
def resolved(
    place: Place,
    *,
    open_root: Callable[[str], D],
    roots: Sequence[str],
    follow_last: bool = True,
    follow_any: bool = True,
) -> Iterator[Found[D]]:
    """Resolve a place and hold its directory open for the block.

    Links are followed on the way if `follow_any`, and for the last name if `follow_last` too. Raises OutsideRootsError,
    WrongKindError, ParentMissingError, LinkInTheWayError; what the directories raise otherwise passes through.
    """
    walk = _Walk(open_root, place, roots, follow_last and follow_any, follow_any)
    try:
        yield walk.run()
    finally:
        walk.close()
