"""Answers to `resolve` that policy is not asked about."""

from typing import Protocol

from interlock_gateway.core.call import CallResult, CallStatus
from interlock_gateway.core.decision import Decision, GatewayErrorCode, Reason, Verdict
from interlock_gateway.pipeline.dispatch import AUDIT_UNAVAILABLE, Dispatcher
from interlock_gateway.pipeline.parts import Parts
from interlock_gateway.pipeline.run import CallRun

RESOLVED_ELSEWHERE = "The pending action is being resolved already, or has expired."


class Core(Protocol):
    """What answering needs of the pipeline it is part of."""

    async def concluded(self, run: CallRun, result: CallResult) -> CallResult:
        """Hand over the receipt of an answer that policy was not asked about."""
        ...


class Saying:
    """Says what became of a `resolve` call, with its receipt."""

    def __init__(self, parts: Parts, core: Core) -> None:
        self._parts = parts
        self._core = core
        self._dispatcher = Dispatcher(parts)

    async def said(self, run: CallRun, text: str, *, code: str, is_error: bool = False) -> CallResult:
        """The answer `text`."""
        run.decision = decision_of(self._parts, run, code)
        return await self.concluded(run, run.answer(CallStatus.COMPLETED, text, is_error=is_error))

    async def concluded(self, run: CallRun, result: CallResult) -> CallResult:
        """Hand over the receipt of `result`."""
        return await self._core.concluded(run, result)

    async def taken(self, run: CallRun) -> CallResult:
        """Somebody else has the action by now."""
        return await self.said(run, RESOLVED_ELSEWHERE, code="already_claimed", is_error=True)

    async def without_receipts(self, run: CallRun) -> CallResult:
        """The denial of a call that cannot be put on record: nothing was done (PIPE-12)."""
        run.decision = decision_of(self._parts, run, "audit_unavailable")
        refusal = self._dispatcher.gateway_error(run, GatewayErrorCode.AUDIT_UNAVAILABLE, AUDIT_UNAVAILABLE)
        return await self.concluded(run, refusal)


def decision_of(parts: Parts, run: CallRun, code: str, message: str = "") -> Decision:
    """What stands in the place of policy's decision: the gateway's own, with `code` for its reason."""
    return Decision(
        decision_id=run.decision_id,
        verdict=Verdict.ALLOW,
        reasons=(Reason(code, message, "gateway"),),
        policy_revision=parts.engine.revision,
        profile=parts.engine.profile,
        decided_at=run.clock.now(),
    )
