"""Receipts as the pipeline asks for them (PIPE-12): buffered for what changes nothing, on disk for everything else."""

from functools import partial

from interlock_gateway.audit.log import AuditLog
from interlock_gateway.audit.receipt import Approval, ReceiptFacts, ReceiptKind, build_receipt
from interlock_gateway.core.call import CallResult, CallStatus
from interlock_gateway.core.checkpoint import Checkpoint
from interlock_gateway.core.decision import Verdict
from interlock_gateway.pipeline.approval import outcome_of
from interlock_gateway.pipeline.run import CallRun


class AuditRecorder:
    """Writes the receipts of one gateway to its audit log."""

    def __init__(self, log: AuditLog, replica: str) -> None:
        self._log = log
        self._replica = replica

    @property
    def healthy(self) -> bool:
        """Whether receipts reach the disk."""
        return self._log.healthy

    def note(self, run: CallRun, result: CallResult) -> None:
        """Hand over a receipt that may wait for the next group commit.

        A refusal needs no promise: it stays one even when its receipt finds no room. Raises `AuditUnavailableError`
        for everything else.
        """
        record = partial(build_receipt, self._facts(run, result))
        if result.status is CallStatus.DENIED:
            self._log.offer(record)
        else:
            self._log.submit(record)

    def evaluated(self, run: CallRun) -> None:
        """Hand over the receipt of a decision alone: it has no outcome. Raises `AuditUnavailableError` for a leave."""
        record = partial(build_receipt, self._facts(run, None)._replace(kind=ReceiptKind.RECEIPT))
        if run.decided.verdict is Verdict.DENY:
            self._log.offer(record)
        else:
            self._log.submit(record)

    async def intend(self, run: CallRun) -> None:
        """Have it on disk that the call is about to be dispatched. Raises `AuditUnavailableError`."""
        await self._log.commit(partial(build_receipt, self._facts(run, None)))

    async def settle(self, run: CallRun, result: CallResult) -> None:
        """Have the receipt on disk. Raises `AuditUnavailableError`."""
        await self._log.commit(partial(build_receipt, self._facts(run, result)))

    def _facts(self, run: CallRun, result: CallResult | None) -> ReceiptFacts:
        tool = run.tool
        kind = tool.classification if tool is not None else None
        trace = run.trace.context
        return ReceiptFacts(
            kind=ReceiptKind.INTENT if result is None else ReceiptKind.RECEIPT,
            time=run.received_at,
            principal=run.principal,
            session_id=run.session_id,
            call_id=run.call_id,
            tool=run.tool_name,
            decision=run.decided,
            call_kind=run.kind,
            provider=tool.provider if tool is not None else "",
            pin=tool.sha256 if tool is not None else "",
            digest=run.digest,
            effect=kind.effect.value if kind is not None else "",
            audit_operation=kind.audit_operation if kind is not None else "",
            policy_input=run.policy_input,
            call_input=run.document.raw,
            call_input_sha256=run.document.sha256,
            status=result.status if result is not None else None,
            is_error=result.is_error if result is not None else False,
            truncated=result.truncated if result is not None else False,
            artifact=result.artifact if result is not None else None,
            redactions=result.redactions if result is not None else 0,
            durations=_durations(run),
            pending_id=_pending_id(run, result),
            undoes=run.undoes,
            resolution=run.resolution,
            approval=_approval(run.checkpoint) if run.checkpoint is not None else None,
            replica=self._replica,
            trace_id=trace.trace_id if trace is not None else "",
            span_id=trace.span_id if trace is not None else "",
        )


def _approval(checkpoint: Checkpoint) -> Approval:
    said = checkpoint.ending or (checkpoint.answers[-1] if checkpoint.answers else None)
    return Approval(
        checkpoint_id=checkpoint.checkpoint_id,
        outcome=outcome_of(checkpoint),
        approvers=tuple(answer.approver for answer in checkpoint.answers),
        reason=said.reason if said is not None else checkpoint.closed_reason,
    )


def _durations(run: CallRun) -> dict[str, float]:
    durations = {"decide": run.decide_s, "total": run.total_s}
    if run.dispatch_s is not None:
        durations["dispatch"] = run.dispatch_s
    return durations


def _pending_id(run: CallRun, result: CallResult | None) -> str:
    if run.pending is not None:
        return run.pending.pending_id
    if run.resolution is not None and run.resolution.pending_id:
        return run.resolution.pending_id
    return result.pending.pending_id if result is not None and result.pending is not None else ""
