"""What the tools ask for, so that they never call the operating system themselves (BOX-1).

`Operations` is four parts: `Files` beneath the roots, a `Vault` outside them for what undo needs, a `Shell`, and a
`LineSearch` over many files.
`interlock.toolbox.local` has them on this machine, `interlock.toolbox.memory` without touching it. One suite of tests
holds every implementation to what is written here.

All calls block and may be made from any thread, except for those of `Shell`, which are asynchronous. All raise the
errors of `interlock.toolbox.errors` and no others.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, BinaryIO, Protocol

from interlock.toolbox.expressions import Expression

MAX_FILE_BYTES = 64 * 1024 * 1024


class Kind(StrEnum):
    """What lies at a path. A symbolic link is one only where links are not followed."""

    FILE = "file"
    DIRECTORY = "directory"
    LINK = "link"
    SPECIAL = "special"


@dataclass(frozen=True, slots=True)
class Place:
    """A path in one of the roots: names from the root down, `..` included, nothing resolved yet.

    A place is a wish. Each operation resolves it anew, component by component, and refuses what leads outside.
    `given` is the path as the caller wrote it, which error messages use.
    """

    root: str
    parts: tuple[str, ...] = ()
    given: str = field(default="", compare=False)

    @property
    def path(self) -> str:
        """The absolute path, which is for showing and comparing; no operation hands it to a system."""
        return "/".join((self.root.rstrip("/"), *self.parts)) or "/"

    def __str__(self) -> str:
        return self.given or self.path

    def __truediv__(self, name: str) -> "Place":
        return Place(self.root, (*self.parts, name))


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a directory. `size` is in bytes and meaningful for files; `mode` is the permission bits."""

    name: str
    kind: Kind
    size: int
    mode: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A file's whole state, or the absence of one.

    `place` is where it really is, links followed. `content` is None when there is nothing; `missing` then names the
    parent directories that would have to be made, outermost first.
    """

    place: Place
    content: bytes | None
    mode: int = 0
    missing: tuple[Place, ...] = ()

    @property
    def token(self) -> str:
        """Identifies this state: the same file with the same bytes and mode, or the same absence."""
        if self.content is None:
            return _digest(b"absent", *(place.path.encode(errors="surrogateescape") for place in self.missing))
        return _digest(b"file", b"%o" % self.mode, self.content)


@dataclass(frozen=True, slots=True)
class Tree:
    """A file, link or directory with all that is in it, as it would be moved away.

    `token` identifies its state. `names` are the paths in it, itself first, relative to its parent and sorted, no more
    than were asked for; `count` and `total_bytes` are of all of them.
    """

    place: Place
    kind: Kind
    token: str
    names: tuple[str, ...]
    count: int
    total_bytes: int


class Files(Protocol):
    """Files and directories beneath the roots. Everything is refused that leads outside, links included (BOX-12)."""

    @property
    def roots(self) -> tuple[str, ...]:
        """The absolute paths of the roots."""
        ...

    def resolve(self, place: Place) -> Place:
        """Where the place really is, links followed; the last name need not exist. Gone by the time it is returned."""
        ...

    def stat(self, place: Place) -> Entry:
        """What is there, links followed."""
        ...

    def entries(self, place: Place) -> Sequence[Entry]:
        """The entries of a directory by name, links not followed."""
        ...

    def read_link(self, place: Place) -> str:
        """What a symbolic link says, which may lie outside."""
        ...

    def open(self, place: Place) -> BinaryIO:
        """A regular file, open for reading. The caller closes it."""
        ...

    def snapshot(self, place: Place) -> Snapshot:
        """The file at the place, or its absence. Raises TooLargeError above `MAX_FILE_BYTES`."""
        ...

    def replace(self, snapshot: Snapshot, content: bytes, mode: int) -> None:
        """Put a whole file in the place of what the snapshot found, atomically, making the parents it missed.

        Raises ChangedError when the state there is not the snapshot's; then nothing has changed.
        """
        ...

    def remove(self, snapshot: Snapshot) -> None:
        """Remove the file that the snapshot found. Raises ChangedError as `replace` does."""
        ...

    def make_directory(self, place: Place) -> None:
        """Make one directory in an existing one. Raises AlreadyThereError."""
        ...

    def remove_directory(self, place: Place) -> bool:
        """Remove a directory if it is there and empty, and say whether it was removed."""
        ...

    def identity(self, place: Place) -> str:
        """Identifies what is there, the link itself if it is one: the same when renamed, another when a file changes.

        A directory keeps its identity whatever happens in it. Raises MissingError, WrongKindError for a root.
        """
        ...

    def rename(self, source: Place, target: Place) -> None:
        """Move within one root, the link itself if it is one, and through no link on the way.

        Raises AlreadyThereError rather than replace anything.
        """
        ...

    def tree(self, place: Place, most_names: int) -> Tree:
        """What a removal of the place would take: the link itself if it is one. Raises WrongKindError for a root."""
        ...

    def trash(self, tree: Tree, slot: str) -> None:
        """Move the tree into a new slot of the vault's trash, all or nothing. Raises ChangedError as `replace` does."""
        ...

    def untrash(self, slot: str, place: Place) -> None:
        """Move a slot's tree back to where it was. Raises AlreadyThereError, MissingError for an empty slot."""
        ...


