"""Where undo keeps what it needs, in a directory of this machine."""

import hashlib
import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar

from interlock.toolbox import local_tree
from interlock.toolbox.errors import MissingError, StorageError, os_errors_of

_ID = re.compile(r"[0-9a-f]{16,64}")
_FRESH_S = 3600.0


class LocalVault:
    """`Vault` in a state directory: `kept/<sha256>`, `records/<id>.json`, `trash/<slot>/item`; for its owner only."""

    ITEM: ClassVar[str] = "item"

    def __init__(self, directory: Path) -> None:
        self.directory = directory.resolve()
        self._kept, self._records, self._trash = (self.directory / name for name in ("kept", "records", "trash"))
        with os_errors_of(f"the state directory {self.directory}"):
            for each in (self.directory, self._kept, self._records, self._trash):
                each.mkdir(mode=0o700, parents=True, exist_ok=True)

    def keep(self, content: bytes) -> str:
        """Store the content durably."""
        digest = hashlib.sha256(content).hexdigest()
        path = self._kept / digest
        with os_errors_of("the state directory"):
            if path.exists():
                os.utime(path)
            else:
                _store(path, content)
        return digest

    def kept(self, digest: str) -> bytes:
        """What was kept under the digest."""
        content = self._read(self._kept, digest, "")
        if hashlib.sha256(content).hexdigest() != digest:
            raise StorageError("the previous content", "it was damaged in the state directory")
        return content

    def save(self, record_id: str, record: Mapping[str, Any]) -> None:
        """Store a record durably."""
        with os_errors_of("the state directory"):
            _store(self._records / f"{_checked(record_id)}.json", json.dumps(record, sort_keys=True).encode())

    def load(self, record_id: str) -> dict[str, Any]:
        """The record of that id."""
        record: dict[str, Any] = json.loads(self._read(self._records, record_id, ".json"))
        return record

    @contextmanager
    def new_slot(self, slot: str) -> Iterator[int]:
        """A new directory in the trash, open for the block; removed again when nothing came into it."""
        path = self._trash / _checked(slot)
        path.mkdir(mode=0o700)
        try:
            with self.slot(slot) as descriptor:
                yield descriptor
        finally:
            with suppress(OSError):
                path.rmdir()

    @contextmanager
    def slot(self, slot: str) -> Iterator[int]:
        """A directory in the trash, open for the block."""
        try:
            descriptor = os.open(self._trash / _checked(slot), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            raise MissingError("what was deleted") from None
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def forget_slot(self, slot: str) -> None:
        """Remove an empty directory from the trash."""
        (self._trash / _checked(slot)).rmdir()

    def trash_holds(self, slot: str) -> bool:
        """Whether there is something in the slot."""
        return os.path.lexists(self._trash / _checked(slot) / self.ITEM)

    def sweep(self, older_than_s: float) -> int:
        """Forget what is old, and what nothing refers to any more."""
        now, forgotten, needed = time.time(), 0, set[str]()
        for path in self._records.glob("*.json"):
            if now - path.stat().st_mtime <= older_than_s:
                needed.add(str(json.loads(path.read_bytes()).get("content", "")))
                continue
            forgotten += 1
            with self._trash_fd() as trash_fd, suppress(FileNotFoundError):
                local_tree.remove_tree(path.stem, dir_fd=trash_fd)
            path.unlink()
        for path in self._kept.iterdir():
            # What is fresh may be about to be referred to.
            if path.name not in needed and now - path.stat().st_mtime > _FRESH_S:
                path.unlink()
        return forgotten

    @contextmanager
    def _trash_fd(self) -> Iterator[int]:
        descriptor = os.open(self._trash, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def _read(self, directory: Path, name: str, suffix: str) -> bytes:
        if not _ID.fullmatch(name):
            raise MissingError("the record")
        with os_errors_of("the record"):
            return (directory / f"{name}{suffix}").read_bytes()


def _checked(name: str) -> str:
    if not _ID.fullmatch(name):
        raise ValueError("ids are 16 to 64 hexadecimal digits")
    return name


def _store(path: Path, content: bytes) -> None:
    beside = path.with_name(local_tree.hidden_name())
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        local_tree.write_all(descriptor, content)
        os.fsync(descriptor)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
