"""State in a SQLite file, which belongs to one gateway."""

import os
import sqlite3
from pathlib import Path
from typing import Any

from sqlalchemy import URL, create_engine, event
from sqlalchemy.dialects import sqlite
from sqlalchemy.pool import NullPool

from interlock_gateway.state.database import Database

_PRAGMAS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA journal_size_limit = 67108864",
)


def open_sqlite(url: URL, *, busy_timeout_s: float) -> Database:
    """The database in the file of `url`. Raises `ValueError` when it names none."""
    if not url.database or url.database == ":memory:":
        raise ValueError("state must be kept in a file: sqlite:///PATH")
    path = Path(url.database)
    engine = create_engine(
        f"sqlite:///{path}",
        poolclass=NullPool,
        isolation_level="AUTOCOMMIT",
        connect_args={"timeout": busy_timeout_s},
    )
    event.listen(engine, "do_connect", lambda *_: _create_private(path))
    event.listen(engine, "connect", _set_up)
    return Database(
        engine=engine,
        shown=str(path),
        insert=sqlite.insert,
        begin="BEGIN IMMEDIATE",
        begin_alone=("BEGIN IMMEDIATE",),
        failures=sqlite3.Error,
        conflicts=(sqlite3.IntegrityError,),
        own_faults=(
            sqlite3.DataError,
            sqlite3.ProgrammingError,
            sqlite3.NotSupportedError,
            # A value of a type that SQLite cannot bind.
            sqlite3.InterfaceError,
        ),
    )


def _create_private(path: Path) -> None:
    # SQLite gives its side files the permissions of this one. Inputs of calls are nobody else's business.
    os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))


def _set_up(connection: Any, _record: object) -> None:
    for pragma in _PRAGMAS:
        connection.execute(pragma).close()
