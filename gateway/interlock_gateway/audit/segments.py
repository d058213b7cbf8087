"""Segments: the files that lines are appended to, and reading them back."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from interlock_gateway.audit.line import MAX_LINE_BYTES

_NAME = re.compile(r"receipts-([0-9]{20})\.jsonl", re.ASCII)


@dataclass(frozen=True, slots=True)
class Segment:
    """One file, and the sequence of its first line."""

    path: Path
    first: int


def segment_name(first: int) -> str:
    """The name of the segment that begins with line `first`."""
    return f"receipts-{first:020d}.jsonl"


def list_segments(directory: Path) -> list[Segment]:
    """The segments in `directory`, in order."""
    found = ((path, _NAME.fullmatch(path.name)) for path in directory.iterdir())
    return sorted(
        (Segment(path, int(name[1])) for path, name in found if name is not None), key=lambda segment: segment.first
    )


def read_raw_lines(path: Path) -> Iterator[bytes]:
    """The lines of a segment with their line feeds; the last has none when it is incomplete.

    One that is longer than a line can be comes in pieces, the first of which has no line feed.
    """
    with path.open("rb") as file:
        while data := file.readline(MAX_LINE_BYTES):
            yield data


class SegmentFile:
    """The segment being written. `size` is what is known to be on disk."""

    def __init__(self, path: Path) -> None:
        """Open `path` for appending, creating it. Raises `OSError`."""
        self.path = path
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self.size = os.fstat(self._descriptor).st_size
        self._is_named = self.size > 0

    def append(self, data: bytes) -> None:
        """Write `data` and wait until it is on disk. On `OSError` nothing of it counts: the file is cut back first."""
        self.cut_back()
        try:
            _write_all(self._descriptor, data)
            os.fdatasync(self._descriptor)
            if not self._is_named:
                _sync_directory(self.path.parent)
                self._is_named = True
        except OSError:
            self._try_cut_back()
            raise
        self.size += len(data)

    def cut_back(self) -> None:
        """Remove what a failed write left behind. Raises `OSError`."""
        if os.fstat(self._descriptor).st_size != self.size:
            os.ftruncate(self._descriptor, self.size)

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def _try_cut_back(self) -> None:
        try:
            self.cut_back()
        except OSError:
            # The next append cuts back before it writes; until then recovery would find lines nobody was promised.
            return


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
