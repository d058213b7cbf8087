from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from interlock_gateway.state.store import SqlStateStore
from state_records import a_session


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'state.db'}"


@pytest.fixture
async def store(url: str) -> AsyncIterator[SqlStateStore]:
    """A store with one open session, `s`."""
    async with await SqlStateStore.open(url, replica_id="r1") as store:
        await store.sessions.ensure_session(a_session())
        yield store
