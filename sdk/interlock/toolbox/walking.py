"""A walk through a directory, sorted, bounded, leaving out what ignore files say."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from interlock.toolbox.errors import LOST, OperationError
from interlock.toolbox.ignores import MAX_BYTES, NAMES, NOTHING_IGNORED, Ignores
from interlock.toolbox.operations import Entry, Files, Kind, Place

MAX_VISITED = 200_000
MAX_DEPTH = 200


@dataclass(frozen=True, slots=True)
class Visited:
    """What a walk came by: where it is, its names from the start of the walk, and what the directory said of it."""

    place: Place
    parts: tuple[str, ...]
    entry: Entry


def _everywhere(_parts: Sequence[str]) -> bool:
    return True


def _never() -> bool:
    return False


@dataclass(slots=True)
class Walk:
    """Goes through a directory depth first, names in order, links not followed.

    `enter` says of a directory's names from the start whether it is worth entering, `stop` is asked now and then
    whether anyone still wants to know. Afterwards `cut` says that the walk ended early, and `unreadable` how many
    directories could not be read.
    """

    files: Files
    ignore: bool = True
    enter: Callable[[Sequence[str]], bool] = _everywhere
    stop: Callable[[], bool] = _never
    max_depth: int = MAX_DEPTH
    visited: int = 0
    unreadable: int = 0
    cut: bool = field(default=False)

    def through(self, start: Place) -> Iterator[Visited]:
        """Everything in the directory. Raises OperationError when the start itself cannot be read."""
        real = self.files.resolve(start)
        above = NOTHING_IGNORED
        if self.ignore:
            for depth in range(len(real.parts)):
                above = self._with_ignore_files(above, Place(real.root, real.parts[:depth]), None)
        yield from self._within(real, (), self.files.entries(real), above)

    def _within(
        self, here: Place, parts: tuple[str, ...], entries: Sequence[Entry], above: Ignores
    ) -> Iterator[Visited]:
        ignores = self._with_ignore_files(above, here, entries) if self.ignore else above
        for entry in entries:
            directory = entry.kind is Kind.DIRECTORY
            if self.ignore and ignores.ignored((*here.parts, entry.name), directory=directory):
                continue
            self.visited += 1
            self.cut = self.cut or self.visited > MAX_VISITED or self.stop()
            if self.cut:
                return
            below = (*parts, entry.name)
            yield Visited(here / entry.name, below, entry)
            if directory and len(below) < self.max_depth and self.enter(below):
                yield from self._deeper(here / entry.name, below, ignores)

    def _deeper(self, place: Place, parts: tuple[str, ...], ignores: Ignores) -> Iterator[Visited]:
        try:
            entries = self.files.entries(place)
        except LOST:
            raise
        except OperationError:
            self.unreadable += 1
            return
        yield from self._within(place, parts, entries, ignores)

    def _with_ignore_files(self, above: Ignores, here: Place, entries: Sequence[Entry] | None) -> Ignores:
        there = NAMES if entries is None else [entry.name for entry in entries if entry.name in NAMES]
        contents = (self._ignore_file(here / name) for name in NAMES if name in there)
        return above.below(len(here.parts), [content for content in contents if content is not None])

    def _ignore_file(self, place: Place) -> bytes | None:
        try:
            with self.files.open(place) as file:
                content = file.read(MAX_BYTES + 1)
        except LOST:
            raise
        except OperationError:
            return None
        return content if len(content) <= MAX_BYTES else None
