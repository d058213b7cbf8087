"""What plug-ins are shown of a call."""

from types import MappingProxyType

from interlock.extensions import Call, CallEvent, Moment

from interlock_gateway.core.call import CallResult
from interlock_gateway.pipeline.run import CallRun


def call_of(run: CallRun) -> Call:
    """A decided call, just before it is sent."""
    tool, kind = run.known_tool, run.known_tool.classification
    return Call(
        session_id=run.session_id,
        call_id=run.call_id,
        tool=tool.name,
        provider=tool.provider,
        kind=run.kind.value,
        principal=run.principal.id,
        groups=run.principal.groups,
        input=run.sent.raw,
        workdir=run.request.workdir,
        intent=run.request.intent,
        labels=MappingProxyType({name: str(value) for name, value in run.request.labels.items()}),
        effect=kind.effect.value,
        safety_level=kind.safety_level,
        audit_operation=kind.audit_operation,
        decision_id=run.decision_id,
        policy_revision=run.decided.policy_revision,
        call_digest=run.digest,
        checkpoint_id=run.checkpoint.checkpoint_id if run.checkpoint is not None else "",
    )


def event_of(run: CallRun, moment: Moment, at: float, elapsed_s: float, result: CallResult | None = None) -> CallEvent:
    """A call that has come so far."""
    decision = run.decision
    return CallEvent(
        moment=moment,
        at=at,
        session_id=run.session_id,
        call_id=run.call_id,
        decision_id=run.decision_id,
        tool=run.tool_name,
        provider=run.tool.provider if run.tool is not None else "",
        kind=run.kind.value,
        principal=run.principal.id,
        verdict=decision.verdict.value if decision is not None else "",
        reasons=tuple(reason.code for reason in decision.reasons) if decision is not None else (),
        status=result.status.value if result is not None else "",
        is_error=result is not None and result.is_error,
        elapsed_s=elapsed_s,
    )
