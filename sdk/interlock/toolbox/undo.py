"""How a change is taken back: a record of it in the vault, made before the change, and one way to restore from it.

The undo info that travels names a record and the path alone, so it stays small whatever the size of the files, and
nobody can restore anything but what a record says. Restoring checks that the place is as the change left it, leaves it
alone otherwise, and makes a record of its own, so it can be taken back too. Doing it twice has no second effect.
"""

import secrets
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from interlock.toolbox.errors import ChangedError, MissingError, OperationError
from interlock.toolbox.operations import Operations, Place, Snapshot, Tree
from interlock.toolbox.renaming import Renames, Renaming, renames_of

Way = Literal["content", "untrash", "trash"]


@dataclass(frozen=True, slots=True)
class Record:
    """What to put back. `way` says how.

    `content`: the file at the place had the kept `content` (None: there was no file) and `mode`, and the change left it
    with the token `after`; `made` directories were made for it. `untrash`: a tree was moved to the trash slot of this
    record's id. `trash`: a tree came back from the trash, and has the token `after`.
    """

    record_id: str
    way: Way
    root: str
    parts: tuple[str, ...]
    after: str = ""
    before: str = ""
    content: str | None = None
    mode: int = 0
    made: tuple[tuple[str, ...], ...] = ()
    done: bool = False

    @property
    def place(self) -> Place:
        """Where it is."""
        return Place(self.root, self.parts)


def _new_id() -> str:
    return secrets.token_hex(16)


class NotThatPathError(OperationError):
    """The record is about another path than the one given beside it."""

    def __init__(self) -> None:
        super().__init__("the record is about another path")


@dataclass(frozen=True, slots=True)
class Restored:
    """What a restoration did: `changed` is false when it had been done before; `record` takes it back."""

    changed: bool
    record: Record | Renames | None = None


class Undo:
    """Makes and follows records."""

    def __init__(self, operations: Operations) -> None:
        self._files = operations.files
        self._vault = operations.vault
        self.renaming = Renaming(operations)
        self._turn = threading.Lock()

    def of_replacing(self, before: Snapshot, content: bytes | None, mode: int, gone: tuple[Place, ...] = ()) -> Record:
        """The record of a file that is about to get this content, stored durably.

        None means that it is to be removed, and the directories `gone` with it.
        """
        record = Record(
            record_id=_new_id(),
            way="content",
            root=before.place.root,
            parts=before.place.parts,
            after=Snapshot(before.place, content, mode, gone).token,
            before=before.token,
            content=None if before.content is None else self._vault.keep(before.content),
            mode=before.mode,
            made=tuple(place.parts for place in before.missing),
        )
        self._save(record)
        return record

    def of_trashing(self, tree: Tree) -> Record:
        """The record of a tree that is about to be moved to the trash, into the slot of the record's id."""
        record = Record(_new_id(), "untrash", tree.place.root, tree.place.parts)
        self._save(record)
        return record

    def restore(self, record_id: str, path: str) -> Restored:
        """Take back what the record says.

        Raises MissingError for an unknown record, NotThatPathError, ChangedError when the place is not as the change
        left it, AlreadyThereError when something is where a deleted tree was.
        """
        with self._turn:
            stored = self._vault.load(record_id)
            if "moves" in stored:
                return self._restore_renames(stored, path)
            record = _record_of(stored)
            if record.place.path != path:
                raise NotThatPathError
            if record.done:
                return Restored(changed=False)
            back = self._follow(record)
            self._save_done(record)
            return Restored(changed=back is not None, record=back)

    def _restore_renames(self, stored: Mapping[str, Any], path: str) -> Restored:
        if renames_of(stored).place.path != path:
            raise NotThatPathError
        back = self.renaming.restore(stored)
        return Restored(changed=back is not None, record=back)

    def _follow(self, record: Record) -> Record | None:
        """Do what the record says; the record of that, or None when it is done already."""
        match record.way:
            case "content":
                return self._restore_content(record)
            case "untrash":
                return self._restore_trashed(record)
            case "trash":
                return self._trash_again(record)

    def _restore_content(self, record: Record) -> Record | None:
        place = record.place
        now = self._files.snapshot(place)
        if now.place != place:
            raise ChangedError(place.path)
        made = tuple(Place(record.root, parts) for parts in record.made)
        if record.content is None and now.content is None:
            self._remove_directories(made)  # the change, or its undo, was cut off between file and directories
            return None
        if now.token == record.before:
            return None
        if now.token != record.after:
            raise ChangedError(place.path)
        content = None if record.content is None else self._vault.kept(record.content)
        back = self.of_replacing(now, content, record.mode, made)
        if content is None:
            self._files.remove(now)
            self._remove_directories(made)
        else:
            self._files.replace(now, content, record.mode)
        return back

    def _remove_directories(self, made: tuple[Place, ...]) -> None:
        for directory in reversed(made):
            self._files.remove_directory(directory)

    def _restore_trashed(self, record: Record) -> Record | None:
        if not self._vault.trash_holds(record.record_id):
            if self._is_there(record.place):
                return None
            raise MissingError(f"what was deleted from {record.place.path}")
        self._files.untrash(record.record_id, record.place)
        tree = self._files.tree(record.place, 0)
        back = Record(_new_id(), "trash", record.root, record.parts, after=tree.token)
        self._save(back)
        return back

    def _trash_again(self, record: Record) -> Record | None:
        if not self._is_there(record.place):
            return None
        tree = self._files.tree(record.place, 0)
        if tree.token != record.after:
            raise ChangedError(record.place.path)
        back = self.of_trashing(tree)
        self._files.trash(tree, back.record_id)
        return back

    def _is_there(self, place: Place) -> bool:
        try:
            self._files.tree(place, 0)
        except MissingError:
            return False
        return True

    def _save(self, record: Record) -> None:
        self._vault.save(record.record_id, asdict(record))

    def _save_done(self, record: Record) -> None:
        self._vault.save(record.record_id, {**asdict(record), "done": True})


def _record_of(stored: Mapping[str, Any]) -> Record:
    made = tuple(tuple(parts) for parts in stored["made"])
    return Record(**{**stored, "parts": tuple(stored["parts"]), "made": made})
