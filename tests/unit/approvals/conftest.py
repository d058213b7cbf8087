"""A database and a desk on it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from interlock_gateway.approvals.desk import ApprovalDesk
from interlock_gateway.approvals.editing import Editor
from interlock_gateway.approvals.watches import Watches
from interlock_gateway.results.redaction import Redactor
from interlock_gateway.state.store import SqlStateStore
from waiting_checkpoints import StillClock, state


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqlStateStore]:
    async with state(tmp_path) as made:
        yield made


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
def editor() -> Editor:
    redactor = Redactor()
    return Editor(64 * 1024, 32, lambda value: redactor.redact_value(value).value)


@pytest.fixture
def watches(store: SqlStateStore) -> Watches:
    return Watches(store.checkpoints, store.changes, most=3, keepalive_s=0.05)


@pytest.fixture
def desk(store: SqlStateStore, clock: StillClock, watches: Watches, editor: Editor) -> ApprovalDesk:
    return ApprovalDesk(store.checkpoints, clock, watches, editor)
