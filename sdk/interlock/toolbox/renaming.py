"""Many renames as one: all of them happen, or none does (BOX-8).

A plan is kept in the vault when it is shown. What applies it writes a log before it begins, gathers everything under
hidden names beside the new ones, looks whether that is what was planned, and only then gives out the new names; so
chains and cycles of names need no order. Whatever fails is taken back, and what a killed process left half done is
taken back by the log before anything else is renamed. The log is also the undo record of what was done.

    gathering: what has a hidden name is gathered, the rest has its old name
    placing:   everything was gathered; what has no hidden name any more has its new one
"""

import hashlib
import secrets
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from interlock.toolbox.errors import (
    AlreadyThereError,
    ChangedError,
    MissingError,
    OperationError,
    OutcomeUnknownError,
    RootError,
    UnreachableError,
    WrongKindError,
)
from interlock.toolbox.operations import Files, Kind, Operations, Place

Phase = Literal["planned", "withdrawn", "gathering", "placing", "taken_back", "done", "undone"]
UNDER_WAY: tuple[Phase, ...] = ("gathering", "placing")
HIDDEN = ".interlock-rename-"


class ClashError(OperationError):
    """The renames of a plan do not go together."""


class HalfRenamedError(OperationError):
    """Some of it has a hidden name, and could not be given the old one back yet; `log` names all of it."""

    def __init__(self, sentence: str, log: "Renames") -> None:
        super().__init__(sentence)
        self.log = log


@dataclass(frozen=True, slots=True)
class Move:
    """One rename: places without links, what is to be renamed, and the hidden name that it has on the way.

    `given` is how both were written, for messages.
    """

    root: str
    source: tuple[str, ...]
    target: tuple[str, ...]
    identity: str
    hidden: str = ""
    given: tuple[str, str] = ("", "")

    @property
    def old(self) -> Place:
        """The old name."""
        return Place(self.root, self.source, self.given[0])

    @property
    def new(self) -> Place:
        """The new name."""
        return Place(self.root, self.target, self.given[1])

    @property
    def between(self) -> Place:
        """The name on the way, beside the new one."""
        return Place(self.root, (*self.target[:-1], self.hidden))

    @property
    def back(self) -> "Move":
        """The rename that takes this one back."""
        return replace(self, source=self.target, target=self.source, given=self.given[::-1])


@dataclass(frozen=True, slots=True)
class Renames:
    """A plan, or the log of one that was applied; `parts` is the directory in `root` that all of it lies in."""

    record_id: str
    way: Literal["plan", "renames"]
    root: str
    parts: tuple[str, ...]
    phase: Phase
    moves: tuple[Move, ...]

    @property
    def place(self) -> Place:
        """The directory that all of it lies in."""
        return Place(self.root, self.parts)


