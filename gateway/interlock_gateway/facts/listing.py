"""What lies in directories of the gateway's file system, within bounds on how much of it a call may have looked at."""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from interlock_gateway.facts.patterns import NamePattern

MAX_ENTRIES = 20_000
MAX_LOOKS = 100_000
MAX_TIME_S = 0.3
MAX_MATCHES = 2_000


class TooMuchError(Exception):
    """There is more than one call may have looked at."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A name in a directory. `link` says that it is a symbolic link, which may lead anywhere."""

    path: str
    name: str
    link: bool
    directory: bool


@dataclass(slots=True)
class Listing:
    """Lists directories for one call, each once."""

    entries_left: int = MAX_ENTRIES
    looks_left: int = MAX_LOOKS
    _known: dict[str, tuple[Entry, ...] | None] = field(default_factory=dict)
    _until: float | None = None

    def of(self, directory: str) -> tuple[Entry, ...] | None:
        """What is in a directory; None when there is none, or it cannot be read. Raises `TooMuchError`."""
        if directory not in self._known:
            self._known[directory] = self._listed(directory)
        return self._known[directory]

    def _listed(self, directory: str) -> tuple[Entry, ...] | None:
        found: list[Entry] = []
        try:
            with os.scandir(directory) as entries:
                for entry in entries:
                    self._count()
                    link = entry.is_symlink()
                    found.append(Entry(entry.path, entry.name, link, not link and entry.is_dir(follow_symlinks=False)))
        except OSError:
            return None
        return tuple(found)

    def _count(self) -> None:
        self.entries_left -= 1
        if self.entries_left < 0:
            raise TooMuchError
        self.look()

    def look(self) -> None:
        """Count a look at an entry. Raises `TooMuchError` when there were too many, or they took too long."""
        if self._until is None:
            self._until = time.monotonic() + MAX_TIME_S
        self.looks_left -= 1
        if self.looks_left < 0 or (self.looks_left % 64 == 0 and time.monotonic() > self._until):
            raise TooMuchError

    def matches(self, directory: str, names: list[NamePattern]) -> list[str]:
        """The paths below an absolute directory that a pattern may stand for, in order. Raises `TooMuchError`.

        What comes after the last name that is a pattern need not be there.
        """
        reached = [directory.rstrip("/")]
        for position, name in enumerate(names):
            last = position == len(names) - 1
            found = dict.fromkeys(path for start in reached for path in self._step(start, name, last=last))
            if len(found) > MAX_MATCHES:
                raise TooMuchError
            reached = list(found)
        return sorted(reached) if names else []

    def _step(self, start: str, name: NamePattern, *, last: bool) -> Iterator[str]:
        if not name.special:
            yield f"{start}/{name.text}"
            return
        if name.any_depth:
            # It may stand for no directory at all, or for the files on the way, too.
            yield from () if last else (start,)
            yield from (entry.path for entry in self.below(start) if last or entry.directory)
        matcher = name.matcher()
        for entry in self.of(start or "/") or ():
            self.look()
            if (last or entry.directory or entry.link) and name.fits(entry.name, matcher):
                yield entry.path

    def below(self, directory: str) -> Iterator[Entry]:
        """All that is below a directory, what is nearest first, links not followed. Raises `TooMuchError`."""
        waiting = [directory or "/"]
        for place in waiting:
            for entry in self.of(place) or ():
                self.look()
                if not entry.name.startswith("."):
                    yield entry
                    waiting += [entry.path] if entry.directory else []
