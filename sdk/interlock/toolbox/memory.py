"""Operations that touch nothing: a tree of files in memory, a vault beside it, and a shell that follows a script.

For tests of tools and of what is built on them. It keeps to the same rules as the local operations, links included.
"""

import errno
import hashlib
import io
import os
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, BinaryIO, TypeAlias

from interlock.toolbox.errors import (
    AlreadyThereError,
    ChangedError,
    MissingError,
    RootError,
    StorageError,
    TooLargeError,
    WrongKindError,
    os_errors_of,
)
from interlock.toolbox.operations import MAX_FILE_BYTES, Entry, Exit, Kind, Operations, Place, Snapshot, Tree
from interlock.toolbox.resolving import SELF, Found, ParentMissingError, resolved
from interlock.toolbox.searching import PythonSearch

_FILE_MODE, _DIRECTORY_MODE, _LINK_MODE = 0o644, 0o755, 0o777


@dataclass(slots=True)
class Node:
    """A file, directory or link of the tree; which one is said by the kind."""

    kind: Kind
    mode: int
    content: bytes = b""
    target: str = ""
    children: dict[str, "Node"] = field(default_factory=dict)


def _raise(code: int) -> OSError:
    return OSError(code, os.strerror(code))


@dataclass(frozen=True, slots=True)
class MemoryDirectory:
    """A directory of the tree, held open."""

    node: Node

    def enter(self, name: str) -> "MemoryDirectory":
        """Open a directory in this one, not through a link."""
        inner = self.child(name)
        if inner.kind is not Kind.DIRECTORY:
            raise _raise(errno.ENOTDIR)
        return MemoryDirectory(inner)

    def link(self, name: str) -> str | None:
        """What the link of that name says, or None."""
        inner = self.node.children.get(name)
        return inner.target if inner is not None and inner.kind is Kind.LINK else None

    def close(self) -> None:
        """Nothing to let go of."""

    def child(self, name: str) -> Node:
        """What has that name in this directory."""
        if name == SELF:
            return self.node
        if name not in self.node.children:
            raise _raise(errno.ENOENT)
        return self.node.children[name]


