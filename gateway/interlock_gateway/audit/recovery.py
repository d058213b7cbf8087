"""Continuing a log that is already there: find its end, or refuse (AUD-2)."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from interlock_gateway.audit import checkpoint
from interlock_gateway.audit.checkpoint import Checkpoint
from interlock_gateway.audit.errors import AuditDamagedError
from interlock_gateway.audit.keys import VerifyKey
from interlock_gateway.audit.line import Head, Line, foreign_version, parse
from interlock_gateway.audit.segments import Segment, list_segments, read_raw_lines


@dataclass(frozen=True, slots=True)
class Recovery:
    """Where to go on. `segment` is `None` for a log that has no line yet.

    `is_clean` says that the log was closed in order. Otherwise `uncovered` lines follow the last checkpoint, and
    `torn_bytes` of an incomplete last line, with digest `torn_sha256`, were cut off.
    """

    head: Head
    segment: Path | None
    last: Checkpoint
    is_clean: bool
    uncovered: int = 0
    torn_bytes: int = 0
    torn_sha256: str = ""


def recover(directory: Path, key: VerifyKey) -> Recovery | None:
    """Where the log in `directory` ends; `None` when there is no log.

    Only an incomplete last line that no checkpoint covers is removed: it was never acknowledged. Reads from the segment
    of the last checkpoint on; `verify` reads all. Raises `AuditDamagedError` for a log that may not be continued, and
    `OSError`.
    """
    found = checkpoint.read(directory, key)
    segments = _without_empty_last(list_segments(directory))
    if found is None:
        if segments:
            raise AuditDamagedError(f"{checkpoint.FILE_NAME} is missing, but there are receipts")
        return None
    known, is_pair = found
    reader = _Reader(known, key, is_pair=is_pair)
    for segment in _from_checkpoint(segments, known):
        reader.read(segment)
    return reader.finish(segments[-1].path if segments else None)


def _without_empty_last(segments: list[Segment]) -> list[Segment]:
    # A crash between creating a segment and writing its first line leaves an empty file.
    if segments and segments[-1].path.stat().st_size == 0:
        segments[-1].path.unlink()
        return segments[:-1]
    return segments


def _from_checkpoint(segments: list[Segment], known: Checkpoint) -> list[Segment]:
    covered = [segment for segment in segments if segment.first <= max(known.head.sequence, 1)]
    if segments and not covered:
        raise AuditDamagedError(f"{segments[0].path.name}: the segments before this one are missing")
    return segments[len(covered) - 1 :] if covered else []


class _Reader:
    """Follows the chain from the segment that holds the checkpoint's line to the end."""

    def __init__(self, known: Checkpoint, key: VerifyKey, *, is_pair: bool) -> None:
        self._known = known
        self._is_pair = is_pair
        self._key = key
        self._last: Line | None = None
        self._saw_checkpoint = known.head.sequence == 0
        self._torn = b""
        self._place = ""

    def read(self, segment: Segment) -> None:
        for number, data in enumerate(read_raw_lines(segment.path), start=1):
            self._place = f"{segment.path.name}:{number}"
            if self._torn:
                raise AuditDamagedError(f"{self._place}: the line before it is not complete")
            if not data.endswith(b"\n"):
                self._torn = data
                continue
            self._take(segment, number, data)
        if self._torn:
            self._cut(segment)

    def _take(self, segment: Segment, number: int, data: bytes) -> None:
        line = parse(data)
        if line is None:
            other = foreign_version(data)
            raise AuditDamagedError(f"{self._place}: " + ("not a receipt" if other is None else f"format {other}"))
        if number == 1 and line.sequence != segment.first:
            raise AuditDamagedError(f"{self._place}: line {line.sequence} where the file's name says {segment.first}")
        if self._last is not None and (line.sequence, line.previous) != (self._last.sequence + 1, self._last.hash):
            raise AuditDamagedError(f"{self._place}: the chain is broken")
        if not line.hash_matches():
            raise AuditDamagedError(f"{self._place}: changed after it was written")
        self._compare(line)
        self._last = line

    def _compare(self, line: Line) -> None:
        known = self._known.head
        if line.sequence == known.sequence:
            if line.hash != known.hash:
                raise AuditDamagedError(f"{self._place}: not the line that the checkpoint names")
            self._saw_checkpoint = True
        if line.sequence > known.sequence and (self._known.closed or not line.signed_by(self._key)):
            raise AuditDamagedError(f"{self._place}: a line behind the checkpoint that the log did not write")

    def _cut(self, segment: Segment) -> None:
        if self._known.closed or not self._saw_checkpoint:
            raise AuditDamagedError(f"{self._place}: an incomplete line in a part that was complete")
        os.truncate(segment.path, segment.path.stat().st_size - len(self._torn))

    def finish(self, segment: Path | None) -> Recovery:
        head = self._last.head if self._last is not None else Head()
        if not self._saw_checkpoint:
            raise AuditDamagedError(
                f"the log ends at line {head.sequence}, but line {self._known.head.sequence} was written: it is cut off"
            )
        return Recovery(
            head=head,
            segment=segment,
            last=self._known,
            is_clean=self._known.closed and self._is_pair,
            uncovered=head.sequence - self._known.head.sequence,
            torn_bytes=len(self._torn),
            torn_sha256=hashlib.sha256(self._torn).hexdigest() if self._torn else "",
        )
