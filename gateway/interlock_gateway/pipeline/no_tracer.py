"""What stands in the place of a tracer while tracing is off: nothing is recorded, and contexts are passed on."""

from interlock_gateway.core.call import CallResult
from interlock_gateway.pipeline.run import CallRun
from interlock_gateway.pipeline.tracing_port import UNTRACED, CallTrace, Untraced


class NoTracer:
    """Traces nothing."""

    def begun(self, run: CallRun) -> CallTrace:
        """A trace that only passes on what the caller sent."""
        return UNTRACED if run.request.trace is None else Untraced(run.request.trace)

    def decided(self, run: CallRun) -> None:
        """Nobody is told."""

    def ended(self, run: CallRun, result: CallResult | None) -> None:
        """Nobody is told."""
