"""What every artifact test needs: a directory, and a store in it."""

from pathlib import Path

import pytest
from artifact_stores import ManualClock
from interlock_gateway.artifacts.backend import open_backend
from interlock_gateway.artifacts.store import ArtifactStore


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "artifacts"


@pytest.fixture
def local(root: Path) -> ArtifactStore:
    return ArtifactStore(open_backend(f"file://{root}"), ManualClock())
