"""Reading records back, for queries, export and replay. Checks nothing; `verify` does."""

import json
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from interlock_gateway.audit.errors import AuditDamagedError
from interlock_gateway.audit.line import Line, parse
from interlock_gateway.audit.segments import list_segments, read_raw_lines
from interlock_gateway.core.jsonvalue import JsonObject


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """One line of the log: its sequence, its hash, and everything in it but the seal."""

    sequence: int
    hash: str
    record: JsonObject

    @property
    def kind(self) -> str:
        """`intent`, `receipt`, or a kind that the log writes about itself."""
        return str(self.record.get("kind", ""))


def read_records(directory: Path, *, after: int = 0) -> Iterator[StoredRecord]:
    """The records behind line `after`, oldest first, up to the last complete line.

    May be called while the log is being written. Raises `AuditDamagedError` at a line that is not one, and `OSError`.
    """
    segments = list_segments(directory)
    behind = [segment for segment in segments if segment.first <= after + 1]
    for segment in segments[max(0, len(behind) - 1) :]:
        for number, data in enumerate(read_raw_lines(segment.path), start=1):
            if not data.endswith(b"\n"):
                return
            place = f"{segment.path.name}:{number}"
            line = _line(place, data)
            if line.sequence > after:
                yield _record(place, line)


def read_last(directory: Path, count: int) -> list[StoredRecord]:
    """The last `count` records, oldest first. Raises as `read_records` does."""
    found: list[StoredRecord] = []
    for segment in reversed(list_segments(directory)):
        if len(found) >= count:
            break
        complete = (data for data in read_raw_lines(segment.path) if data.endswith(b"\n"))
        wanted = deque(complete, maxlen=count - len(found))
        found = [_record(segment.path.name, _line(segment.path.name, data)) for data in wanted] + found
    return found


def find_decision(directory: Path, decision_id: str) -> list[StoredRecord]:
    """The records about one decision, oldest first: its receipt, and the intent before it. Raises as the others do.

    Looks through the newest segment first, and reads no line that does not name the decision.
    """
    wanted = b'"decision_id":' + json.dumps(decision_id).encode()
    for segment in reversed(list_segments(directory)):
        lines = (data for data in read_raw_lines(segment.path) if wanted in data and data.endswith(b"\n"))
        found = [_record(segment.path.name, _line(segment.path.name, data)) for data in lines]
        about = [one for one in found if one.record.get("decision_id") == decision_id]
        if about:
            return about
    return []


def _line(place: str, data: bytes) -> Line:
    line = parse(data)
    if line is None:
        raise AuditDamagedError(f"{place}: not a receipt")
    return line


def _record(place: str, line: Line) -> StoredRecord:
    try:
        record = json.loads(line.body + b"}")
    except (ValueError, RecursionError) as error:
        raise AuditDamagedError(f"{place}: not JSON") from error
    return StoredRecord(line.sequence, line.hash, record)
