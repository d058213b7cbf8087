"""Finding receipts in the segments on this machine, without the gateway."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interlock_gateway.audit.read import StoredRecord, read_records

OF_CALLS = frozenset({"receipt", "intent"})


@dataclass(frozen=True, slots=True)
class Filter:
    """Which records are wanted; empty means any. Times are RFC 3339 in UTC, compared as text."""

    tool: str = ""
    principal: str = ""
    session: str = ""
    call: str = ""
    decision: str = ""
    verdict: str = ""
    reason: str = ""
    rule: str = ""
    since: str = ""
    until: str = ""
    kinds: frozenset[str] = frozenset({"receipt"})

    def wants(self, stored: StoredRecord) -> bool:
        """Whether a record is wanted."""
        record: Mapping[str, Any] = stored.record
        if self.kinds and stored.kind not in self.kinds:
            return False
        exact = (
            (self.tool, record.get("tool")),
            (self.principal, record.get("requested_by")),
            (self.session, record.get("session_id")),
            (self.call, record.get("call_id")),
            (self.decision, record.get("decision_id")),
            (self.verdict, result_of(record).get("verdict")),
        )
        if any(wanted and wanted != found for wanted, found in exact):
            return False
        time = str(record.get("timestamp", ""))
        if (self.since and time < self.since) or (self.until and time >= self.until):
            return False
        return self._has_reason(record)

    def _has_reason(self, record: Mapping[str, Any]) -> bool:
        if not self.reason and not self.rule:
            return True
        return any(
            (not self.reason or one.get("code") == self.reason) and (not self.rule or one.get("rule") == self.rule)
            for one in result_of(record).get("reasons", ())
        )


EVERYTHING = Filter(kinds=frozenset())


def result_of(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """The decision inside a record; empty in those that the log writes about itself."""
    result = record.get("result")
    return result if isinstance(result, dict) else {}


def find(directory: Path, wanted: Filter, *, after: int = 0) -> Iterator[StoredRecord]:
    """The wanted records behind line `after`, oldest first. Raises `AuditDamagedError` and `OSError`."""
    return (stored for stored in read_records(directory, after=after) if wanted.wants(stored))


def row(stored: StoredRecord) -> tuple[Any, ...]:
    """A record as a line of a table: what `COLUMNS` names."""
    record = stored.record
    result = result_of(record)
    outcome = record.get("outcome")
    status = outcome.get("status") if isinstance(outcome, dict) else None
    reasons = ", ".join(str(one.get("code", "")) for one in result.get("reasons", ()))
    return (
        stored.sequence,
        record.get("timestamp"),
        record.get("requested_by"),
        record.get("tool") or stored.kind,
        result.get("verdict"),
        status,
        reasons,
        record.get("session_id"),
        record.get("decision_id"),
    )


COLUMNS = ("line", "time", "principal", "tool", "verdict", "outcome", "reasons", "session", "decision")


def text_line(stored: StoredRecord) -> str:
    """A record as one line of text."""
    return "  ".join(str(value) for value in row(stored) if value not in (None, ""))


def document(stored: StoredRecord) -> dict[str, Any]:
    """A record for programs: everything in it, with its place in the chain."""
    return {**stored.record, "sequence": stored.sequence, "hash": stored.hash}
