"""Process groups: whether anything in them runs, and how they are ended."""

import asyncio
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

GRACE_S = 2.0
_LOOK_S = 0.02
_PROC = Path("/proc")


async def end_group(process: asyncio.subprocess.Process) -> None:
    """End the group that a process leads: SIGTERM, then SIGKILL to what is left after the grace.

    The process itself is waited for. Nothing is done when all have ended.
    """
    group = process.pid
    if group_lives(group):
        _signal(group, signal.SIGTERM)
        until = time.monotonic() + GRACE_S
        try:
            while group_lives(group) and time.monotonic() < until:  # noqa: ASYNC110 -- nothing tells when it is empty
                await asyncio.sleep(_LOOK_S)
        finally:
            _signal(group, signal.SIGKILL)
    await process.wait()
    _reap(group)


def group_lives(group: int) -> bool:
    """Whether a process of the group runs. Those that have ended and that nobody waited for do not count."""
    if not _signal(group, 0):
        return False
    return _running(group) if (_PROC / "self/stat").exists() else True


def _running(group: int) -> bool:
    pids = filter(str.isdecimal, os.listdir(_PROC))  # noqa: PTH208 -- the names are all that is needed
    return any(_in_group_and_running(pid, group) for pid in pids)


def _in_group_and_running(pid: str, group: int) -> bool:
    with suppress(OSError):
        # pid (name) state parent group ...; the name may hold anything, parentheses too
        state, _, its_group = (_PROC / pid / "stat").read_bytes().rpartition(b")")[2].split()[:3]
        return int(its_group) == group and state not in (b"Z", b"X")
    return False


def _signal(group: int, number: int) -> bool:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
        return True
    return False


def _reap(group: int) -> None:
    """Take note of orphans' ends. They are this process's to wait for where it is the first of its container."""
    with suppress(ChildProcessError):
        while os.waitpid(-group, os.WNOHANG)[0]:
            pass
