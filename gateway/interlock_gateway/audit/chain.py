"""The chain on disk: appends groups of records, starts segments, moves the checkpoint. Not thread-safe."""

import fcntl
import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from interlock_gateway.audit.checkpoint import CheckpointFile
from interlock_gateway.audit.errors import AuditDamagedError
from interlock_gateway.audit.keys import SigningKey
from interlock_gateway.audit.line import Head, build
from interlock_gateway.audit.pauses import Pauses
from interlock_gateway.audit.recovery import Recovery, recover
from interlock_gateway.audit.segments import SegmentFile, segment_name
from interlock_gateway.core.clock import Clock
from interlock_gateway.core.jsonvalue import JsonObject

LOCK_NAME = "lock"
# The end of the year 9999, the last that RFC 3339 can say.
_LAST_SECOND = 253_402_300_799.0


def timestamp(seconds: float) -> str:
    """Unix seconds as RFC 3339 in UTC, with microseconds; a clock gone mad gives the nearest time there is."""
    second, microsecond = divmod(round(min(max(seconds, 0.0), _LAST_SECOND) * 1_000_000), 1_000_000)
    return f"{_second(second)}.{microsecond:06d}Z"


# The system looks at the file of the time zone each time that it is asked, for UTC too.
@lru_cache(maxsize=16)
def _second(unix_s: int) -> str:
    return datetime.fromtimestamp(unix_s, UTC).strftime("%Y-%m-%dT%H:%M:%S")


class Chain:
    """The log in one directory, held alone by this process.

    Opening it recovers what a crash left and raises `AuditDamagedError` for what it may not continue, or when another
    process holds it.
    """

    def __init__(self, directory: Path, key: SigningKey, clock: Clock, segment_bytes: int) -> None:
        self._directory = directory
        self._key = key
        self._clock = clock
        self._segment_bytes = segment_bytes
        self._file: SegmentFile | None = None
        self.head = Head()
        try:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = _hold(directory / LOCK_NAME)
            try:
                self._open(recover(directory, key.public))
            except (OSError, AuditDamagedError):
                os.close(self._lock)
                raise
        except OSError as error:
            raise AuditDamagedError(f"the audit log cannot be opened: {error.strerror}") from error

    def append(self, records: Sequence[bytes], pauses: Pauses | None = None) -> None:
        """Write the records, each given as JSON members without braces, and wait until they are on disk.

        With `pauses`, there is one behind each that is signed.

        On `OSError` none of them is in the log.
        """
        file = self._current()
        head = self.head
        lines: list[bytes] = []
        if file.size == 0:
            records = [self._segment_header(), *records]
        for members in records:
            line, head = build(head, members, self._key)
            lines.append(line)
            if pauses is not None:
                pauses.pause()
        file.append(b"".join(lines))
        self.head = head

    def mark(self, *, closed: bool = False) -> None:
        """Sign where the log stands now. Raises `OSError`."""
        self._checkpoint.write(self.head, closed=closed, timestamp=self._now())

    def note(self, kind: str, **members: int | str) -> bytes:
        """A line of the log about itself."""
        record: JsonObject = {"kind": kind, "timestamp": self._now(), **members}
        return json.dumps(record, separators=(",", ":")).encode()[1:-1]

    def close(self) -> None:
        """Write the closing line and checkpoint, and let go. Raises `OSError`; lets go all the same."""
        try:
            self.append([self.note("closed")])
            self.mark(closed=True)
        finally:
            self.release()

    def release(self) -> None:
        """Let go of the files without a closing line."""
        if self._file is not None:
            self._file.close()
            self._file = None
        self._checkpoint.close()
        os.close(self._lock)

    def _open(self, found: Recovery | None) -> None:
        self._checkpoint = CheckpointFile(self._directory, self._key, found.last if found is not None else None)
        if found is None:
            self.mark()
            self.mark()
            return
        self.head = found.head
        if found.segment is not None:
            self._file = SegmentFile(found.segment)
        if not found.is_clean:
            self.append(
                [
                    self.note(
                        "recovered",
                        uncovered=found.uncovered,
                        torn_bytes=found.torn_bytes,
                        torn_sha256=found.torn_sha256,
                    )
                ]
            )
        self.mark()

    def _current(self) -> SegmentFile:
        if self._file is not None and self._file.size >= self._segment_bytes:
            self._file.close()
            self._file = None
        if self._file is None:
            self._file = SegmentFile(self._directory / segment_name(self.head.sequence + 1))
        return self._file

    def _segment_header(self) -> bytes:
        return self.note("segment", format="interlock-audit-1", key_id=self._key.public.key_id)

    def _now(self) -> str:
        return timestamp(self._clock.now())


def _hold(path: Path) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise AuditDamagedError("the audit log is in use by another process") from error
    return descriptor
