"""Checking a log offline, with nothing but the public key (AUD-2)."""

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from interlock_gateway.audit import checkpoint
from interlock_gateway.audit.checkpoint import Checkpoint
from interlock_gateway.audit.errors import AuditDamagedError
from interlock_gateway.audit.keys import VerifyKey
from interlock_gateway.audit.line import NO_HASH, Head, Line, foreign_version, parse
from interlock_gateway.audit.segments import Segment, list_segments, read_raw_lines

_TRIES = 3
_HEADER = re.compile(rb'"kind":"segment",.*"key_id":"([0-9a-f]{16})"$')


class LogEnd(StrEnum):
    """How the log ends: closed in order; or open, because it is being written or its writer was killed."""

    CLOSED = "closed"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What was found.

    `problem` is empty when nothing is wrong, else says what is, and `place` where: `file:line`, or a file. `lines` and
    `segments` count what was read up to there; `last_hash` is that of the last good line. `uncovered` lines stand
    behind the last checkpoint, and `incomplete_tail` says that an incomplete line ends the log: in an open log both are
    what a write in progress or a crash looks like.
    """

    problem: str = ""
    place: str = ""
    segments: int = 0
    lines: int = 0
    last_hash: str = NO_HASH
    end: LogEnd = LogEnd.OPEN
    uncovered: int = 0
    incomplete_tail: bool = False

    @property
    def ok(self) -> bool:
        """Whether the log is whole and unchanged."""
        return not self.problem


class _ProblemError(Exception):
    def __init__(self, place: str, problem: str) -> None:
        super().__init__(f"{place}: {problem}")
        self.place = place
        self.problem = problem


def verify(directory: Path, public_key_pem: bytes, *, known: Head | None = None) -> VerifyReport:
    """Check every line, the chain, every signature, and that nothing is missing at either end.

    Finds any changed, removed, inserted, repeated or reordered line, a cut-off tail, a missing segment, a missing or
    changed checkpoint, and another key. `known` is a line that the log had at an earlier time, noted elsewhere: with
    it, a directory that was put back as a whole to an earlier state is found too. Reads line by line; memory does not
    grow with the log. Raises `ConfigError` for a bad key and `OSError` when the log cannot be read.
    """
    key = VerifyKey.from_pem(public_key_pem)
    checker: _Checker | None = None
    try:
        latest = _checkpoint(directory, key)
        checker = _Checker(key, latest, known)
        for segment in list_segments(directory):
            checker.read(segment)
        return checker.finish()
    except _ProblemError as found:
        so_far = checker.so_far() if checker is not None else VerifyReport()
        return replace(so_far, problem=found.problem, place=found.place)


def _checkpoint(directory: Path, key: VerifyKey) -> Checkpoint:
    for _ in range(_TRIES):
        # In a log that is being written, a checkpoint may be caught half way; the next look finds it whole.
        try:
            found = checkpoint.read(directory, key)
        except AuditDamagedError:
            continue
        if found is None:
            raise _ProblemError(checkpoint.FILE_NAME, "missing")
        if found[1]:
            return found[0]
    raise _ProblemError(
        checkpoint.FILE_NAME, f"not two checkpoints in turn, signed with key {key.key_id}: changed, or another key"
    )


class _Checker:
    """Follows the chain from its first line."""

    def __init__(self, key: VerifyKey, latest: Checkpoint, known: Head | None) -> None:
        self._key = key
        self._latest = latest
        self._known = known
        self._head = Head()
        self._segments = 0
        self._torn = ""

    def so_far(self) -> VerifyReport:
        return VerifyReport(
            segments=self._segments,
            lines=self._head.sequence,
            last_hash=self._head.hash,
            end=LogEnd.CLOSED if self._latest.closed else LogEnd.OPEN,
            uncovered=max(0, self._head.sequence - self._latest.head.sequence),
            incomplete_tail=bool(self._torn),
        )

    def read(self, segment: Segment) -> None:
        self._segments += 1
        name = segment.path.name
        if self._torn:
            raise _ProblemError(self._torn, "not a receipt: an incomplete line that is not the last")
        if segment.first != self._head.sequence + 1:
            wanted = self._head.sequence + 1
            raise _ProblemError(
                name, f"begins with line {segment.first} where line {wanted} belongs: a segment is missing"
            )
        for number, data in enumerate(read_raw_lines(segment.path), start=1):
            place = f"{name}:{number}"
            if self._torn:
                raise _ProblemError(self._torn, "not a receipt: longer than a line can be")
            if not data.endswith(b"\n"):
                self._torn = place
                continue
            self._take(place, number, data)

    def finish(self) -> VerifyReport:
        last = self._latest.head
        if self._head.sequence < last.sequence:
            problem = f"the log ends at line {self._head.sequence}, but line {last.sequence} was written: it is cut off"
            raise _ProblemError(self._torn or "the end", problem)
        if self._torn and self._latest.closed:
            raise _ProblemError(self._torn, "an incomplete line behind the end of a closed log")
        if self._known is not None and self._known.sequence > self._head.sequence:
            raise _ProblemError("the end", f"line {self._known.sequence}, known from elsewhere, is missing")
        return self.so_far()

    def _take(self, place: str, number: int, data: bytes) -> None:
        line = parse(data)
        if line is None:
            version = foreign_version(data)
            raise _ProblemError(place, "not a receipt" if version is None else f"format {version} is not known here")
        self._check_order(place, line)
        if not line.hash_matches():
            raise _ProblemError(place, "changed: its hash is not that of its content")
        if number == 1:
            self._check_header(place, line)
        if not line.signed_by(self._key):
            raise _ProblemError(place, f"its signature was not made with key {self._key.key_id}")
        self._check_expected(place, line)
        self._head = line.head

    def _check_order(self, place: str, line: Line) -> None:
        wanted = self._head.sequence + 1
        if line.sequence != wanted:
            raise _ProblemError(
                place, f"line {line.sequence} where line {wanted} belongs: removed, repeated or out of order"
            )
        if line.previous != self._head.hash:
            raise _ProblemError(place, "does not follow from the line before it")

    def _check_header(self, place: str, line: Line) -> None:
        header = _HEADER.search(line.body)
        if header is None:
            raise _ProblemError(place, "the segment does not begin with its header")
        if header[1].decode() != self._key.key_id:
            raise _ProblemError(place, f"signed with key {header[1].decode()}, not with {self._key.key_id}")

    def _check_expected(self, place: str, line: Line) -> None:
        if line.sequence == self._latest.head.sequence and line.hash != self._latest.head.hash:
            raise _ProblemError(place, "not the line that the checkpoint names")
        if self._known is not None and line.sequence == self._known.sequence and line.hash != self._known.hash:
            raise _ProblemError(place, f"not the line {line.sequence} that is known from elsewhere")
        if self._latest.closed and line.sequence > self._latest.head.sequence:
            raise _ProblemError(place, "behind the end of a closed log")