class MemoryFiles:
    """`Files` beneath roots that exist in memory only, such as `/work`."""

    def __init__(self, roots: Sequence[str], vault: "MemoryVault") -> None:
        self._trees = {root: Node(Kind.DIRECTORY, _DIRECTORY_MODE) for root in roots}
        self._vault = vault
        self._turn = threading.RLock()

    @property
    def roots(self) -> tuple[str, ...]:
        """The absolute paths of the roots."""
        return tuple(self._trees)

    def put(self, path: str, content: bytes, mode: int = _FILE_MODE) -> None:
        """Put a file there, as somebody else would, with the directories it needs."""
        self._put(path, Node(Kind.FILE, mode, content))

    def put_link(self, path: str, target: str) -> None:
        """Put a symbolic link there, as somebody else would."""
        self._put(path, Node(Kind.LINK, _LINK_MODE, target=target))

    def put_directory(self, path: str) -> None:
        """Put an empty directory there, as somebody else would."""
        self._put(path, Node(Kind.DIRECTORY, _DIRECTORY_MODE))

    def _put(self, path: str, node: Node) -> None:
        whole = PurePosixPath(path)
        root = next(one for one in self._trees if whole.is_relative_to(one))
        here = self._trees[root]
        *parents, name = whole.relative_to(root).parts
        for parent in parents:
            here = here.children.setdefault(parent, Node(Kind.DIRECTORY, _DIRECTORY_MODE))
        here.children[name] = node

    def resolve(self, place: Place) -> Place:
        """Where the place really is."""
        with self._found(place) as found:
            return found.place

    def stat(self, place: Place) -> Entry:
        """What is there."""
        with self._found(place) as found:
            return _entry(found.place.parts[-1] if found.place.parts else SELF, found.directory.child(found.name))

    def entries(self, place: Place) -> Sequence[Entry]:
        """The entries of a directory."""
        with self._found(place) as found:
            inner = found.directory if found.name == SELF else found.directory.enter(found.name)
            return [_entry(name, node) for name, node in sorted(inner.node.children.items())]

    def read_link(self, place: Place) -> str:
        """What a link says."""
        with self._found(place, follow_last=False) as found:
            target = found.directory.link(found.name)
        if target is None:
            raise WrongKindError(str(place), "a symbolic link")
        return target

    def open(self, place: Place) -> BinaryIO:
        """A file, open for reading."""
        with self._found(place) as found:
            return io.BytesIO(_file(found).content)

    def snapshot(self, place: Place) -> Snapshot:
        """The file's state."""
        try:
            with self._found(place) as found:
                return _snapshot(found)
        except ParentMissingError as error:
            return Snapshot(error.place, None, missing=error.missing)

    def replace(self, snapshot: Snapshot, content: bytes, mode: int) -> None:
        """Put a whole file in the place of what the snapshot found."""
        with self._as_before(snapshot):
            for parent in snapshot.missing:
                self.make_directory(parent)
            with self._found(snapshot.place, follow_any=False) as found:
                found.directory.node.children[found.name] = Node(Kind.FILE, mode, content)

    def remove(self, snapshot: Snapshot) -> None:
        """Remove the file that the snapshot found."""
        with self._as_before(snapshot), self._found(snapshot.place, follow_any=False) as found:
            found.directory.child(found.name)
            del found.directory.node.children[found.name]

    def make_directory(self, place: Place) -> None:
        """Make one directory."""
        with self._found(place) as found:
            if found.name == SELF or found.name in found.directory.node.children:
                raise AlreadyThereError(str(place))
            found.directory.node.children[found.name] = Node(Kind.DIRECTORY, _DIRECTORY_MODE)

    def remove_directory(self, place: Place) -> bool:
        """Remove a directory if it is there and empty."""
        try:
            with self._found(place, follow_any=False) as found:
                if found.name == SELF or found.directory.enter(found.name).node.children:
                    return False
                del found.directory.node.children[found.name]
        except (MissingError, WrongKindError):
            return False
        return True

    def identity(self, place: Place) -> str:
        """Identifies what is there."""
        with self._found(place, follow_last=False) as found:
            _refuse_root(found)
            node = found.directory.child(found.name)
            return f"{node.kind}:{id(node)}:{hashlib.sha256(node.content).hexdigest()}"

    def rename(self, source: Place, target: Place) -> None:
        """Move to a free name."""
        with self._found(source, follow_any=False) as old, self._found(target, follow_any=False) as new:
            _refuse_root(old)
            _refuse_root(new)
            node = old.directory.child(old.name)
            if new.name in new.directory.node.children:
                raise AlreadyThereError(str(target))
            new.directory.node.children[new.name] = node
            del old.directory.node.children[old.name]

    def tree(self, place: Place, most_names: int) -> Tree:
        """What a removal would take."""
        with self._found(place, follow_last=False) as found:
            _refuse_root(found)
            return _tree(found, most_names)

    def trash(self, tree: Tree, slot: str) -> None:
        """Move a tree into the vault."""
        with self._found(tree.place, follow_any=False) as found:
            if _tree(found, 0).token != tree.token:
                raise ChangedError(str(tree.place))
            self._vault.slots[slot] = found.directory.node.children.pop(found.name)

    def untrash(self, slot: str, place: Place) -> None:
        """Move a tree back from the vault."""
        with self._found(place, follow_any=False) as found:
            if slot not in self._vault.slots:
                raise MissingError("what was deleted")
            if found.name in found.directory.node.children:
                raise AlreadyThereError(str(place))
            found.directory.node.children[found.name] = self._vault.slots.pop(slot)

    def _open_root(self, root: str) -> MemoryDirectory:
        return MemoryDirectory(self._trees[root])

    @contextmanager
    def _found(
        self, place: Place, *, follow_last: bool = True, follow_any: bool = True
    ) -> Iterator[Found[MemoryDirectory]]:
        walk: Callable[..., AbstractContextManager[Found[MemoryDirectory]]] = resolved
        with (
            self._turn,
            os_errors_of(str(place)),
            walk(
                place,
                open_root=self._open_root,
                roots=self.roots,
                follow_last=follow_last,
                follow_any=follow_any,
            ) as found,
        ):
            yield found

    @contextmanager
    def _as_before(self, snapshot: Snapshot) -> Iterator[None]:
        with self._turn:
            try:
                now = self.snapshot(snapshot.place)
            except WrongKindError as error:
                raise ChangedError(str(snapshot.place)) from error
            if now != snapshot:
                raise ChangedError(str(snapshot.place))
            yield


