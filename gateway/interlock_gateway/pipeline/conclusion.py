"""The end of every call: counted, recorded, reminded of what is pending (PIPE-12, PREV-10)."""

from dataclasses import replace

from interlock_gateway.core.call import CallResult, CallState, CallStatus
from interlock_gateway.core.decision import GatewayErrorCode
from interlock_gateway.core.jsonvalue import JsonObject
from interlock_gateway.core.pending import REMINDER
from interlock_gateway.core.tool import UNKNOWN_TOOL
from interlock_gateway.errors import AuditUnavailableError
from interlock_gateway.pipeline.approval import outcome_of
from interlock_gateway.pipeline.asking import checkpoint_ref
from interlock_gateway.pipeline.dispatch import AUDIT_UNAVAILABLE, Dispatcher
from interlock_gateway.pipeline.enforce import is_gateway_error
from interlock_gateway.pipeline.parts import Parts
from interlock_gateway.pipeline.ports import CallRecord
from interlock_gateway.pipeline.preview import Previewer
from interlock_gateway.pipeline.run import CallRun
from interlock_gateway.pipeline.tallying import destroys, is_destructive
from interlock_gateway.pipeline.tracing_port import Step

_RAN = (CallStatus.COMPLETED, CallStatus.FAILED, CallStatus.OUTCOME_UNKNOWN)
_ENDLESS = (CallStatus.AWAITING_CHECKPOINT, CallStatus.REFLECTION_REQUIRED)
STATE_OF = {
    CallStatus.COMPLETED: CallState.COMPLETED,
    CallStatus.DENIED: CallState.DENIED,
    CallStatus.PREVIEW: CallState.PREVIEWED,
    CallStatus.AWAITING_CHECKPOINT: CallState.AWAITING_CHECKPOINT,
    CallStatus.REFLECTION_REQUIRED: CallState.REFLECTING,
    CallStatus.FAILED: CallState.FAILED,
    CallStatus.OUTCOME_UNKNOWN: CallState.OUTCOME_UNKNOWN,
}


class Conclusion:
    """What every answer goes through on its way out."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._dispatcher = Dispatcher(parts)
        self._previewer = Previewer(parts)

    async def concluded(self, run: CallRun, result: CallResult) -> CallResult:
        """Count, record, remind."""
        live = run.live
        kind = run.tool.classification if run.tool is not None else None
        self._count(run, result)
        if kind is not None and result.status is CallStatus.COMPLETED:
            name = run.tool.name if run.tool is not None else UNKNOWN_TOOL
            live.facts.remember(name, kind.effect, run.request.labels, self._parts.clock.now())
        if result.status is CallStatus.DENIED and result.decision is not None:
            live.facts.count_denial(result.decision.reasons[0].code if result.decision.reasons else "denied")
        if run.checkpoint is not None:
            result = self._with_checkpoint(run, result)
        self._parts.sessions.touch(live)
        run.total_s = self._parts.clock.monotonic() - run.started
        result = await self._recorded(run, result)
        self._over(run, result)
        if result.status is CallStatus.AWAITING_CHECKPOINT:
            self._parts.observer.call_evaluated(run)
        else:
            self._parts.observer.call_ended(run, result)
        self._tell(run, result)
        if live.pending_count and REMINDER not in result.steering:
            result = result.steered(REMINDER)
        return result

    async def settled(self, run: CallRun, result: CallResult) -> bool:
        """End the waiting of a call that went on after people had decided; false when somebody else has ended it.

        One that was dispatched, and one that goes on waiting, is not ended here.
        """
        if run.journaled or not ends(run, result):
            return True
        record = record_of(self._parts, run, result)
        return await self._parts.store.checkpoints.settle_waiting(record) is record

    def noted(self, run: CallRun, result: CallResult) -> None:
        """Record a call whose caller has gone and which changed nothing."""
        try:
            self._parts.recorder.note(run, result)
        except AuditUnavailableError:
            return  # nothing ran that changes anything, and nobody waits for the answer
        finally:
            self._over(run, result)
            self._parts.observer.call_ended(run, result)
            self._tell(run, result)

    def _over(self, run: CallRun, result: CallResult) -> None:
        self._parts.tracer.ended(run, result)
        run.over = True

    def _tell(self, run: CallRun, result: CallResult) -> None:
        if self._parts.hooks is not None:
            self._parts.hooks.ended(run, result)

    def _count(self, run: CallRun, result: CallResult) -> None:
        destructive = destroys(run)
        name = run.tool.name if run.tool is not None else UNKNOWN_TOOL
        if run.resuming is None:
            run.live.facts.count_call(name, destructive=destructive, status=result.status)
        elif ends(run, result):
            # It was counted when it began to wait, which nothing does that is known to be harmless.
            waited = is_destructive(run)
            run.live.facts.settle_call(
                name, waited_as_destructive=waited, destructive=destructive, status=result.status
            )

    def _with_checkpoint(self, run: CallRun, result: CallResult) -> CallResult:
        """Name the checkpoint in the answer, and count what came of the one from which the call went on."""
        assert run.checkpoint is not None
        was = run.resuming
        if was is not None and (ends(run, result) or result.status is CallStatus.AWAITING_CHECKPOINT):
            outcome = outcome_of(was)
            run.live.facts.checkpoints[outcome] += 1
            self._parts.observer.checkpoint_ended(outcome, max(0.0, self._parts.clock.now() - was.created_at))
        return replace(result, checkpoint=checkpoint_ref(run.checkpoint))

    async def _recorded(self, run: CallRun, result: CallResult) -> CallResult:
        changed = result.status in _RAN and not run.read_only and run.dispatch_s is not None
        try:
            if changed:
                with run.trace.step(Step.AUDIT):
                    await self._parts.recorder.settle(run, result)
            else:
                self._parts.recorder.note(run, result)
        except AuditUnavailableError:
            if changed:
                # It ran, the journal says so, and its intent is in the audit; the answer must not hide that.
                details: JsonObject = {**result.details, "audit": "the receipt of this call could not be written"}
                return replace(result, details=details)
            return await self._without_receipt(run, result)
        return result

    async def _without_receipt(self, run: CallRun, result: CallResult) -> CallResult:
        """The denial in the place of an answer that has no receipt (PIPE-12); what it left behind is taken back."""
        refusal = self._dispatcher.gateway_error(run, GatewayErrorCode.AUDIT_UNAVAILABLE, AUDIT_UNAVAILABLE)
        await self._previewer.take_back(run, "no receipt")
        if result.status is CallStatus.AWAITING_CHECKPOINT:
            await self._parts.store.checkpoints.settle_waiting(record_of(self._parts, run, refusal))
        return refusal


def ends(run: CallRun, result: CallResult) -> bool:
    """Whether `result` is the end of the call; after any other answer it goes on when it is asked for again.

    A call that people have approved does not end because the gateway cannot decide about it for a moment.
    """
    if result.status in _ENDLESS:
        return False
    return run.resuming is None or result.decision is None or not is_gateway_error(result.decision)


def record_of(parts: Parts, run: CallRun, result: CallResult) -> CallRecord:
    """The record of a call that has ended with `result`."""
    return CallRecord(
        session_id=run.session_id,
        call_id=run.call_id,
        request_digest=run.request_digest,
        state=STATE_OF[result.status],
        updated_at=parts.clock.now(),
        status=result.status,
        result=parts.store.calls.encode_result(result),
    )
