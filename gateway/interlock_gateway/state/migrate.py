"""Brings a database to the newest revision, or finds it there."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Column, Connection, MetaData, String, Table, inspect, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.schema import CreateTable, PrimaryKeyConstraint

from interlock_gateway.pipeline.ports import StateUnavailableError, StoredFormatError
from interlock_gateway.state.database import Database, open_database
from interlock_gateway.state.schema import HEAD, metadata

# Alembic's own table.
_VERSION = Table(
    "alembic_version",
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)


def look_at(url: str) -> str:
    """Where the database at `url` is and how its tables are, in words; nothing is changed, and no file is made.

    Raises `ValueError` for another URL, `StateUnavailableError`, and `StoredFormatError` for a newer database.
    """
    database = open_database(url, busy_timeout_s=1.0)
    file = database.engine.url.database if database.connect is None else None
    if file is not None and not Path(file).exists():
        return f"{database.shown}, made at the first start"
    with _reached(database) as connection:
        revision = _revision(connection)
    if revision is None:
        return f"{database.shown}, its tables are made at the first start"
    if revision > HEAD:
        raise StoredFormatError(f"{database.shown} is of a newer version of the gateway (revision {revision})")
    return f"{database.shown}, " + ("current" if revision == HEAD else "upgraded at the next start")


def ensure_current(database: Database) -> None:
    """Create or upgrade the tables where they are not at `HEAD`.

    Raises `StateUnavailableError` when the database cannot be reached or written, and `StoredFormatError` when it is
    at a revision that this version does not know.
    """
    with _reached(database) as connection:
        if _revision(connection) != HEAD:
            _upgrade(database, connection)


@contextmanager
def _reached(database: Database) -> Iterator[Connection]:
    try:
        with database.engine.connect() as connection:
            yield connection
    except (OSError, DBAPIError, database.failures) as error:
        reason = error.orig if isinstance(error, DBAPIError) else error
        words = " ".join(str(reason).split())  # a driver's message has several lines
        raise StateUnavailableError(f"the state database cannot be opened: {words}") from error


def _revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    revision: str | None = connection.scalar(select(_VERSION.c.version_num))
    return revision


def _upgrade(database: Database, connection: Connection) -> None:
    for statement in database.begin_alone:
        connection.exec_driver_sql(statement)
    try:
        # Another process may have done it while this one waited for the lock.
        revision = _revision(connection)
        if revision is None and not inspect(connection).get_table_names():
            _create(connection)
        elif revision != HEAD:
            # Alembic is loaded here alone: most starts find nothing to do, and it costs 100 ms and 12 MiB.
            from interlock_gateway.state.migrations.runner import upgrade  # noqa: PLC0415 - as said above

            upgrade(connection)
    except BaseException:
        connection.exec_driver_sql("ROLLBACK")
        raise
    connection.exec_driver_sql("COMMIT")


def _create(connection: Connection) -> None:
    """The tables of an empty database, as the migrations would make them; a test holds the two to be the same."""
    metadata.create_all(connection)
    connection.execute(CreateTable(_VERSION))
    connection.execute(_VERSION.insert().values(version_num=HEAD))
