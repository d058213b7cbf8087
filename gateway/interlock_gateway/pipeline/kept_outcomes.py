"""What a call id is answered with is on disk before it is answered, where the journal does not hold it (PIPE-10)."""

from interlock_gateway.core.call import CallResult, CallStatus
from interlock_gateway.pipeline.conclusion import ends, record_of
from interlock_gateway.pipeline.parts import Parts
from interlock_gateway.pipeline.ports import StateError
from interlock_gateway.pipeline.run import CallRun


async def keep_outcome(parts: Parts, run: CallRun, result: CallResult) -> None:
    """Keep the outcome of a call id that the journal does not hold, so that it is the same after a restart.

    Raises `StateError` for a preview that cannot be kept: there would be two of what was answered as one.
    """
    elsewhere = run.tool is None or run.read_only or run.journaled or run.resuming is not None or run.taken
    if elsewhere or not ends(run, result):
        return
    try:
        await parts.store.calls.record_outcome(record_of(parts, run, result))
    except StateError:  # nothing ran: asked again, here or at another replica, the call is decided again
        if result.status is CallStatus.PREVIEW:
            raise
        run.unkept = True
