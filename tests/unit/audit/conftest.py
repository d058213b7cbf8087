"""What every audit test needs: a key, a clock, a directory."""

from pathlib import Path

import pytest
from audit_logs import ManualClock
from interlock_gateway.audit.keys import SigningKey, load_or_create


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(scope="session")
def key(tmp_path_factory: pytest.TempPathFactory) -> SigningKey:
    return load_or_create(tmp_path_factory.mktemp("key") / "audit-key.pem")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "audit"
