"""Which receipts a query finds, and how one is shown."""

from typing import Any

import pytest
from interlock_gateway.audit.read import StoredRecord
from interlock_gateway.cli.receipts import EVERYTHING, Filter, document, row, text_line

RECORD: dict[str, Any] = {
    "kind": "receipt",
    "decision_id": "d-1",
    "timestamp": "2026-11-21T23:18:13.316278Z",
    "requested_by": "ci",
    "session_id": "s-1",
    "call_id": "c-1",
    "tool": "bash",
    "result": {"verdict": "deny", "reasons": [{"code": "a", "rule": "x/a"}, {"code": "b", "rule": "x/b"}]},
    "outcome": {"status": "denied"},
}
STORED = StoredRecord(7, "0" * 64, RECORD)
HEADER = StoredRecord(1, "0" * 64, {"kind": "segment", "timestamp": "2026-11-21T00:00:00Z"})


@pytest.mark.parametrize(
    "wanted",
    [
        Filter(),
        Filter(tool="bash", principal="ci", session="s-1", call="c-1", decision="d-1", verdict="deny"),
        Filter(reason="b"),
        Filter(reason="b", rule="x/b"),
        Filter(since="2026-11-21", until="2026-11-22"),
        EVERYTHING,
    ],
)
def test_a_receipt_is_found_by_what_is_in_it(wanted: Filter) -> None:
    assert wanted.wants(STORED)


@pytest.mark.parametrize(
    "wanted",
    [
        Filter(tool="read"),
        Filter(principal="me"),
        Filter(session="s"),
        Filter(call="c"),
        Filter(decision="d"),
        Filter(verdict="allow"),
        Filter(reason="c"),
        Filter(reason="a", rule="x/b"),
        Filter(since="2026-11-22"),
        Filter(until="2026-11-21"),
        Filter(kinds=frozenset({"intent"})),
    ],
)
def test_a_receipt_is_not_found_by_what_is_not_in_it(wanted: Filter) -> None:
    assert not wanted.wants(STORED)


def test_what_the_log_writes_about_itself_is_no_receipt() -> None:
    assert not Filter().wants(HEADER)
    assert EVERYTHING.wants(HEADER)
    assert row(HEADER)[3] == "segment"


def test_a_receipt_is_one_line_for_people_and_everything_for_programs() -> None:
    assert text_line(STORED) == "7  2026-11-21T23:18:13.316278Z  ci  bash  deny  denied  a, b  s-1  d-1"
    assert document(STORED) == {**RECORD, "sequence": 7, "hash": "0" * 64}
