"""What every artifact test needs: a directory and a store in it, and places in stores of others."""

from pathlib import Path

import pytest
from artifact_stores import ManualClock
from clouds import CLOUDS, Cloud, cloud_of
from interlock_gateway.artifacts.backend import open_backend
from interlock_gateway.artifacts.store import ArtifactStore


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "artifacts"


@pytest.fixture
def local(root: Path) -> ArtifactStore:
    return ArtifactStore(open_backend(f"file://{root}"), ManualClock())


@pytest.fixture(params=CLOUDS)
def cloud(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Cloud:
    """A place in an empty bucket of each kind of store, with credentials for it in the environment."""
    made = cloud_of(request.param, request)
    made.use(monkeypatch)
    return made
