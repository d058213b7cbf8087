import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from interlock_gateway.pipeline.ports import StoredFormatError
from interlock_gateway.state.database import Database, open_database
from interlock_gateway.state.migrate import ensure_current, look_at
from interlock_gateway.state.migrations.runner import configuration, upgrade
from interlock_gateway.state.schema import HEAD, metadata
from interlock_gateway.state.store import SqlStateStore

START = """
import asyncio, json, sys
from interlock_gateway.state.store import SqlStateStore

UNWANTED = ["alembic", "mako", "sqlalchemy.orm"]
if sys.argv[1].startswith("sqlite"):
    UNWANTED += ["psycopg", "sqlalchemy.dialects.postgresql"]

async def main():
    async with await SqlStateStore.open(sys.argv[1], replica_id="r1"):
        print(json.dumps([name for name in UNWANTED if name in sys.modules]))

asyncio.run(main())
"""


ON_SQLITE = "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"
ON_POSTGRESQL = """
SELECT 'index ' || indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'
UNION ALL SELECT 'constraint ' || conname, conrelid::regclass || ' ' || pg_get_constraintdef(oid)
FROM pg_constraint WHERE connamespace = 'public'::regnamespace
UNION ALL SELECT 'column ' || table_name || '.' || column_name, concat_ws(' ', data_type, is_nullable, column_default)
FROM information_schema.columns WHERE table_schema = 'public'
"""


def file_modes(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}


@pytest.fixture
def current(url: str) -> Database:
    """A database that every migration has been run on, as on one of an earlier version."""
    database = open_database(url, busy_timeout_s=1.0)
    with database.engine.connect() as connection:
        connection.exec_driver_sql(database.begin)
        upgrade(connection)
        connection.exec_driver_sql("COMMIT")
    return database


def declared(url: str) -> dict[str, str]:
    """What the database itself says of its tables and indexes, by name."""
    database = open_database(url, busy_timeout_s=1.0)
    query = ON_SQLITE if url.startswith("sqlite") else ON_POSTGRESQL
    with database.engine.connect() as connection:
        rows = connection.exec_driver_sql(query).fetchall()
    return {name: re.sub(r"\s+", " ", sql) for name, sql in rows}


def test_migrating_an_empty_database_gives_the_tables_that_the_code_declares(current: Database) -> None:
    with current.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


@pytest.mark.req("STATE-1")
@pytest.mark.usefixtures("current")
def test_what_a_comparison_of_metadata_does_not_see_is_the_same_too(url: str, another_url: str) -> None:
    ensure_current(open_database(another_url, busy_timeout_s=1.0))

    assert declared(url) == declared(another_url)
    assert len(declared(url)) > 20


def test_the_newest_revision_is_the_one_the_code_expects() -> None:
    assert ScriptDirectory.from_config(configuration()).get_current_head() == HEAD


def test_migrating_twice_changes_nothing(url: str, current: Database) -> None:
    before = declared(url)
    ensure_current(current)

    assert declared(url) == before


def test_a_database_of_a_newer_version_is_refused_and_left_alone(current: Database) -> None:
    with current.engine.connect() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")

        with pytest.raises(StoredFormatError):
            ensure_current(current)
        found = connection.exec_driver_sql("SELECT version_num FROM alembic_version").fetchall()
        assert [tuple(row) for row in found] == [("9999",)]


async def test_what_was_known_of_a_session_before_there_were_replicas_is_known_to_all(url: str) -> None:
    database = open_database(url, busy_timeout_s=1.0)
    with database.engine.connect() as connection:
        connection.exec_driver_sql(database.begin)
        upgrade(connection, to="0002")
        connection.exec_driver_sql("INSERT INTO session_facts (session_id, document) VALUES ('s', '{}')")
        connection.exec_driver_sql("COMMIT")

    async with await SqlStateStore.open(url, replica_id="r1") as store:
        kept = await store.sessions.load_session_facts("s")
    assert kept.own is None
    assert len(kept.others) == 1


def test_a_look_at_a_database_says_how_it_is_and_changes_nothing(url: str, another_url: str) -> None:
    assert look_at(url).endswith("made at the first start")
    assert look_at(url).endswith("made at the first start")
    database = open_database(another_url, busy_timeout_s=1.0)
    with database.engine.connect() as connection:
        connection.exec_driver_sql(database.begin)
        upgrade(connection, to="0001")
        connection.exec_driver_sql("COMMIT")
        assert look_at(another_url).endswith("upgraded at the next start")
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
        with pytest.raises(StoredFormatError, match="newer version"):
            look_at(another_url)
    ensure_current(open_database(url, busy_timeout_s=1.0))
    assert look_at(url).endswith(", current")


@pytest.mark.usefixtures("current")
def test_a_start_on_a_current_database_loads_no_migrations_and_no_other_databases_driver(url: str) -> None:
    started = subprocess.run([sys.executable, "-c", START, url], check=True, capture_output=True, text=True)

    assert json.loads(started.stdout) == []


@pytest.mark.req("STATE-1")
async def test_many_starts_on_one_empty_database_migrate_it_once(url: str) -> None:
    stores = await asyncio.gather(*(SqlStateStore.open(url, replica_id=f"r{n}") for n in range(5)))

    assert [await store.sessions.list_sessions(1) for store in stores] == [()] * 5
    for store in stores:
        await store.close()


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
async def test_the_files_of_the_database_are_for_its_owner_alone(tmp_path: Path, url: str) -> None:
    async with await SqlStateStore.open(url, replica_id="r1") as store:
        await store.sessions.save_session_facts({"s": b"{}"})
        modes = file_modes(tmp_path)

    assert modes == dict.fromkeys(("state.db", "state.db-wal", "state.db-shm"), 0o600)
