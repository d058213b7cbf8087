"""What every artifact test needs: a directory, and a store in it."""

from pathlib import Path

import pytest
from artifact_stores import ManualClock
from interlock_gateway.artifacts.backend import open_backend
from interlock_gateway.artifacts.store import ArtifactStore
from s3_server import S3Server


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "artifacts"


@pytest.fixture
def local(root: Path) -> ArtifactStore:
    return ArtifactStore(open_backend(f"file://{root}"), ManualClock())


@pytest.fixture
def bucket(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of a place in an empty bucket, with credentials for it in the environment."""
    for name, value in s3.environment().items():
        monkeypatch.setenv(name, value)
    return f"s3://{s3.bucket()}/place"
