import asyncio
import json
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from interlock_gateway.pipeline.ports import StoredFormatError
from interlock_gateway.state.database import Database, open_database
from interlock_gateway.state.migrate import ensure_current
from interlock_gateway.state.migrations.runner import configuration, upgrade
from interlock_gateway.state.schema import HEAD, metadata
from interlock_gateway.state.store import SqlStateStore

START = """
import asyncio, json, sys
from interlock_gateway.state.store import SqlStateStore

async def main():
    async with await SqlStateStore.open(sys.argv[1], replica_id="r1"):
        print(json.dumps([name for name in ("alembic", "mako", "sqlalchemy.orm") if name in sys.modules]))

asyncio.run(main())
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


def statements(path: Path) -> dict[str, str]:
    """The statements that made a database."""
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    connection.close()
    return {name: re.sub(r"\s+", " ", sql) for name, sql in rows}


def test_migrating_an_empty_database_gives_the_tables_that_the_code_declares(current: Database) -> None:
    with current.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


@pytest.mark.usefixtures("current")
def test_what_a_comparison_of_metadata_does_not_see_is_the_same_too(tmp_path: Path) -> None:
    ensure_current(open_database(f"sqlite:///{tmp_path / 'declared.db'}", busy_timeout_s=1.0))

    assert statements(tmp_path / "state.db") == statements(tmp_path / "declared.db")


def test_the_newest_revision_is_the_one_the_code_expects() -> None:
    assert ScriptDirectory.from_config(configuration()).get_current_head() == HEAD


def test_migrating_twice_changes_nothing(current: Database, tmp_path: Path) -> None:
    before = statements(tmp_path / "state.db")
    ensure_current(current)

    assert statements(tmp_path / "state.db") == before


def test_a_database_of_a_newer_version_is_refused_and_left_alone(current: Database, tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "state.db")
    connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.commit()

    with pytest.raises(StoredFormatError):
        ensure_current(current)
    assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [("9999",)]
    connection.close()


@pytest.mark.usefixtures("current")
def test_a_start_on_a_current_database_loads_no_migrations(url: str) -> None:
    started = subprocess.run([sys.executable, "-c", START, url], check=True, capture_output=True, text=True)

    assert json.loads(started.stdout) == []


async def test_many_starts_on_one_empty_database_migrate_it_once(url: str) -> None:
    stores = await asyncio.gather(*(SqlStateStore.open(url, replica_id=f"r{n}") for n in range(5)))

    assert [await store.sessions.list_sessions(1) for store in stores] == [()] * 5
    for store in stores:
        await store.close()


async def test_the_files_of_the_database_are_for_its_owner_alone(tmp_path: Path, url: str) -> None:
    async with await SqlStateStore.open(url, replica_id="r1") as store:
        await store.sessions.save_session_facts({"s": b"{}"})
        modes = file_modes(tmp_path)

    assert modes == dict.fromkeys(("state.db", "state.db-wal", "state.db-shm"), 0o600)
