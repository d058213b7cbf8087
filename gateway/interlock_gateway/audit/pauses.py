"""Pauses of the writer's thread between records.

With the interpreter to itself for a whole group, it keeps the event loop, and every call on it, for milliseconds.
"""

import time

PAUSE_S = 0.00003
FEW = 64
"""A group of more records is written without pauses: the loop then has so much to do that they would only cost."""
LONGEST_S = 0.002
"""A pause that lasts longer means that the loop is busy, and gives the interpreter back late: it is the last one."""


class Pauses:
    """The pauses while `records` records are worked on."""

    def __init__(self, records: int) -> None:
        self._wanted = records <= FEW

    def pause(self) -> None:
        """Let the event loop go on, for a moment."""
        if self._wanted:
            began = time.monotonic()
            time.sleep(PAUSE_S)
            self._wanted = time.monotonic() - began < LONGEST_S
