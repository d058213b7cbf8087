"""How many processors this process may use: those that it may run on, and what its control group lets it have."""

import os
from contextlib import suppress
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")


def processors(cgroups: Path = CGROUPS) -> float:
    """As many as may be used at once, such as 1.5."""
    allowed = float(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    # In a container these are its own; outside, of the version that is in use, those of the whole machine.
    with suppress(OSError, ValueError, ZeroDivisionError):
        quota, period = (cgroups / "cpu.max").read_text(encoding="ascii").split()
        if quota != "max":
            allowed = min(allowed, int(quota) / int(period))
    with suppress(OSError, ValueError, ZeroDivisionError):
        microseconds = int((cgroups / "cpu" / "cpu.cfs_quota_us").read_text(encoding="ascii"))
        if microseconds > 0:
            period_us = int((cgroups / "cpu" / "cpu.cfs_period_us").read_text(encoding="ascii"))
            allowed = min(allowed, microseconds / period_us)
    return allowed