class Renaming:
    """Plans, applies and takes back; one at a time."""

    def __init__(self, operations: Operations) -> None:
        self._files = operations.files
        self._vault = operations.vault
        self._turn = threading.RLock()
        self._half_done = False
        names = "\0".join(self._files.roots)
        self._pointer = hashlib.sha256(f"renames under way in {names}".encode(errors="surrogateescape")).hexdigest()

    def plan(self, wanted: Sequence[tuple[Place, Place]]) -> Renames:
        """Keep a plan of these renames. Raises OperationError when they cannot all be done as things are."""
        moves = tuple(planned(self._files, source, target) for source, target in wanted)
        check_together(moves)
        self._check_state(moves)
        return self._kept(Renames(secrets.token_hex(16), "plan", moves[0].root, _common(moves), "planned", moves))

    def withdraw(self, plan_id: str) -> bool:
        """Make a plan one that cannot be applied; false when it was applied or withdrawn before."""
        with self._turn:
            plan = self._load(plan_id)
            if plan.phase != "planned":
                return False
            self._kept(replace(plan, phase="withdrawn"))
            return True

    def apply(self, plan_id: str) -> Renames:
        """Do all of a plan; the log of it, which `restore` follows.

        Raises ChangedError, MissingError, AlreadyThereError or another OperationError; then nothing was renamed, but
        for HalfRenamedError.
        """
        with self._turn:
            self.recover()
            plan = self._load(plan_id)
            done = self._done_before(plan)
            if done is None:
                if plan.phase != "planned":
                    raise ClashError("this plan was applied or withdrawn before")
                done = self._run(plan.moves, _log_of(plan_id))
            with suppress(OperationError):  # the log says that it is done, which is what counts
                self._kept(replace(plan, phase="done"))
            return done

    def _done_before(self, plan: Renames) -> Renames | None:
        """What applied the plan, if it was and nobody heard of it: an answer can be lost."""
        with suppress(MissingError):
            log = self._load(_log_of(plan.record_id))
            return log if log.phase == "done" else None
        return None

    def restore(self, stored: Mapping[str, Any]) -> Renames | None:
        """Take back what a record says; the log of that, or None when there is nothing to take back any more.

        What has the new names gets the old ones, whatever was done to its content since. Raises as `apply` does.
        """
        with self._turn:
            self.recover()
            record = renames_of(stored)
            if record.way == "plan":
                self.withdraw(record.record_id)
                return None
            record = self._load(record.record_id)  # recovery may have ended it
            if record.phase != "done":
                return None
            moves = tuple(replace(move.back, identity=self._files.identity(move.new)) for move in record.moves)
            back = self._run(moves, secrets.token_hex(16))
            self._kept(replace(record, phase="undone"))
            return back

    def recover(self) -> None:
        """Take back what a process was killed in the middle of. Raises OperationError when that cannot be done yet."""
        with self._turn:
            try:
                record_id = str(self._vault.load(self._pointer)["record"])
            except MissingError:
                return
            if record_id:
                log = self._load(record_id)
                try:
                    self._take_back(log)
                except OperationError as error:
                    self._half_done = True
                    raise HalfRenamedError(
                        f"what was renamed before could not be taken back yet: {error}", log
                    ) from error
            self._half_done = False

    def settle(self) -> None:
        """Take back what could not be taken back when it failed, if it can be by now; before anything else is done."""
        if self._half_done:
            with suppress(OperationError):
                self.recover()

    def _run(self, moves: tuple[Move, ...], log_id: str) -> Renames:
        self._check_state(moves)
        moves = tuple(replace(move, hidden=HIDDEN + secrets.token_hex(8)) for move in moves)
        log = self._kept(Renames(log_id, "renames", moves[0].root, _common(moves), "gathering", moves))
        self._point_to(log_id)
        try:
            for move in moves:
                self._files.rename(move.old, move.between)
            self._check_gathered(moves)
            log = self._kept(replace(log, phase="placing"))
            for move in moves:
                self._files.rename(move.between, move.new)
            done = self._kept(replace(log, phase="done"))
        except BaseException as error:
            self._take_back_after(error, log)
            raise
        with suppress(OperationError):  # the log says that it is done, which is what counts
            self._point_to("")
        return done

    def _check_gathered(self, moves: tuple[Move, ...]) -> None:
        """What was gathered is what was planned; somebody may have put another thing there in between."""
        for move in moves:
            if self._files.identity(move.between) != move.identity:
                raise ChangedError(str(move.old))

    def _take_back_after(self, error: BaseException, log: Renames) -> None:
        try:
            # What could not be noted may have been noted all the same: it has to say what is about to be taken back.
            self._take_back(self._kept(log))
        except OperationError as second:
            self._half_done = True
            raise HalfRenamedError(
                f"{error}; and not all could be taken back yet: {second}. It is tried again before the next call", log
            ) from error
        if isinstance(error, OutcomeUnknownError):
            raise UnreachableError(
                "the connection was lost meanwhile, and everything has its old name again"
            ) from error

    def _take_back(self, log: Renames) -> None:
        """Give everything its old name again; may be cut off, and done again, at any point."""
        if log.phase == "placing":
            placed = [move for move in log.moves if not self._is_there(move.between)]
            for move in reversed(placed):
                self._files.rename(move.new, move.between)
            log = self._kept(replace(log, phase="gathering"))
        if log.phase == "gathering":
            for move in reversed(log.moves):
                if self._is_there(move.between):
                    self._files.rename(move.between, move.old)
            self._kept(replace(log, phase="taken_back"))
        self._point_to("")

    def _check_state(self, moves: tuple[Move, ...]) -> None:
        """Everything is as it was planned, and every new name is free or becomes so."""
        sources = {(move.root, move.source) for move in moves}
        for move in moves:
            if self._files.identity(move.old) != move.identity:
                raise ChangedError(str(move.old))
            parent = Place(move.root, move.target[:-1])
            if self._files.stat(parent).kind is not Kind.DIRECTORY:
                raise WrongKindError(parent.path, "a directory")
            if (move.root, move.target) not in sources and self._is_there(move.new):
                raise AlreadyThereError(str(move.new))

    def _is_there(self, place: Place) -> bool:
        try:
            self._files.identity(place)
        except MissingError:
            return False
        return True

    def _point_to(self, record_id: str) -> None:
        self._vault.save(self._pointer, {"record": record_id})

    def _kept(self, record: Renames) -> Renames:
        self._vault.save(record.record_id, asdict(record))
        return record

    def _load(self, record_id: str) -> Renames:
        return renames_of(self._vault.load(record_id))


