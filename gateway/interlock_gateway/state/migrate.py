"""Brings a database to the newest revision, or finds it there."""

from sqlalchemy import Connection, column, inspect, select, table
from sqlalchemy.exc import DBAPIError

from interlock_gateway.pipeline.ports import StateUnavailableError
from interlock_gateway.state.database import Database
from interlock_gateway.state.schema import HEAD


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
    revision: str | None = connection.scalar(select(column("version_num")).select_from(table("alembic_version")))
    return revision


def _upgrade(database: Database, connection: Connection) -> None:
    # Alembic is loaded here alone: most starts find nothing to do, and it costs 100 ms and 12 MiB.
    from interlock_gateway.state.migrations.runner import upgrade  # noqa: PLC0415 - as said above

    connection.exec_driver_sql(database.begin)
    try:
        # Another process may have done it while this one waited for the lock.
        if _revision(connection) != HEAD:
            upgrade(connection)
    except BaseException:
        connection.exec_driver_sql("ROLLBACK")
        raise
    connection.exec_driver_sql("COMMIT")
