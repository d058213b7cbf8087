"""What callers see when a PostgreSQL server does not work, and that it heals."""

import asyncio
import logging
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import psycopg
import pytest
from interlock_gateway.pipeline.ports import StateUnavailableError
from interlock_gateway.state.database import open_database
from interlock_gateway.state.migrate import ensure_current
from interlock_gateway.state.store import SqlStateStore
from postgres_server import PostgresServer, running_postgres
from state_records import NOW, a_record, a_session, an_action, an_operation
from waiting import eventually

on_postgresql = pytest.mark.parametrize("kind", ["postgresql"], indirect=True)


async def end_connections(url: str) -> None:
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        await connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


@on_postgresql
async def test_connections_that_were_closed_while_nothing_went_on_are_opened_again(
    migrated: str, store: SqlStateStore
) -> None:
    for n in range(10):
        await asyncio.gather(
            store.calls.begin_call(a_record(f"{n}"), an_operation(f"{n}")), store.sessions.get_session("s")
        )
    await end_connections(migrated)

    begun = await asyncio.gather(
        *(store.calls.begin_call(a_record(f"again {n}"), an_operation(f"again {n}")) for n in range(10))
    )

    assert all(one.operation is not None for one in begun)
    assert await store.sessions.get_session("s") == a_session()
    assert store.healthy


@on_postgresql
async def test_a_row_that_somebody_holds_for_too_long_fails_its_own_writer_alone(migrated: str) -> None:
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(await SqlStateStore.open(migrated, replica_id="r1", busy_timeout_s=0.1))
        await store.sessions.ensure_session(a_session())
        await store.sessions.ensure_session(a_session("t"))
        holder = await stack.enter_async_context(await psycopg.AsyncConnection.connect(migrated))
        await holder.execute("SELECT 1 FROM sessions WHERE session_id = 's' FOR UPDATE")

        with pytest.raises(StateUnavailableError, match="held by others"):
            await store.pending.push_pending(an_action())
        await store.pending.push_pending(an_action("q", "t"))

        assert store.healthy
        await holder.rollback()
        await store.pending.push_pending(an_action())


@on_postgresql
async def test_writers_that_meet_at_one_row_all_get_through(migrated: str, store: SqlStateStore) -> None:
    async with await SqlStateStore.open(migrated, replica_id="r2") as other:
        await asyncio.gather(
            *(
                replica.pending.push_pending(an_action(f"{name}{n}"))
                for n in range(40)
                for name, replica in (("a", store), ("b", other))
            )
        )
        actions = await other.pending.list_pending("s", NOW)

    assert [action.sequence for action in actions] == list(range(80, 0, -1))


@on_postgresql
async def test_a_database_that_may_not_be_written_is_unavailable(
    postgres: PostgresServer, migrated: str, store: SqlStateStore
) -> None:
    assert store.healthy
    name = migrated.partition("?")[0].rpartition("/")[2]
    postgres.command(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    await end_connections(migrated)

    with pytest.raises(StateUnavailableError):
        await store.pending.push_pending(an_action())

    assert not store.healthy
    assert await store.sessions.get_session("s") == a_session()


@pytest.fixture
def own_server(postgres: PostgresServer) -> Iterator[PostgresServer]:
    """A server that a test may stop; where there is none for all, there is none here."""
    assert postgres.process
    with running_postgres() as server:
        yield server


@pytest.fixture
async def on_own_server(own_server: PostgresServer) -> AsyncIterator[SqlStateStore]:
    async with await SqlStateStore.open(own_server.url(), replica_id="r1", probe_every_s=0.05) as store:
        await store.join(1.0)
        await store.sessions.ensure_session(a_session())
        yield store


@pytest.mark.req("STATE-2")
async def test_while_the_server_is_down_nothing_is_run_and_afterwards_it_goes_on(
    own_server: PostgresServer, on_own_server: SqlStateStore
) -> None:
    store = on_own_server
    await store.calls.begin_call(a_record("before"), an_operation("before"))

    own_server.stop()
    with pytest.raises(StateUnavailableError):
        await store.calls.begin_call(a_record(), an_operation())
    with pytest.raises(StateUnavailableError):
        await store.sessions.get_session("s")
    assert not store.healthy
    await eventually(lambda: not store.stands)
    own_server.start()

    await eventually(lambda: store.healthy and store.stands)
    assert (await store.calls.begin_call(a_record(), an_operation())).operation is not None
    assert await store.calls.find_call("s", "before") == a_record("before")


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("postgresql://interlock:hunter2@127.0.0.1:1/state", "cannot be opened"),
        ("postgresql://interlock:hunter2@/state?host=/nowhere", "cannot be opened"),
        ("postgresql://interlock:hunter2@/state?host=/nowhere&sslmode=sideways", "cannot be opened"),
        ("postgresql://interlock:hunter2@/state?host=/nowhere&colour=red", "cannot be opened"),
        ("postgresql+psycopg://interlock:hunter2@/state?host=/nowhere", "cannot be opened"),
    ],
)
async def test_a_server_that_is_not_there_is_said_without_the_password(
    url: str, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(StateUnavailableError, match=says) as raised:
        await SqlStateStore.open(url, replica_id="r1")

    told = [str(raised.value), repr(raised.value), caplog.text, str(raised.value.__cause__)]
    assert not [text for text in told if "hunter2" in text]


def test_where_the_database_is_is_said_without_user_and_password() -> None:
    database = open_database("postgresql://me:hunter2@db.example:5433/state?sslmode=verify-full", busy_timeout_s=1.0)

    assert database.shown == "PostgreSQL at db.example:5433, database state"
    assert "hunter2" not in repr(database)


@pytest.mark.parametrize("option", ["sslmode=require", "sslmode=verify-full&sslrootcert=/nowhere.pem"])
async def test_what_the_url_says_of_encryption_is_what_the_driver_does(postgres: PostgresServer, option: str) -> None:
    # Over TCP, where nobody listens with TLS; on a Unix socket there is none to ask for.
    assert postgres
    with pytest.raises(StateUnavailableError) as raised:
        await SqlStateStore.open(f"postgresql://postgres@localhost:1/postgres?{option}", replica_id="r1")
    assert "cannot be opened" in str(raised.value)


@on_postgresql
def test_a_database_with_tables_of_others_gets_ours_beside_them(postgres: PostgresServer, url: str) -> None:
    name = url.partition("?")[0].rpartition("/")[2]
    postgres.command("CREATE TABLE theirs (id int)", name)

    ensure_current(open_database(url, busy_timeout_s=1.0))

    tables = {row[0] for row in postgres.command("SELECT tablename FROM pg_tables WHERE schemaname = 'public'", name)}
    assert {"theirs", "sessions", "replicas"} <= tables


def test_the_log_of_the_server_is_quiet(own_server: PostgresServer) -> None:
    ensure_current(open_database(own_server.url(), busy_timeout_s=1.0))

    assert "ERROR" not in Path(own_server.directory / "log").read_text()


def test_without_the_driver_it_is_said_how_to_get_it() -> None:
    script = """
import sys
sys.modules["psycopg"] = None
from interlock_gateway.state.database import open_database
try:
    open_database("postgresql://db/state", busy_timeout_s=1.0)
except ValueError as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout

    assert said.startswith("state on PostgreSQL needs the driver psycopg: install interlock-gateway[postgres]")
