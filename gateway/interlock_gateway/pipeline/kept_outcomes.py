"""What a call id is answered with is on disk before it is answered, where the journal does not hold it (PIPE-10)."""

import contextlib

from interlock_gateway.core.call import CallResult, CallStatus
from interlock_gateway.pipeline.asking import Asking
from interlock_gateway.pipeline.conclusion import ends, record_of
from interlock_gateway.pipeline.parts import Parts
from interlock_gateway.pipeline.ports import StateError
from interlock_gateway.pipeline.preview import Previewer
from interlock_gateway.pipeline.run import CallRun
from interlock_gateway.pipeline.tallying import uncount


class KeptOutcomes:
    """Keeps outcomes, each id's first one."""

    def __init__(self, parts: Parts, asking: Asking) -> None:
        self._parts = parts
        self._asking = asking
        self._previewer = Previewer(parts)

    async def kept(self, run: CallRun, result: CallResult) -> CallResult:
        """Keep `result` where the journal does not; what its call id is answered with from now on.

        That is another one when the same call was made at another replica, and ended there before. What this one left
        pending is taken back then. Raises `RequestError`, and `StateError` for a preview that cannot be kept: there
        would be two of what was answered as one.
        """
        elsewhere = run.tool is None or run.read_only or run.journaled or run.resuming is not None or run.taken
        if elsewhere or not ends(run, result):
            return result
        record = record_of(self._parts, run, result)
        try:
            kept = await self._parts.store.calls.record_outcome(record)
        except StateError:  # nothing ran: asked again, here or at another replica, the call is decided again
            if result.status is CallStatus.PREVIEW:
                raise
            run.unkept = True
            return result
        if kept is record:
            return result
        uncount(self._parts.counts, run)
        with contextlib.suppress(StateError):  # then it expires
            await self._previewer.take_back(run, "the call was answered at another replica")
        return await self._asking.known(run, await self._parts.store.calls.outcome_of(kept))
