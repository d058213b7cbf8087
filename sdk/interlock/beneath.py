"""Find and open files beneath directories, without a race: whatever is swapped meanwhile, nothing leads outside.

The walk opens each directory from the one before it, never following a link, and follows links by hand: it reads the
link and goes on from the open directory that the link lies in. A path is never handed to the system whole, so whatever
is swapped behind the walk's back, the directory it ends in was reached from a root through directories alone. A `..`
goes back along the directories that were opened, not to what `..` means to the system by then.

The toolbox and the gateway find files by this walk, and so may any provider that serves directories:

    with walked("/srv/work", ("src", "app.py"), open_root=open_root, roots=["/srv/work"]) as found:
        descriptor = open_regular(found)

    BeneathError
    ├── OutsideError       the way leads out of the roots
    ├── LinksError         a link where none may be followed, or more of them than are followed
    ├── NotDirectoryError  something on the way is no directory
    └── NotThereError      a directory on the way is missing

Errors of the operating system pass through.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Generic, Protocol, Self, TypeVar

__all__ = [
    "BeneathError",
    "Directory",
    "Found",
    "LinksError",
    "NotDirectoryError",
    "NotThereError",
    "OpenDirectory",
    "OutsideError",
    "open_regular",
    "open_root",
    "walked",
]

MAX_LINKS = 40
SELF = "."

# A directory opened for its names alone needs no permission to list it; only Linux has that.
_PATH_ONLY: int = getattr(os, "O_PATH", os.O_RDONLY)
_ENTER = _PATH_ONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


class BeneathError(Exception):
    """Root of what the walk raises."""


class OutsideError(BeneathError):
    """The way leads out of the roots: by `..`, or by a link."""


class LinksError(BeneathError):
    """A link where none may be followed, or more of them than are followed."""


class NotDirectoryError(BeneathError):
    """Something on the way is neither a directory nor a link."""


class NotThereError(BeneathError):
    """A directory on the way is missing.

    `parts` is where the wanted would be beneath `root`, and `missing` are the directories missing, outermost first;
    both None when a `..` behind the missing directory makes it impossible to say.
    """

    def __init__(
        self, root: str, parts: tuple[str, ...] | None = None, missing: tuple[tuple[str, ...], ...] | None = None
    ) -> None:
        super().__init__("a directory on the way is missing")
        self.root = root
        self.parts = parts
        self.missing = missing


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
    """Where the wanted is: `name` in an open directory, or the directory itself when the name is `.`.

    `root` and `parts` are the same as a path without links. Nothing need be there, and what is there may change.
    """

    directory: D
    name: str
    root: str
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OpenDirectory:
    """A directory of this machine, held open."""

    fd: int

    def enter(self, name: str) -> "OpenDirectory":
        """Open a directory in this one, not through a link."""
        try:
            return OpenDirectory(os.open(name, _ENTER, dir_fd=self.fd))
        except OSError as error:
            if error.errno == errno.ELOOP:  # how some systems answer where Linux says that it is no directory
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)) from error
            raise

    def link(self, name: str) -> str | None:
        """What the link of that name says, or None."""
        try:
            return os.readlink(name, dir_fd=self.fd)
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ENOENT):
                return None
            raise

    def close(self) -> None:
        """Close it."""
        os.close(self.fd)


def open_root(root: str) -> OpenDirectory:
    """A directory named by whoever configured it, who may name it through links."""
    return OpenDirectory(os.open(root, _PATH_ONLY | os.O_DIRECTORY | os.O_CLOEXEC))


def open_regular(found: Found[OpenDirectory]) -> int | None:
    """A descriptor for reading the regular file found there; None when it is no regular file.

    Pipes, sockets and devices are not opened, and never waited for. Raises OSError: nothing is there, it may not be
    read, it was swapped for something else meanwhile.
    """
    if not stat.S_ISREG(os.stat(found.name, dir_fd=found.directory.fd, follow_symlinks=False).st_mode):
        return None
    descriptor = os.open(found.name, _READ, dir_fd=found.directory.fd)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.ELOOP, "it was swapped for something else while it was opened")


@dataclass(slots=True)
class _Walk(Generic[D]):
    """The directories opened so far, the names they were opened by, and what is still to be walked."""

    open_root: Callable[[str], D]
    roots: Sequence[str]
    follow_last: bool
    follow_any: bool
    root: str = ""
    opened: list[D] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    ahead: list[str] = field(default_factory=list)
    links: int = 0

    def run(self, root: str, parts: tuple[str, ...]) -> Found[D]:
        self._start(root, parts)
        while self.ahead:
            name = self.ahead.pop()
            if name == "..":
                self._back()
            elif name not in ("", SELF):
                if not any(one not in ("", SELF) for one in self.ahead):
                    target = self.opened[-1].link(name) if self.follow_last else None
                    if target is None:
                        return Found(self.opened[-1], name, self.root, (*self.names, name))
                    self._follow(target)
                else:
                    self._enter(name)
        return Found(self.opened[-1], SELF, self.root, tuple(self.names))

    def _start(self, root: str, parts: tuple[str, ...]) -> None:
        self.close()
        self.root, self.names, self.ahead = root, [], list(reversed(parts))
        self.opened = [self.open_root(root)]

    def _back(self) -> None:
        if not self.names:
            raise OutsideError("the way leads out of the roots")
        self.names.pop()
        self.opened.pop().close()

    def _enter(self, name: str) -> None:
        here = self.opened[-1]
        try:
            inner = here.enter(name)
        except FileNotFoundError:
            raise self._not_there(name) from None
        except NotADirectoryError:
            target = here.link(name)
            if target is None:
                raise NotDirectoryError("something on the way is no directory") from None
            self._follow(target)
            return
        self.opened.append(inner)
        self.names.append(name)

    def _not_there(self, name: str) -> NotThereError:
        rest = [one for one in reversed(self.ahead) if one not in ("", SELF)]
        if ".." in rest:
            return NotThereError(self.root)
        missing = tuple((*self.names, name, *rest[:length]) for length in range(len(rest)))
        return NotThereError(self.root, (*self.names, name, *rest), missing)

    def _follow(self, target: str) -> None:
        self.links += 1
        if not self.follow_any or self.links > MAX_LINKS:
            raise LinksError("a symbolic link is in the way")
        path = PurePosixPath(target)
        if not path.is_absolute():
            self.ahead.extend(reversed(path.parts))
            return
        for root in sorted(self.roots, key=len, reverse=True):
            if path.is_relative_to(root):
                rest = tuple(reversed(self.ahead))
                self._start(root, (*path.relative_to(root).parts, *rest))
                return
        raise OutsideError("a symbolic link leads out of the roots")

    def close(self) -> None:
        while self.opened:
            self.opened.pop().close()


@contextmanager
def walked(
    root: str,
    parts: tuple[str, ...],
    *,
    open_root: Callable[[str], D],
    roots: Sequence[str],
    follow_last: bool = True,
    follow_any: bool = True,
) -> Iterator[Found[D]]:
    """Walk from a root, by names, to what is wanted, and hold its directory open for the block.

    Links are followed on the way if `follow_any`, and for the last name if `follow_last` too; one that is absolute goes
    on from the root in `roots` that it names. Raises `BeneathError`; what the directories raise otherwise passes
    through.
    """
    walk = _Walk(open_root, roots, follow_last and follow_any, follow_any)
    try:
        yield walk.run(root, parts)
    finally:
        walk.close()
