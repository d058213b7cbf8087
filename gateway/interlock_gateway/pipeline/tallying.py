"""Counting calls where policy can see it: before each is decided, so that of many at once each sees the others (POL-4).

A call is counted once, when it is asked for: not again when people have approved it, nor when its preview is applied.
What is not let through is not counted after all.
"""

from interlock_gateway.core.call import CallKind, CallResult, CallStatus
from interlock_gateway.core.recent import Recent, without
from interlock_gateway.core.tool import Effect
from interlock_gateway.pipeline.run import CallRun
from interlock_gateway.sessions.call_counts import CallCounts, Tally

_DESTRUCTIVE = (Effect.DESTRUCTIVE, Effect.UNDECLARED)
_NOT_LET_THROUGH = (CallStatus.DENIED, CallStatus.REFLECTION_REQUIRED)


class Tallying:
    """Puts calls into the counts of their principal and their session."""

    def __init__(self, counts: CallCounts) -> None:
        self._counts = counts

    async def tally(self, run: CallRun) -> Tally:
        """The counts of the principal. Raises `StateError`."""
        return await self._counts.of(run.principal.id)

    def seen_and_counted(self, run: CallRun, tally: Tally) -> Recent:
        """What policy sees of the principal's calls, this one not counted; from now on it is."""
        tool, now = run.known_tool, run.received_at
        destructive = is_destructive(run)
        seen = tally.seen(tool.name, now)
        earlier = run.resuming or run.pending
        if earlier is not None and run.kind is not CallKind.UNDO:
            seen = without(seen, earlier.created_at, now, destructive=destructive)
        if run.dry:
            return seen
        if earlier is None and run.kind is CallKind.CALL:
            run.counted = self._counts.count(run.principal.id, tally, tool.name, now, destructive=destructive)
        return seen

    def decided(self, run: CallRun) -> None:
        """Let a call that destroys nothing not count among the destructive ones, whatever else its tool can do."""
        if run.destroying and run.decided.harmless:
            run.spare()
            if run.counted is not None:
                self._counts.take_back(run.principal.id, run.counted, destructive_only=True)
                run.counted = run.counted._replace(destructive=False)

    def ended(self, run: CallRun, result: CallResult) -> None:
        """Let a call that was not let through not have been counted."""
        if result.status in _NOT_LET_THROUGH:
            uncount(self._counts, run)


def uncount(counts: CallCounts, run: CallRun) -> None:
    """Let a call not have been counted, if it was."""
    if run.counted is not None:
        counts.take_back(run.principal.id, run.counted)
        run.counted = None


def is_destructive(run: CallRun) -> bool:
    """Whether the call's tool may destroy something, as far as its metadata says."""
    return run.tool is not None and run.tool.classification.effect in _DESTRUCTIVE


def destroys(run: CallRun) -> bool:
    """Whether the call counts among those that destroy: its tool may, and policy did not let it through as harmless."""
    return is_destructive(run) and not (run.decision is not None and run.decision.harmless)
