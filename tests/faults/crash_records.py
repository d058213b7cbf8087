"""What a gateway has on disk, read without it: journal, calls, checkpoints, receipts. For the judge of crashes."""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

CallKey = tuple[str, str]
"""A session and a call in it."""

_CALLS = "SELECT session_id, call_id, state FROM calls WHERE session_id LIKE {0}"
_OPERATIONS = "SELECT session_id, call_id, operation_id, state FROM operations WHERE session_id LIKE {0}"
_CHECKPOINTS = "SELECT checkpoint_id, state FROM checkpoints WHERE session_id LIKE {0}"
_PENDING = "SELECT pending_id, state FROM pending_actions WHERE session_id LIKE {0}"
_INTENT = "SELECT state FROM operations WHERE session_id = {0} AND call_id = {0}"


@dataclass(frozen=True, slots=True)
class Stored:
    """What the database holds of some sessions: states by key."""

    calls: dict[CallKey, str] = field(default_factory=dict)
    operations: dict[CallKey, tuple[str, str]] = field(default_factory=dict)
    checkpoints: dict[str, str] = field(default_factory=dict)
    pending: dict[str, str] = field(default_factory=dict)


class Database:
    """The state database, looked at from outside: a file, or the URL of a PostgreSQL database."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._is_server = place.startswith("postgresql:")
        self._mark = "%s" if self._is_server else "?"
        self._server: psycopg.Connection[Any] | None = None

    def intent_of(self, call: CallKey) -> str:
        """The state of the call's operation, empty when there is none. Raises `OSError` when it cannot be seen."""
        rows = self._rows(_INTENT, *call)
        return str(rows[0][0]) if rows else ""

    def stored(self, sessions: str) -> Stored:
        """What is kept of the sessions whose ids match the `LIKE` pattern."""
        return Stored(
            {(session, call): state for session, call, state in self._rows(_CALLS, sessions)},
            {(session, call): (one, state) for session, call, one, state in self._rows(_OPERATIONS, sessions)},
            dict(self._rows(_CHECKPOINTS, sessions)),
            dict(self._rows(_PENDING, sessions)),
        )

    def close(self) -> None:
        """Let go of the server."""
        if self._server is not None:
            self._server.close()

    def _rows(self, sql: str, *values: str) -> list[Any]:
        with self._cursor() as cursor:
            return list(cursor.execute(sql.format(self._mark), values).fetchall())

    @contextmanager
    def _cursor(self) -> Iterator[Any]:
        if self._is_server:
            self._server = self._server or psycopg.connect(self._place, autocommit=True)
            with self._server.cursor() as cursor:
                yield cursor
            return
        try:
            # Each time anew: who kept it open would recover the log of a killed gateway in its place.
            with closing(sqlite3.connect(f"file:{self._place}?mode=ro", uri=True, timeout=5.0)) as connection:
                yield connection.cursor()
        except sqlite3.OperationalError as error:
            raise OSError(str(error)) from error


@dataclass
class Receipts:
    """The receipts in `directory`, as far as they were read: `read` goes on from there."""

    directory: Path
    intents: set[CallKey] = field(default_factory=set)
    statuses: dict[CallKey, list[str]] = field(default_factory=dict)
    _offsets: dict[str, int] = field(default_factory=dict)

    def read(self) -> "Receipts":
        """Take in every whole line that was added."""
        for line in self._new_lines():
            record = json.loads(line)
            call = (record.get("session_id", ""), record.get("call_id", ""))
            if record.get("kind") == "intent":
                self.intents.add(call)
            elif record.get("kind") == "receipt":
                self.statuses.setdefault(call, []).append(record.get("outcome", {}).get("status", ""))
        return self

    def _new_lines(self) -> Iterable[bytes]:
        for path in sorted(self.directory.glob("receipts-*.jsonl")):
            with path.open("rb") as file:
                file.seek(self._offsets.get(path.name, 0))
                data = file.read()
            whole = data.rfind(b"\n") + 1
            self._offsets[path.name] = self._offsets.get(path.name, 0) + whole
            yield from data[:whole].splitlines()
