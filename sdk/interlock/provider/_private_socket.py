"""Unix sockets that are bound for their owner alone, and never taken away from another process."""

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def private_socket(address: str) -> Iterator[None]:
    """While a Unix socket is bound, nobody else may open what is created."""
    if not address.startswith("unix:"):
        yield
        return
    path = Path(address.removeprefix("unix:").removeprefix("//"))
    if path.exists() and not path.is_socket():
        raise OSError(f"cannot listen on {address}: it is there and is no socket")
    if _is_answered(path):
        # Binding would take the socket away from whoever it is.
        raise OSError(f"cannot listen on {address}: another process listens there")
    if not path.parent.is_dir():
        raise OSError(f"cannot listen on {address}: there is no directory {path.parent}")
    before = os.umask(0o177)
    try:
        yield
    finally:
        os.umask(before)


def _is_answered(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except (FileNotFoundError, ConnectionRefusedError):
            return False  # not there, or left behind by a process that was killed
    return True
