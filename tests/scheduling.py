"""What the kernel says about who a process goes before, read from /proc."""

from dataclasses import dataclass
from pathlib import Path

NORMAL, IDLE = 0, 5
_NICE, _POLICY = 18, 40
"""Places in /proc/PID/stat, from 0 (proc(5) counts from 1)."""


@dataclass(frozen=True, slots=True)
class Place:
    """The scheduling class, the niceness, and the session: where there are autogroups, the last is weighed first."""

    policy: int
    nice: int
    session: int


def place_of(process_id: int) -> Place:
    """Where a process stands. Raises `FileNotFoundError` when it is gone."""
    text = Path(f"/proc/{process_id}/stat").read_text()
    # The name may hold anything, spaces and parentheses too; it is the second.
    fields = ["", "", *text.rpartition(")")[2].split()]
    return Place(int(fields[_POLICY]), int(fields[_NICE]), int(fields[5]))
