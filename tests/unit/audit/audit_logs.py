"""Audit logs for the tests: a clock that they move, and waits that end."""

from pathlib import Path

from interlock_gateway.audit.chain import Chain
from interlock_gateway.audit.keys import SigningKey
from interlock_gateway.audit.log import AuditLimits, AuditLog
from interlock_gateway.audit.read import read_records
from interlock_gateway.results.redaction import Redactor

REDACTOR = Redactor()
PATIENCE_S = 20.0


class ManualClock:
    def __init__(self) -> None:
        self.time = 1_780_000_000.0

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time


def open_log(directory: Path, key: SigningKey, clock: ManualClock, **limits: float) -> AuditLog:
    settings = {"group_s": 0.01, "retry_s": 0.01, "commit_timeout_s": PATIENCE_S, **limits}
    return AuditLog(directory, key, clock, REDACTOR, AuditLimits(**settings))  # type: ignore[arg-type] # by name


def open_chain(directory: Path, key: SigningKey, segment_bytes: int = 1 << 20) -> Chain:
    return Chain(directory, key, ManualClock(), segment_bytes)


def kinds(directory: Path) -> list[str]:
    return [record.kind for record in read_records(directory)]