class Vault(Protocol):
    """Where undo keeps what it needs, outside the roots: contents by digest, and records by id."""

    def keep(self, content: bytes) -> str:
        """Store the content durably; its SHA-256 in hexadecimal."""
        ...

    def kept(self, digest: str) -> bytes:
        """What was kept under the digest, verified. Raises MissingError, StorageError when it is damaged."""
        ...

    def save(self, record_id: str, record: Mapping[str, Any]) -> None:
        """Store or replace a record durably."""
        ...

    def load(self, record_id: str) -> dict[str, Any]:
        """The record of that id. Raises MissingError."""
        ...

    def trash_holds(self, slot: str) -> bool:
        """Whether there is something in the slot of the trash."""
        ...

    def sweep(self, older_than_s: float) -> int:
        """Forget records older than this, with their trash and contents nothing else needs; how many were forgotten."""
        ...


@dataclass(frozen=True, slots=True)
class Exit:
    """How a command ended. `code` is None when a signal ended it, `signal` is that signal's name or empty.

    `left_behind` says that processes it had started in the background were still running, and were ended with it.
    """

    code: int | None
    signal: str
    duration_s: float
    timed_out: bool = False
    left_behind: bool = False


class Shell(Protocol):
    """Commands. A shell is not confined to the roots: what it may run is for policy to say."""

    async def run(self, command: str, *, cwd: Place, timeout_s: float, on_output: Callable[[bytes], None]) -> Exit:
        """Run a script to its end, its output and errors in one stream, with no input and the allowed environment only.

        Its whole process group is ended on timeout, on cancellation, and when it leaves processes behind.
        """
        ...


@dataclass(frozen=True, slots=True)
class LineMatch:
    """A line that an expression matches in: its number from 1, and its text, which is cut when it is very long."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class SearchBudget:
    """How long a search may go on: until a `time.monotonic()` value, and while `stop` is not true."""

    most_per_file: int
    until: float
    stop: Callable[[], bool]


class LineSearch(Protocol):
    """Regular expressions over many files."""

    def lines(
        self, places: Sequence[Place], wanted: Expression, budget: SearchBudget
    ) -> Sequence[tuple[LineMatch, ...] | None]:
        """The matching lines of each file, no more of each than asked for; None for one that is no text, or too large.

        Raises OperationError when the budget is spent.
        """
        ...


@dataclass(frozen=True, slots=True)
class Operations:
    """All that the tools may touch."""

    files: Files
    vault: Vault
    shell: Shell
    search: LineSearch


def _digest(*parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()
