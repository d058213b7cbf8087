"""Files on this machine, each reached from its root through open directories (BOX-12)."""

import hashlib
import os
import stat
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from interlock import beneath
from interlock.beneath import OpenDirectory, open_regular, open_root
from interlock.toolbox import local_tree
from interlock.toolbox.errors import (
    AlreadyThereError,
    ChangedError,
    MissingError,
    RootError,
    TooLargeError,
    WrongKindError,
    os_errors_of,
)
from interlock.toolbox.local_vault import LocalVault
from interlock.toolbox.operations import MAX_FILE_BYTES, Entry, Kind, Place, Snapshot, Tree
from interlock.toolbox.resolving import SELF, Found, LinkInTheWayError, ParentMissingError, resolved


def kind_of(mode: int) -> Kind:
    """The kind of file that a mode of the system's says."""
    if stat.S_ISREG(mode):
        return Kind.FILE
    if stat.S_ISDIR(mode):
        return Kind.DIRECTORY
    return Kind.LINK if stat.S_ISLNK(mode) else Kind.SPECIAL


class LocalFiles:
    """`Files` beneath directories of this machine. Writers in this process take turns, so none loses another's change.

    A root that is reached through a link counts under both names. Hard links and mounts beneath a root are what they
    look like: who can make one decides what is inside. Raises ValueError for a root that is no directory, or
    that overlaps with the vault.
    """

    def __init__(self, roots: Sequence[Path], vault: LocalVault) -> None:
        if not roots:
            raise ValueError("at least one root is needed")
        names: dict[str, None] = {}
        for root in roots:
            real = root.resolve()
            if not real.is_dir():
                raise ValueError(f"the root {root} is not a directory")
            if real.is_relative_to(vault.directory) or vault.directory.is_relative_to(real):
                raise ValueError(
                    f"the state directory {vault.directory} and the root {root} must not contain each other"
                )
            names |= {os.path.normpath(root.absolute()): None, str(real): None}
        self._roots = tuple(names)
        self._vault = vault
        self._turn = threading.Lock()

    @property
    def roots(self) -> tuple[str, ...]:
        """The absolute paths of the roots, as given and with links resolved."""
        return self._roots

    def resolve(self, place: Place) -> Place:
        """Where the place really is."""
        with self._found(place) as found:
            return found.place

    def stat(self, place: Place) -> Entry:
        """What is there."""
        with self._found(place) as found:
            return _entry(found.place.parts[-1] if found.place.parts else SELF, _lstat(found))

    def entries(self, place: Place) -> Sequence[Entry]:
        """The entries of a directory."""
        with self.open_directory(place) as fd:
            return [
                _entry(name, each) for name in local_tree.names_in(fd) if (each := _lstat_or_none(name, fd)) is not None
            ]

    def read_link(self, place: Place) -> str:
        """What a link says."""
        with self._found(place, follow_last=False) as found:
            target = found.directory.link(found.name)
        if target is None:
            raise WrongKindError(str(place), "a symbolic link")
        return target

    def open(self, place: Place) -> BinaryIO:
        """A regular file, open for reading."""
        with self._found(place) as found:
            return _open_regular(found)

    @contextmanager
    def open_directory(self, place: Place) -> Iterator[int]:
        """A directory's descriptor, open for the block."""
        flags = os.O_RDONLY | os.O_DIRECTORY
        with self._found(place) as found, local_tree.opened(found.name, flags, dir_fd=found.directory.fd) as fd:
            yield fd

    def snapshot(self, place: Place) -> Snapshot:
        """The file's state."""
        try:
            with self._found(place) as found:
                return _snapshot(found)
        except ParentMissingError as error:
            return Snapshot(error.place, None, missing=error.missing)

    def replace(self, snapshot: Snapshot, content: bytes, mode: int) -> None:
        """Put a whole file in the place of what the snapshot found."""
        with self._turn:
            made: list[Place] = []
            try:
                self._make_missing(snapshot, made)
                with self._as_before(snapshot) as found:
                    _replace(found, content, mode, fresh=snapshot.content is None)
            except BaseException:
                for parent in reversed(made):
                    self.remove_directory(parent)
                raise

    def _make_missing(self, snapshot: Snapshot, made: list[Place]) -> None:
        """Make the parents that the snapshot missed; all of them have to be missing still."""
        for parent in snapshot.missing:
            try:
                with self._found(parent, follow_any=False) as found:
                    os.mkdir(found.name, dir_fd=found.directory.fd)
                    made.append(parent)
                    local_tree.sync_directory(found.directory.fd)
            except (AlreadyThereError, MissingError, WrongKindError, LinkInTheWayError) as error:
                raise ChangedError(str(snapshot.place)) from error

    def remove(self, snapshot: Snapshot) -> None:
        """Remove the file that the snapshot found."""
        with self._turn, self._as_before(snapshot) as found:
            os.unlink(found.name, dir_fd=found.directory.fd)
            local_tree.sync_directory(found.directory.fd)

    def make_directory(self, place: Place) -> None:
        """Make one directory."""
        with self._found(place) as found:
            os.mkdir(found.name, dir_fd=found.directory.fd)
            local_tree.sync_directory(found.directory.fd)

    def remove_directory(self, place: Place) -> bool:
        """Remove a directory if it is there and empty."""
        try:
            with self._found(place, follow_any=False) as found:
                local_tree.remove_empty_directory(found.name, dir_fd=found.directory.fd)
        except (MissingError, AlreadyThereError, WrongKindError):
            return False
        return True

    def identity(self, place: Place) -> str:
        """Identifies what is there."""
        with self._found(place, follow_last=False) as found:
            _refuse_roots(found)
            now = _lstat(found)
        kind = kind_of(now.st_mode)
        state = f":{now.st_size}:{now.st_mtime_ns}" if kind is Kind.FILE else ""
        return f"{kind}:{now.st_dev}:{now.st_ino}{state}"

    def rename(self, source: Place, target: Place) -> None:
        """Move to a free name."""
        with self._turn, self._found(source, follow_any=False) as old, self._found(target, follow_any=False) as new:
            _refuse_roots(old, new)
            local_tree.rename_to_free_name(old.name, new.name, source_fd=old.directory.fd, target_fd=new.directory.fd)
            local_tree.sync_directory(new.directory.fd)
            local_tree.sync_directory(old.directory.fd)

    def tree(self, place: Place, most_names: int) -> Tree:
        """What a removal would take."""
        with self._found(place, follow_last=False) as found:
            _refuse_roots(found)
            return _tree(found, most_names)

    def trash(self, tree: Tree, slot: str) -> None:
        """Move a tree into the vault."""
        with self._turn, self._found(tree.place, follow_any=False) as found, self._vault.new_slot(slot) as slot_fd:
            wanted = _lstat(found)
            if _tree(found, 0).token != tree.token:
                raise ChangedError(str(tree.place))
            local_tree.move_tree(
                found.name, self._vault.ITEM, source_fd=found.directory.fd, target_fd=slot_fd, wanted=wanted
            )

    def untrash(self, slot: str, place: Place) -> None:
        """Move a tree back from the vault."""
        with self._turn, self._found(place, follow_any=False) as found, self._vault.slot(slot) as slot_fd:
            local_tree.move_tree(self._vault.ITEM, found.name, source_fd=slot_fd, target_fd=found.directory.fd)
        self._vault.forget_slot(slot)

    @contextmanager
    def _found(
        self, place: Place, *, follow_last: bool = True, follow_any: bool = True
    ) -> Iterator[Found[OpenDirectory]]:
        walk: Callable[..., AbstractContextManager[Found[OpenDirectory]]] = resolved
        with (
            os_errors_of(str(place)),
            walk(
                place,
                open_root=open_root,
                roots=self._roots,
                follow_last=follow_last,
                follow_any=follow_any,
            ) as found,
        ):
            yield found

    @contextmanager
    def _as_before(self, snapshot: Snapshot) -> Iterator[Found[OpenDirectory]]:
        """The snapshot's place, found without following a link and holding just what the snapshot found."""
        try:
            with self._found(snapshot.place, follow_any=False) as found:
                now = _snapshot(found)
                if (now.content, now.mode) != (snapshot.content, snapshot.mode):
                    raise ChangedError(str(snapshot.place))
                yield found
        except (MissingError, LinkInTheWayError, AlreadyThereError, WrongKindError) as error:
            raise ChangedError(str(snapshot.place)) from error


