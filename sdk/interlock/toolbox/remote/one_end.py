"""One far end at a time for each toolbox: what a lost connection left under way ends before anything else begins.

Otherwise a write that a dead connection began could land after what was done over the next.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from interlock.toolbox.errors import StorageError, os_errors_of

WAIT_S = 20.0
_LOOK_S = 0.1


@contextmanager
def only_end(directory: Path, toolbox: str, wait_s: float = WAIT_S) -> Iterator[None]:
    """Be the only far end of a toolbox, by its id of hexadecimal digits, for the block.

    The kernel sees to it, so that one that was killed is none. Raises StorageError while there is another.
    """
    path = directory / f"end-{toolbox}.lock"
    with os_errors_of("the state directory"):
        descriptor = _locked(path, time.monotonic() + wait_s)
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink()
        os.close(descriptor)


def _locked(path: Path, until: float) -> int:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Whoever had it before has removed the name; then this is the lock of nobody else.
            if os.fstat(descriptor).st_nlink:
                return descriptor
        except BlockingIOError:
            if time.monotonic() > until:
                os.close(descriptor)
                raise StorageError(
                    "the state directory", "what the lost connection began has not ended there yet"
                ) from None
            time.sleep(_LOOK_S)
        os.close(descriptor)
