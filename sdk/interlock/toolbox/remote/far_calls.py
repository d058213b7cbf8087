"""What the near end may ask for, and what it is answered, in JSON and bytes. Runs at the far end."""

import hashlib
import os
import secrets
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from interlock.toolbox.errors import (
    ChangedError,
    MissingError,
    OperationError,
    WrongKindError,
    os_errors_of,
)
from interlock.toolbox.expressions import Expression
from interlock.toolbox.local import default_state_dir, local_operations
from interlock.toolbox.operations import Entry, Kind, Operations, Place, SearchBudget, Snapshot, Tree
from interlock.toolbox.remote.frames import PIECE, place_from, place_words
from interlock.toolbox.remote.one_end import only_end

MAX_OPEN = 256
MAX_PIECE = 1024 * 1024

NAMES = frozenset(
    {
        *("resolve", "stat", "entries", "read_link", "open", "read", "close", "snapshot", "replace", "remove"),
        *("make_directory", "remove_directory", "identity", "rename", "tree", "trash", "untrash"),
        *("keep", "kept", "save", "load", "trash_holds", "sweep", "lines"),
    }
)
"""The calls that block. Each is a method of its name."""

Words: TypeAlias = Mapping[str, Any]
Answer: TypeAlias = tuple[Any, bytes]


@dataclass(frozen=True, slots=True)
class Asked:
    """One call: what it says, the bytes that came with it, and whether anybody still waits for it."""

    words: Words
    content: bytes
    called_off: threading.Event

    @property
    def place(self) -> Place:
        """The place that it is about."""
        return place_from(self.words["place"])


