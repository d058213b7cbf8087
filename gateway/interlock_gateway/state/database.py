"""A database: how it is reached, and all in which SQLite and PostgreSQL differ.

`sqlite.py` and `postgresql.py` say what is so for the one and for the other; no other file names a dialect.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

from sqlalchemy import Engine, Table, make_url
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import ArgumentError

from interlock_gateway.core.change import Change
from interlock_gateway.state.standing import Standing

T = TypeVar("T")

# SQLite's and PostgreSQL's `INSERT` share `ON CONFLICT` but no class; which one it is, only the database knows.
InsertInto: TypeAlias = Callable[[Table], sqlite.Insert]


class Commit(Protocol):
    """How a transaction is ended through its cursor."""

    def __call__(self, cursor: Any, changes: Sequence[Change]) -> None:
        """Commit, and with it tell other replicas of `changes`."""
        ...


def commit_alone(cursor: Any, changes: Sequence[Change]) -> None:  # noqa: ARG001 - nobody else is there to be told
    """Commit where there is no other replica."""
    cursor.execute("COMMIT")


def never_lost(_connection: Any) -> bool:
    """A file does not go away as a server does."""
    return False


@dataclass(frozen=True, slots=True)
class Database:
    """One database. Its connections are in the driver's autocommit mode: transactions are begun in so many words.

    `begin` starts a transaction that writes, `begin_alone` one that migrates: of several processes one goes on, and it
    sees what the others did. Of the driver's errors `conflicts` and `own_faults` are the fault of one statement;
    `lost_races` say that another transaction came first and this one may be tried again, `busy` that it took too long
    to get at a row; every other one (a subclass of `failures`) says that the database does not work.

    `writers` and `readers` are how many connections there are for each. With `together`, one transaction holds what
    many callers write. `is_lost` says of a connection of the driver's whether it is known to be gone. `shown` says for
    people where the database is, without secrets. Where other replicas may be, `connect` opens a connection for the
    event loop, and what dispatches must hold the lease of `standing`.
    """

    engine: Engine
    shown: str
    insert: InsertInto
    begin: str
    begin_alone: tuple[str, ...]
    failures: type[Exception]
    conflicts: tuple[type[Exception], ...]
    own_faults: tuple[type[Exception], ...]
    lost_races: tuple[type[Exception], ...] = ()
    busy: tuple[type[Exception], ...] = ()
    writers: int = 1
    readers: int = 1
    together: bool = True
    commit: Commit = commit_alone
    is_lost: Callable[[Any], bool] = never_lost
    connect: Callable[[], Awaitable[Any]] | None = None
    standing: Standing | None = None


def open_database(url: str, *, busy_timeout_s: float, origin: str = "", standing: Standing | None = None) -> Database:
    """The database at `url` (`sqlite:///PATH` or `postgresql://...`); connects to nothing yet.

    `busy_timeout_s` is how long a writer waits for another one; `origin` is who tells of changes, and `standing` the
    lease of a replica that shares the database. Raises `ValueError`
    for a URL of another kind, in words without its password.
    """
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise ValueError("state.database is not a URL") from None
    match parsed.get_backend_name():
        case "sqlite":
            from interlock_gateway.state.sqlite import open_sqlite  # noqa: PLC0415 - one of the two is loaded

            return open_sqlite(parsed, busy_timeout_s=busy_timeout_s)
        case "postgresql":
            try:
                # Loading it takes 14 MiB, which a gateway on SQLite has no use for.
                from interlock_gateway.state.postgresql import open_postgresql  # noqa: PLC0415 - as said above
            except ImportError as error:
                raise ValueError(
                    f"state on PostgreSQL needs the driver psycopg: install interlock-gateway[postgres] ({error})"
                ) from error
            return open_postgresql(parsed, busy_timeout_s=busy_timeout_s, origin=origin, standing=standing)
    raise ValueError("state must be kept in a file or on a server: sqlite:///PATH, or postgresql://HOST/NAME")
