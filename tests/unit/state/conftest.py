import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from interlock_gateway.state.database import open_database
from interlock_gateway.state.migrate import ensure_current
from interlock_gateway.state.store import SqlStateStore
from state_records import a_session


@pytest.fixture
def url(tmp_path: Path) -> str:
    """Of a database that is not there yet."""
    return f"sqlite:///{tmp_path / 'state.db'}"


@pytest.fixture(scope="session")
def empty_tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated database, to be copied: migrating takes longer than most tests."""
    path = tmp_path_factory.mktemp("empty") / "state.db"
    ensure_current(open_database(f"sqlite:///{path}", busy_timeout_s=1.0))
    return path


@pytest.fixture
def migrated(url: str, empty_tables: Path) -> str:
    """The same as `url`, of a database that has its tables."""
    shutil.copyfile(empty_tables, url.removeprefix("sqlite:///"))
    return url


@pytest.fixture
async def store(migrated: str) -> AsyncIterator[SqlStateStore]:
    """A store with one open session, `s`."""
    async with await SqlStateStore.open(migrated, replica_id="r1") as store:
        await store.sessions.ensure_session(a_session())
        yield store
