"""A database: how it is reached, and all in which SQLite and PostgreSQL differ. No other file names a dialect."""

import os
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, Table, create_engine, event, make_url
from sqlalchemy.dialects import sqlite
from sqlalchemy.pool import NullPool

# SQLite's and PostgreSQL's `INSERT` share `ON CONFLICT` but no class; which one it is, only this file knows.
InsertInto = Callable[[Table], sqlite.Insert]

_SQLITE_PRAGMAS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA journal_size_limit = 67108864",
)


@dataclass(frozen=True, slots=True)
class Database:
    """One database. Its connections are in the driver's autocommit mode: transactions are begun in so many words.

    `begin` starts a transaction that writes. Of the driver's errors `conflicts` and `own_faults` are the fault of one
    statement; every other one (a subclass of `failures`) says that the database does not work.
    """

    engine: Engine
    insert: InsertInto
    begin: str
    failures: type[Exception]
    conflicts: tuple[type[Exception], ...]
    own_faults: tuple[type[Exception], ...]


def open_database(url: str, *, busy_timeout_s: float) -> Database:
    """The database at `url` (`sqlite:///path`); connects to nothing yet.

    `busy_timeout_s` is how long a writer waits for another one. Raises `ValueError` for a URL of another kind.
    """
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite" or not parsed.database or parsed.database == ":memory:":
        raise ValueError("state must be kept in a file: sqlite:///PATH")
    return _sqlite(Path(parsed.database), busy_timeout_s)


def _sqlite(path: Path, busy_timeout_s: float) -> Database:
    engine = create_engine(
        f"sqlite:///{path}",
        poolclass=NullPool,
        isolation_level="AUTOCOMMIT",
        connect_args={"timeout": busy_timeout_s},
    )
    event.listen(engine, "do_connect", lambda *_: _create_private(path))
    event.listen(engine, "connect", _set_up_sqlite)
    return Database(
        engine=engine,
        insert=sqlite.insert,
        begin="BEGIN IMMEDIATE",
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


def _set_up_sqlite(connection: Any, _record: object) -> None:
    for pragma in _SQLITE_PRAGMAS:
        connection.execute(pragma).close()