def planned(files: Files, source: Place, target: Place) -> Move:
    """One rename with its places resolved, but for the last names: a link is renamed itself."""
    old, new = (_resolved(files, place) for place in (source, target))
    if old.root != new.root:
        raise ClashError(f"{source} and {target} are in different roots")
    return Move(old.root, old.parts, new.parts, files.identity(old), given=(str(source), str(target)))


def check_together(moves: Sequence[Move]) -> None:
    """Raise ClashError unless these renames can be done together."""
    sources = {(move.root, move.source) for move in moves}
    targets = {(move.root, move.target) for move in moves}
    if len(sources) < len(moves):
        raise ClashError("the same path is renamed twice")
    if len(targets) < len(moves):
        raise ClashError("the same new path is given twice")
    for move in moves:
        if move.source == move.target:
            raise ClashError(f"{move.old} is renamed to itself")
        for place in (move.old, move.new):
            above = [(move.root, place.parts[:length]) for length in range(1, len(place.parts))]
            if any(each in sources or each in targets for each in above):
                raise ClashError(f"{place} lies in what is renamed in the same plan")


def renames_of(stored: Mapping[str, Any]) -> Renames:
    """The record in what the vault stored."""
    moves = tuple(
        Move(**{**move, **{name: tuple(move[name]) for name in ("source", "target", "given")}})
        for move in stored["moves"]
    )
    return Renames(**{**stored, "parts": tuple(stored["parts"]), "moves": moves})


def _log_of(plan_id: str) -> str:
    """The record of what applies a plan."""
    return hashlib.sha256(f"applied {plan_id}".encode()).hexdigest()[:32]


def _resolved(files: Files, place: Place) -> Place:
    name = place.parts[-1] if place.parts else ".."
    if name == "..":
        raise RootError(str(place))
    parent = files.resolve(Place(place.root, place.parts[:-1], place.given))
    return Place(parent.root, (*parent.parts, name), place.given)


def _common(moves: Sequence[Move]) -> tuple[str, ...]:
    """The directory that everything of the first rename's root lies in."""
    parents = [path[:-1] for move in moves if move.root == moves[0].root for path in (move.source, move.target)]
    common = parents[0]
    for parent in parents[1:]:
        same = [one == other for one, other in zip(common, parent, strict=False)]
        common = common[: same.index(False) if False in same else len(same)]
    return common
