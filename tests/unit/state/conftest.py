import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from interlock_gateway.state.database import Database, open_database
from interlock_gateway.state.migrate import ensure_current
from interlock_gateway.state.store import SqlStateStore
from postgres_server import PostgresServer
from state_records import a_session


@pytest.fixture(params=["sqlite", "postgresql"])
def kind(request: pytest.FixtureRequest) -> str:
    """Every kind of database that there is: each test runs on each (STATE-1).

    `pytest.mark.parametrize("kind", ["sqlite"], indirect=True)` is for what is so on one alone.
    """
    chosen: str = request.param
    return chosen


@pytest.fixture
def url(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """Of a database without tables."""
    if kind == "sqlite":
        yield f"sqlite:///{tmp_path / 'state.db'}"
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    with server.database() as made:
        yield made


@pytest.fixture
def another_url(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """Of a second database without tables, of the same kind."""
    if kind == "sqlite":
        yield f"sqlite:///{tmp_path / 'another.db'}"
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    with server.database() as made:
        yield made


@pytest.fixture(scope="session")
def empty_tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated database, to be copied: migrating takes longer than most tests."""
    path = tmp_path_factory.mktemp("empty") / "state.db"
    ensure_current(open_database(f"sqlite:///{path}", busy_timeout_s=1.0))
    return path


@pytest.fixture(scope="session")
def migrated_template(postgres: PostgresServer) -> str:
    """The name of a migrated database on the server, to be copied."""
    postgres.command("CREATE DATABASE migrated")
    ensure_current(open_database(postgres.url("migrated"), busy_timeout_s=1.0))
    return "migrated"


@pytest.fixture
def migrated(url: str, kind: str, request: pytest.FixtureRequest) -> str:
    """The same as `url`, of a database that has its tables."""
    if kind == "sqlite":
        shutil.copyfile(request.getfixturevalue("empty_tables"), url.removeprefix("sqlite:///"))
    else:
        server: PostgresServer = request.getfixturevalue("postgres")
        server.refill(url, request.getfixturevalue("migrated_template"))
    return url


@pytest.fixture
def database(migrated: str) -> Database:
    return open_database(migrated, busy_timeout_s=1.0)


@pytest.fixture
async def store(migrated: str) -> AsyncIterator[SqlStateStore]:
    """A store with one open session, `s`."""
    async with await SqlStateStore.open(migrated, replica_id="r1") as store:
        await store.sessions.ensure_session(a_session())
        yield store
