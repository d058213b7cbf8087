"""A JSON array, shortened as a table: how many rows, which columns, and the first rows as they were (RES-2)."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from interlock_gateway.core.jsonvalue import JsonValue

_SAMPLED_ROWS = 100
_MOST_COLUMNS = 50
_LONGEST_COLUMN = 100
# Rows behind this are not counted: reading them all would hold up everyone else for a number.
_LONGEST_READ = 8 * 1024 * 1024
_WHITESPACE = " \t\n\r"
_BETWEEN = ",\n"


@dataclass(slots=True)
class _Rows:
    count: int = 0
    is_complete: bool = True
    columns: dict[str, None] = field(default_factory=dict)
    shown: list[str] = field(default_factory=list)
    shown_bytes: int = 0


def summarize_table(text: bytes, max_bytes: int, max_rows: int) -> str | None:
    """The summary in at most `max_bytes` and `max_rows` rows (0: no limit); `None` for no JSON array."""
    source = text[:_LONGEST_READ].decode("utf-8", "ignore")
    rows = _Rows(is_complete=len(text) <= _LONGEST_READ)
    try:
        for row, raw in _elements(source):
            _take(rows, row, raw, max_bytes, max_rows)
    except ValueError:
        if rows.is_complete or rows.count == 0:
            return None
    except RecursionError:
        return None
    return _fitted(rows, max_bytes)


def _elements(source: str) -> Iterator[tuple[JsonValue, str]]:
    """Each element of the array with its text. Raises `ValueError` where `source` is not one JSON array."""
    decoder = json.JSONDecoder()
    at = _skip(source, 0)
    if source[at : at + 1] != "[":
        raise ValueError("not an array")
    at = _skip(source, at + 1)
    while source[at : at + 1] != "]":
        row, end = decoder.raw_decode(source, at)
        yield row, source[at:end]
        at = _skip(source, end)
        if source[at : at + 1] == ",":
            at = _skip(source, at + 1)
        elif source[at : at + 1] != "]":
            raise ValueError("not an array")
    if _skip(source, at + 1) != len(source):
        raise ValueError("more than an array")


def _skip(source: str, at: int) -> int:
    while at < len(source) and source[at] in _WHITESPACE:
        at += 1
    return at


def _take(rows: _Rows, row: JsonValue, raw: str, max_bytes: int, max_rows: int) -> None:
    rows.count += 1
    if rows.count <= _SAMPLED_ROWS and isinstance(row, dict):
        rows.columns.update(dict.fromkeys(row))
    # The first row that does not fit is the last one looked at: what is shown has no gaps.
    if len(rows.shown) == rows.count - 1 and (max_rows == 0 or len(rows.shown) < max_rows):
        size = len(raw.encode()) + 2
        if rows.shown_bytes + size <= max_bytes:
            rows.shown.append(raw)
            rows.shown_bytes += size


def _fitted(rows: _Rows, max_bytes: int) -> str | None:
    while True:
        shown = f"[{_BETWEEN.join(rows.shown)}]\n" if rows.shown else ""
        summary = f"{_heading(rows)}\n{shown}"
        if len(summary.encode()) <= max_bytes:
            return summary
        if not rows.shown:
            return None
        rows.shown.pop()


def _heading(rows: _Rows) -> str:
    count = f"{rows.count} rows" if rows.is_complete else f"more than {rows.count} rows"
    names = [_column(name[:_LONGEST_COLUMN]) for name in list(rows.columns)[:_MOST_COLUMNS]]
    more = f", and {len(rows.columns) - _MOST_COLUMNS} more" if len(rows.columns) > _MOST_COLUMNS else ""
    columns = f"; columns: {', '.join(names)}{more}" if names else ""
    return f"{count}{columns}; showing the first {len(rows.shown)}"


def _column(name: str) -> str:
    # A name may hold anything; quoted, it stays one name on one line.
    return name if name.isprintable() and name.strip() and "," not in name else json.dumps(name)
