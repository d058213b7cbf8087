"""Brings a database to the newest revision, or finds it there."""

from sqlalchemy import Column, Connection, MetaData, String, Table, inspect, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.schema import CreateTable, PrimaryKeyConstraint

from interlock_gateway.pipeline.ports import StateUnavailableError
from interlock_gateway.state.database import Database
from interlock_gateway.state.schema import HEAD, metadata

# Alembic's own table.
_VERSION = Table(
    "alembic_version",
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)


def ensure_current(database: Database) -> None:
    """Create or upgrade the tables where they are not at `HEAD`.

    Raises `StateUnavailableError` when the database cannot be reached or written, and `StoredFormatError` when it is
    at a revision that this version does not know.
    """
    try:
        with database.engine.connect() as connection:
            if _revision(connection) != HEAD:
                _upgrade(database, connection)
    except (OSError, DBAPIError, database.failures) as error:
        reason = error.orig if isinstance(error, DBAPIError) else error
        raise StateUnavailableError(f"the state database cannot be opened: {reason}") from error


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