def _lstat(found: Found[OpenDirectory]) -> os.stat_result:
    return os.stat(found.name, dir_fd=found.directory.fd, follow_symlinks=False)


def _lstat_or_none(name: str, dir_fd: int) -> os.stat_result | None:
    with suppress(FileNotFoundError):
        return os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
    return None


def _entry(name: str, found: os.stat_result) -> Entry:
    return Entry(name, kind_of(found.st_mode), found.st_size, stat.S_IMODE(found.st_mode))


def _refuse_roots(*places: Found[OpenDirectory]) -> None:
    for found in places:
        if found.name == SELF:
            raise RootError(str(found.place))


def _open_regular(found: Found[OpenDirectory]) -> BinaryIO:
    descriptor = open_regular(beneath.Found(found.directory, found.name, found.place.root, found.place.parts))
    if descriptor is None:
        raise WrongKindError(str(found.place), "a file")
    return os.fdopen(descriptor, "rb")


def _snapshot(found: Found[OpenDirectory]) -> Snapshot:
    try:
        file = _open_regular(found)
    except FileNotFoundError:
        return Snapshot(found.place, None)
    with file:
        content = file.read(MAX_FILE_BYTES + 1)
        if len(content) > MAX_FILE_BYTES:
            raise TooLargeError(str(found.place), MAX_FILE_BYTES)
        return Snapshot(found.place, content, stat.S_IMODE(os.fstat(file.fileno()).st_mode))


