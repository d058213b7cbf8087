"""The state directory: ours alone while the gateway runs, and the replica's name in it."""

import fcntl
import os
import socket
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from interlock_gateway.config import Config
from interlock_gateway.errors import ConfigError


@contextmanager
def state_directory(config: Config) -> Iterator[str]:
    """The state directory, ours alone while the gateway runs; its replica id, the same at every start."""
    directory = config.state_dir
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ConfigError(f"the state directory cannot be used: {error.strerror}") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise ConfigError(f"another gateway is running on the state directory {directory}") from None
    try:
        yield _replica_id(directory)
    finally:
        os.close(lock)


def _replica_id(directory: Path) -> str:
    path = directory / "replica"
    if not path.exists():
        path.write_text(f"{socket.gethostname()[:40]}-{uuid.uuid4().hex[:8]}")
    return path.read_text().strip()