def _entry(name: str, node: Node) -> Entry:
    return Entry(name, node.kind, len(node.content), node.mode)


def _refuse_root(found: Found[MemoryDirectory]) -> None:
    if found.name == SELF:
        raise RootError(str(found.place))


def _file(found: Found[MemoryDirectory]) -> Node:
    node = found.directory.child(found.name)
    if node.kind is not Kind.FILE:
        raise WrongKindError(str(found.place), "a file")
    return node


def _snapshot(found: Found[MemoryDirectory]) -> Snapshot:
    try:
        node = _file(found)
    except FileNotFoundError:
        return Snapshot(found.place, None)
    if len(node.content) > MAX_FILE_BYTES:
        raise TooLargeError(str(found.place), MAX_FILE_BYTES)
    return Snapshot(found.place, node.content, node.mode)


def _walk(path: PurePosixPath, node: Node) -> Iterator[tuple[PurePosixPath, Node]]:
    yield path, node
    for name, child in sorted(node.children.items()):
        yield from _walk(path / name, child)


def _tree(found: Found[MemoryDirectory], most_names: int) -> Tree:
    top = found.directory.child(found.name)
    entries = list(_walk(PurePosixPath(found.name), top))
    digest = hashlib.sha256()
    for path, node in entries:
        digest.update(repr((str(path), node.kind, node.mode, node.content, node.target)).encode())
    names = [str(path) + ("/" if node.kind is Kind.DIRECTORY else "") for path, node in entries[:most_names]]
    total = sum(len(node.content) for _, node in entries)
    return Tree(found.place, top.kind, digest.hexdigest(), tuple(names), len(entries), total)


class MemoryVault:
    """`Vault` in memory. Nothing is old enough to be swept."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}
        self.records: dict[str, dict[str, Any]] = {}
        self.slots: dict[str, Node] = {}

    def keep(self, content: bytes) -> str:
        """Store the content."""
        digest = hashlib.sha256(content).hexdigest()
        self.contents[digest] = content
        return digest

    def kept(self, digest: str) -> bytes:
        """What was kept under the digest."""
        if digest not in self.contents:
            raise MissingError("the record")
        if hashlib.sha256(self.contents[digest]).hexdigest() != digest:
            raise StorageError("the previous content", "it was damaged in the state directory")
        return self.contents[digest]

    def save(self, record_id: str, record: Mapping[str, Any]) -> None:
        """Store a record."""
        self.records[record_id] = dict(record)

    def load(self, record_id: str) -> dict[str, Any]:
        """The record of that id."""
        if record_id not in self.records:
            raise MissingError("the record")
        return dict(self.records[record_id])

    def trash_holds(self, slot: str) -> bool:
        """Whether there is something in the slot."""
        return slot in self.slots

    def sweep(self, older_than_s: float) -> int:
        """Nothing is old."""
        del older_than_s
        return 0


Script: TypeAlias = Callable[[str, Place, Callable[[bytes], None]], Awaitable[Exit]]


class MemoryShell:
    """`Shell` that hands commands to a function; without one, every command is unknown and ends with code 127."""

    def __init__(self, script: Script | None = None) -> None:
        self._script = script

    async def run(self, command: str, *, cwd: Place, timeout_s: float, on_output: Callable[[bytes], None]) -> Exit:
        """What the script makes of the command."""
        del timeout_s
        if self._script is not None:
            return await self._script(command, cwd, on_output)
        on_output(b"command not found\n")
        return Exit(127, "", 0.0)


def memory_operations(
    roots: Sequence[str] = ("/work",), script: Script | None = None
) -> tuple[Operations, MemoryFiles]:
    """Operations in memory, and their files, to put things there and look at them."""
    vault = MemoryVault()
    files = MemoryFiles(roots, vault)
    return Operations(files, vault, MemoryShell(script), PythonSearch(files)), files