def _replace(found: Found[OpenDirectory], content: bytes, mode: int, *, fresh: bool) -> None:
    directory, beside = found.directory.fd, local_tree.hidden_name(local_tree.NEW_PREFIX)
    try:
        with local_tree.opened(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, dir_fd=directory) as fd:
            local_tree.write_all(fd, content)
            if not fresh:
                local_tree.keep_owner(fd, _lstat(found))
            os.fchmod(fd, mode)
            os.fsync(fd)
        if fresh:
            local_tree.rename_to_free_name(beside, found.name, source_fd=directory, target_fd=directory)
        else:
            os.rename(beside, found.name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(beside, dir_fd=directory)
        raise
    local_tree.sync_directory(directory)


def _tree(found: Found[OpenDirectory], most_names: int) -> Tree:
    digest = hashlib.sha256()
    names: list[str] = []
    count = total = 0
    top = _lstat(found)
    for path, each in local_tree.walk_tree(found.name, dir_fd=found.directory.fd):
        count += 1
        total += each.st_size if stat.S_ISREG(each.st_mode) else 0
        if len(names) < most_names:
            names.append(str(path) + ("/" if stat.S_ISDIR(each.st_mode) else ""))
        # The change time of the top is left out: being moved, and moved back, changes it.
        changed = 0 if len(path.parts) == 1 else each.st_ctime_ns
        state = f"{path}\0{each.st_mode:o} {each.st_ino} {each.st_size} {each.st_mtime_ns} {changed}\0"
        digest.update(state.encode(errors="surrogateescape"))
    if stat.S_ISREG(top.st_mode):
        digest.update(local_tree.file_digest(found.name, dir_fd=found.directory.fd))
    return Tree(found.place, kind_of(top.st_mode), digest.hexdigest(), tuple(names), count, total)
