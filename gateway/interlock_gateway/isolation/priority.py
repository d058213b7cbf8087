"""Who goes first when there is not enough of the processor for all (REL-7)."""

import os
import time
from contextlib import suppress

STEPS_BEHIND, LOWEST_NICENESS = 5, 19


def go_behind(process_id: int) -> None:
    """Let a process with one thread have a third of what others want. There is no way back without privileges."""
    with suppress(OSError):  # it has just ended
        usual = os.getpriority(os.PRIO_PROCESS, process_id)
        os.setpriority(os.PRIO_PROCESS, process_id, min(usual + STEPS_BEHIND, LOWEST_NICENESS))


def go_last(process_id: int) -> None:
    """Let a process with one thread have a hundredth of what others want. There is no way back without privileges."""
    with suppress(OSError):  # it has just ended
        os.setpriority(os.PRIO_PROCESS, process_id, LOWEST_NICENESS)


def give_way(process_id: int) -> None:
    """Let a process with one thread have only what nobody else wants, and leave the processor as soon as others wake.

    There is no way back without privileges. Where the class for that is not there or refused, it goes last instead.
    """
    go_last(process_id)
    if hasattr(os, "SCHED_IDLE"):
        with suppress(OSError):
            os.sched_setscheduler(process_id, os.SCHED_IDLE, os.sched_param(0))


def let_others_go() -> None:
    """Leave the processor and the interpreter to whoever waits for them; a few microseconds, when nobody does.

    A thread with much to do is interrupted for others every few milliseconds only, and a call waits that long.
    """
    time.sleep(0)


def used_s(process_id: int) -> float:
    """Processor time that a process has used; 0 where that cannot be told, as of one that is gone."""
    try:
        return time.clock_gettime(_processor_clock(process_id))
    except OSError:
        return 0.0


def _processor_clock(process_id: int) -> int:
    """The clock that counts a process's processor time, as clock_getcpuclockid(3) makes it on Linux."""
    return ~process_id << 3 | 2
