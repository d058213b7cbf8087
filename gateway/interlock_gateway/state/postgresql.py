"""State on a PostgreSQL server, which several replicas share.

Loaded only where it is configured. Each caller's work is a transaction of its own: PostgreSQL itself lets commits that
come together share one write, and transactions that held the rows of many callers would wait for each other in a ring.
"""

from collections.abc import Callable, Sequence
from typing import Any, cast

import psycopg
from psycopg import errors
from sqlalchemy import URL, Engine, create_engine, event
from sqlalchemy.dialects import postgresql
from sqlalchemy.pool import NullPool

from interlock_gateway.core.change import Change
from interlock_gateway.state.announcing import CHANNEL, payloads_of
from interlock_gateway.state.database import Commit, Database, InsertInto
from interlock_gateway.state.presence import Connect
from interlock_gateway.state.replica_statements import application_name
from interlock_gateway.state.schema import metadata
from interlock_gateway.state.standing import Standing

# A statement here touches a few rows by an index; one that takes longer than this is stuck.
STATEMENT_TIMEOUT_S = 10.0
IDLE_S = 5.0
WRITERS = 4
READERS = 2
# "interlock", so that no other program's advisory lock is meant by accident.
_MIGRATION_LOCK = 0x696E7465726C6F63
_QUOTE = "'"


for _table in metadata.tables.values():
    for _index in _table.indexes:
        _index.dialect_options["postgresql"]["where"] = _index.dialect_options["sqlite"]["where"]


def open_postgresql(url: URL, *, busy_timeout_s: float, origin: str, standing: Standing | None) -> Database:
    """The database that `url` names; what its query holds (`sslmode`, `sslrootcert`, ...) goes to the driver as is."""
    engine = create_engine(
        url.set(drivername="postgresql+psycopg"),
        poolclass=NullPool,
        isolation_level="AUTOCOMMIT",
        connect_args=connect_arguments(url, standing),
        # Asked of every connection otherwise, and always the same.
        use_native_hstore=False,
    )
    event.listen(engine, "connect", _set_up(busy_timeout_s))
    return Database(
        engine=engine,
        shown=shown(url),
        insert=cast("InsertInto", postgresql.insert),
        # What one transaction read and another changed meanwhile is an error, and the transaction is tried again: so
        # each may read, think and write as if it were alone, as on SQLite.
        begin="BEGIN ISOLATION LEVEL REPEATABLE READ",
        begin_alone=("BEGIN ISOLATION LEVEL READ COMMITTED", f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})"),
        failures=psycopg.Error,
        conflicts=(psycopg.IntegrityError,),
        own_faults=(psycopg.DataError, psycopg.NotSupportedError),
        lost_races=(errors.SerializationFailure, errors.DeadlockDetected),
        busy=(errors.LockNotAvailable, errors.QueryCanceled),
        writers=WRITERS,
        readers=READERS,
        together=False,
        commit=_committer(origin),
        is_lost=lambda connection: bool(connection.closed),
        connect=_connector(engine, url, standing),
        standing=standing,
    )


def _connector(engine: Engine, url: URL, standing: Standing | None) -> Connect:
    places, names = engine.dialect.create_connect_args(url)
    arguments = {**connect_arguments(url, standing), **names}

    async def connect() -> "psycopg.AsyncConnection[tuple[object, ...]]":
        return await psycopg.AsyncConnection.connect(*places, autocommit=True, **arguments)

    return connect


def connect_arguments(url: URL, standing: Standing | None) -> dict[str, Any]:
    """What connections are opened with, unless `url` says otherwise; a server that is gone is noticed in seconds."""
    wanted: dict[str, Any] = {
        "application_name": "interlock" if standing is None else application_name(standing.replica_id),
        "connect_timeout": 3,
        "keepalives_idle": 5,
        "keepalives_interval": 2,
        "keepalives_count": 3,
        "tcp_user_timeout": 10_000,
    }
    return {name: value for name, value in wanted.items() if name not in url.query}


def shown(url: URL) -> str:
    """`url` for people: the server and the database, no user, password or option."""
    host = url.host or url.query.get("host") or "the local socket"
    place = ",".join(host) if isinstance(host, tuple) else host
    port = f":{url.port}" if url.port else ""
    return f"PostgreSQL at {place}{port}, database {url.database or url.username or 'of its user'}"


def _set_up(busy_timeout_s: float) -> Callable[[Any, object], None]:
    statement_s = max(STATEMENT_TIMEOUT_S, busy_timeout_s + 1)
    settings = {
        "statement_timeout": f"{statement_s * 1000:.0f}",
        "lock_timeout": f"{max(1.0, busy_timeout_s * 1000):.0f}",
        # Nothing here thinks between two statements; a process that was stopped there must not hold its rows for long.
        "idle_in_transaction_session_timeout": f"{IDLE_S * 1000:.0f}",
        "synchronous_commit": "on",
        "standard_conforming_strings": "on",
    }
    statement = "; ".join(f"SET {name} = {value}" for name, value in settings.items())

    def set_up(connection: Any, _record: object) -> None:
        connection.execute(statement).close()

    return set_up


def _committer(origin: str) -> Commit:
    def commit(cursor: Any, changes: Sequence[Change]) -> None:
        # One trip to the server for all of it. A payload is ASCII, and in a literal only its quotes mean anything.
        told = "".join(
            f"SELECT pg_notify('{CHANNEL}', '{payload.replace(_QUOTE, 2 * _QUOTE)}'); "
            for payload in payloads_of(origin, changes)
        )
        cursor.execute(f"{told}COMMIT", prepare=False)

    return commit
