"""Which processes one has started, told by the processes themselves: a thread's list of them goes with the thread."""

import os
from contextlib import suppress
from pathlib import Path


def children_of(process_id: int) -> set[int]:
    """Every process that `process_id` started and has not waited for yet, whether it still runs or not."""
    found = set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended in the meantime, and was waited for
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == process_id:
                found.add(int(entry.name))
    return found


def children() -> set[int]:
    """Every process that this one started and has not waited for yet, whether it still runs or not."""
    return children_of(os.getpid())
