"""Counting calls once their answers have left: nobody waits for what only watches (PERF-2)."""

import asyncio
from collections import deque

from interlock_gateway.core.call import CallResult
from interlock_gateway.core.rollback import RollbackOutcome
from interlock_gateway.pipeline.parts import Observer
from interlock_gateway.pipeline.run import CallRun


class AfterAnswers:
    """Tells another observer of calls that have ended in the turn of the event loop after the one that sends answers.

    The loop runs all that is due before it looks at what has come in, so whoever has read an answer and then asks what
    was counted sees it counted. Everything else is told at once. For the event loop's thread alone.
    """

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._ended: deque[tuple[CallRun, CallResult]] = deque()
        self._due = False

    def call_ended(self, run: CallRun, result: CallResult) -> None:
        """One call has its answer, which leaves at the end of this turn."""
        self._ended.append((run, result))
        if not self._due:
            self._due = True
            loop = asyncio.get_running_loop()
            loop.call_soon(loop.call_soon, self._tell)

    def call_evaluated(self, run: CallRun) -> None:
        """A decision was asked for, and nothing else."""
        self._observer.call_evaluated(run)

    def undo_ended(self, outcome: RollbackOutcome) -> None:
        """A rollback is done with one operation."""
        self._observer.undo_ended(outcome)

    def pending_changed(self, change: int) -> None:
        """There are `change` more pending actions than before."""
        self._observer.pending_changed(change)

    def checkpoint_ended(self, outcome: str, waited_s: float) -> None:
        """People have decided about a call, or were not asked any more, after so long."""
        self._observer.checkpoint_ended(outcome, waited_s)

    def _tell(self) -> None:
        self._due = False
        while self._ended:
            self._observer.call_ended(*self._ended.popleft())
