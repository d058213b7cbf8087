"""A `resolve` call that discards: what is pending goes, and who left it is told, if it wants to be (PREV-8)."""

from dataclasses import replace

from interlock_gateway.core.call import CallResult, CallStatus
from interlock_gateway.core.outcome import Resolution, StandingHandler, ToolOutcome
from interlock_gateway.core.pending import PendingAction, ResolutionNote
from interlock_gateway.pipeline.parts import Parts
from interlock_gateway.pipeline.rejecting import Rejecting, resolution_of
from interlock_gateway.pipeline.run import CallRun
from interlock_gateway.pipeline.saying import Saying, decision_of


class Discarding:
    """Discards for agents. What nobody resolves is `pipeline.endings`' affair; both go to providers the same way."""

    def __init__(self, parts: Parts, saying: Saying) -> None:
        self._parts = parts
        self._saying = saying
        self._rejecting = Rejecting(parts)

    async def discard(self, run: CallRun, top: PendingAction, said: ResolutionNote) -> CallResult:
        """Discard the action on top of the stack."""
        if top.has_reject and not await self._intended(run):
            return await self._saying.without_receipts(run)
        store = self._parts.store.pending
        if await store.discard_pending(top.pending_id, self._parts.clock.now(), said.reason) is None:
            return await self._saying.taken(run)
        run.live.pending_count = max(0, run.live.pending_count - 1)
        run.live.facts.previews["discarded"] += 1
        self._parts.sessions.touch(run.live)
        self._parts.observer.pending_changed(-1)
        if not top.has_reject:
            return await self._saying.said(run, _words(said), code="discarded")
        resolution = resolution_of(run, top, said, self._parts.settings.default_timeout_s)
        return await self._rejected(run, top.provider, resolution, said)

    async def standing(
        self, run: CallRun, handler: StandingHandler, resolution: Resolution, said: ResolutionNote
    ) -> CallResult:
        """Have a standing handler discard; it stays until it is cleared (PREV-12)."""
        if not handler.has_reject:
            return await self._saying.said(run, _words(said), code="discarded")
        if not await self._intended(run):
            return await self._saying.without_receipts(run)
        return await self._rejected(run, handler.provider, resolution, said)

    async def _intended(self, run: CallRun) -> bool:
        run.decision = decision_of(self._parts, run, "discarded")
        return await self._rejecting.intended(run)

    async def _rejected(self, run: CallRun, provider: str, resolution: Resolution, said: ResolutionNote) -> CallResult:
        rejected = await self._rejecting.told(run, provider, resolution)
        if rejected is not None and rejected.error is not None:
            words = self._parts.results.redact(rejected.error.message)
            return await self._saying.said(run, words, code="discarded", is_error=True)
        outcome = rejected.outcome if rejected is not None else None
        if outcome is None or not (outcome.content or outcome.has_data):
            return await self._saying.said(run, _words(said), code="discarded")
        return await self._provider_said(run, outcome)

    async def _provider_said(self, run: CallRun, outcome: ToolOutcome) -> CallResult:
        run.decision = decision_of(self._parts, run, "discarded")
        if outcome.taint:
            await self._parts.sessions.taint(run.live, outcome.taint)
        processed = await self._parts.results.process(outcome, run.limits(), run.obligations, run.session_id)
        result = replace(
            processed,
            call_id=run.call_id,
            status=CallStatus.COMPLETED,
            decision=run.decision,
            is_error=outcome.is_error,
            details={} if outcome.details is None else {"sourceResultDetails": dict(processed.details)},
        )
        return await self._saying.concluded(run, result)


def _words(said: ResolutionNote) -> str:
    return f"Discarded: {said.label}. Reason: {said.reason}"