@dataclass(slots=True)
class FarCalls:
    """Makes the calls that block, from many threads."""

    operations: Operations
    _opened: dict[int, BinaryIO] = field(default_factory=dict)
    # Another far end has other numbers: none of them names a file of this one.
    _next: int = field(default_factory=lambda: 1 + secrets.randbits(62))
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, name: str, asked: Asked) -> Answer:
        """Do what is asked. Raises OperationError, and whatever else goes wrong."""
        if name not in NAMES:
            raise OperationError("there is no such call")
        answer: Answer = getattr(self, f"_{name}")(asked)
        return answer

    def _resolve(self, asked: Asked) -> Answer:
        return place_words(self.operations.files.resolve(asked.place)), b""

    def _stat(self, asked: Asked) -> Answer:
        return _entry_words(self.operations.files.stat(asked.place)), b""

    def _entries(self, asked: Asked) -> Answer:
        return [_entry_words(entry) for entry in self.operations.files.entries(asked.place)], b""

    def _read_link(self, asked: Asked) -> Answer:
        return self.operations.files.read_link(asked.place), b""

    def _open(self, asked: Asked) -> Answer:
        """A file's number, 0 when its first piece is all of it, and that piece."""
        file = self.operations.files.open(asked.place)
        try:
            size = os.fstat(file.fileno()).st_size
            piece = _read(file, 0, PIECE)
            if len(piece) < PIECE:
                file.close()
                return [0, len(piece)], piece
            number = self._kept_open(file)
        except BaseException:
            file.close()
            raise
        return [number, size], piece

    def _kept_open(self, file: BinaryIO) -> int:
        with self._turn:
            if len(self._opened) >= MAX_OPEN:
                raise OperationError("too many files are open")
            number, self._next = self._next, self._next + 1
            self._opened[number] = file
            return number

    def _read(self, asked: Asked) -> Answer:
        with self._turn:
            file = self._opened.get(asked.words["file"])
        if file is None:
            raise OperationError("the file is not open any more")
        with os_errors_of(asked.words["given"]):
            return None, _read(file, asked.words["offset"], min(asked.words["count"], MAX_PIECE))

    def _close(self, asked: Asked) -> Answer:
        with self._turn:
            file = self._opened.pop(asked.words["file"], None)
        if file is not None:
            file.close()
        return None, b""

    def _snapshot(self, asked: Asked) -> Answer:
        found = self.operations.files.snapshot(asked.place)
        missing = [place_words(place) for place in found.missing]
        return [place_words(found.place), found.content is not None, found.mode, missing], found.content or b""

    def _replace(self, asked: Asked) -> Answer:
        self.operations.files.replace(self._as_before(asked), asked.content, asked.words["mode"])
        return None, b""

    def _remove(self, asked: Asked) -> Answer:
        self.operations.files.remove(self._as_before(asked))
        return None, b""

    def _make_directory(self, asked: Asked) -> Answer:
        self.operations.files.make_directory(asked.place)
        return None, b""

    def _remove_directory(self, asked: Asked) -> Answer:
        return self.operations.files.remove_directory(asked.place), b""

    def _identity(self, asked: Asked) -> Answer:
        return self.operations.files.identity(asked.place), b""

    def _rename(self, asked: Asked) -> Answer:
        self.operations.files.rename(asked.place, place_from(asked.words["target"]))
        return None, b""

    def _tree(self, asked: Asked) -> Answer:
        tree = self.operations.files.tree(asked.place, asked.words["most"])
        return [place_words(tree.place), tree.kind, tree.token, tree.names, tree.count, tree.total_bytes], b""

    def _trash(self, asked: Asked) -> Answer:
        tree = Tree(asked.place, Kind.FILE, asked.words["token"], (), 0, 0)
        self.operations.files.trash(tree, asked.words["slot"])
        return None, b""

    def _untrash(self, asked: Asked) -> Answer:
        self.operations.files.untrash(asked.words["slot"], asked.place)
        return None, b""

    def _keep(self, asked: Asked) -> Answer:
        return self.operations.vault.keep(asked.content), b""

    def _kept(self, asked: Asked) -> Answer:
        return None, self.operations.vault.kept(asked.words["digest"])

    def _save(self, asked: Asked) -> Answer:
        self.operations.vault.save(asked.words["id"], asked.words["record"])
        return None, b""

    def _load(self, asked: Asked) -> Answer:
        return self.operations.vault.load(asked.words["id"]), b""

    def _trash_holds(self, asked: Asked) -> Answer:
        return self.operations.vault.trash_holds(asked.words["slot"]), b""

    def _sweep(self, asked: Asked) -> Answer:
        return self.operations.vault.sweep(asked.words["older_than_s"]), b""

    def _lines(self, asked: Asked) -> Answer:
        words = asked.words
        budget = SearchBudget(words["most"], time.monotonic() + words["seconds"], asked.called_off.is_set)
        wanted = Expression(words["python"], words["ripgrep"])
        found = self.operations.search.lines([place_from(one) for one in words["places"]], wanted, budget)
        return [None if one is None else [[line.number, line.text] for line in one] for one in found], b""

    def _as_before(self, asked: Asked) -> Snapshot:
        """The snapshot that the near end has, of which it sent the digest and not the content.

        Raises ChangedError when another content is there. What is found here is compared with what is there when it is
        replaced, as ever.
        """
        place, before = asked.place, asked.words["before"]
        missing = tuple(place_from(one) for one in asked.words["missing"])
        if before is None:
            return Snapshot(place, None, missing=missing)
        try:
            now = self.operations.files.snapshot(place)
        except (MissingError, WrongKindError) as error:
            raise ChangedError(str(place)) from error
        if now.content is None or hashlib.sha256(now.content).hexdigest() != before["digest"]:
            raise ChangedError(str(place))
        return Snapshot(place, now.content, before["mode"], missing)


def opened(words: Words, stack: ExitStack) -> tuple[Operations, str]:
    """The local operations that the near end asks for, and where their vault is; `stack` is for the far end's life.

    Waits for an earlier end of the same toolbox. Raises ValueError, OSError, StorageError.
    """
    roots = [Path(root) for root in words["roots"]]
    for root in roots:
        if not root.is_absolute():
            raise ValueError(f"the root {root} has to be an absolute path on that host")
    state = Path(words["state_dir"]) if words["state_dir"] else default_state_dir(os.environ)
    if not state.is_absolute():
        raise ValueError(f"the state directory {state} has to be an absolute path on that host")
    operations = local_operations(roots, state, keep_environment=words["keep_environment"])
    stack.enter_context(only_end(state, bytes.fromhex(words["toolbox"]).hex()))
    return operations, str(state)


def _entry_words(entry: Entry) -> list[Any]:
    return [entry.name, entry.kind, entry.size, entry.mode]


def _read(file: BinaryIO, offset: int, count: int) -> bytes:
    taken = bytearray()
    while len(taken) < count and (block := os.pread(file.fileno(), count - len(taken), offset + len(taken))):
        taken += block
    return bytes(taken)
