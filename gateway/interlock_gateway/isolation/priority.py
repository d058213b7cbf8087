"""Who goes first when there is not enough of the processor for all (REL-7)."""

import os
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
