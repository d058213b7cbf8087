"""What a result asks the gateway to keep: a pending action or a standing handler (PREV-11, PREV-12)."""

import uuid
from dataclasses import replace

from interlock_gateway.core.call import CallResult
from interlock_gateway.core.content import Text
from interlock_gateway.core.jsonvalue import FrozenJsonObject
from interlock_gateway.core.outcome import PushedPending, StandingChange, ToolOutcome
from interlock_gateway.core.pending import STORE_UNAVAILABLE, PendingAction, PendingOrigin
from interlock_gateway.pipeline.parts import Parts
from interlock_gateway.pipeline.ports import SessionEndedError, StateError
from interlock_gateway.pipeline.preview import input_digest, pending_ref
from interlock_gateway.pipeline.run import CallRun

SESSION_ENDED = "The session was closed meanwhile, so what the tool wanted to leave pending was not kept."


async def keep_pushed(parts: Parts, run: CallRun, outcome: ToolOutcome, result: CallResult) -> CallResult:
    """Keep what `outcome` asks to be kept; `result` with the pending action, or the words that it could not be."""
    try:
        if outcome.standing is not None:
            await _change_handler(parts, run, outcome.standing)
        if outcome.pending is None:
            return result
        pushed = outcome.pending
        details = await _shown(parts, run, pushed.details)
        action = await parts.store.pending.push_pending(_action(parts, run, replace(pushed, details=details)))
    except SessionEndedError:
        return replace(result, content=(Text(SESSION_ENDED),), is_error=True)
    except StateError:
        return replace(result, content=(Text(STORE_UNAVAILABLE),), is_error=True)
    run.live.pending_count += 1
    run.live.facts.previews["previewed"] += 1
    parts.observer.pending_changed(1)
    return replace(result, pending=pending_ref(action))


async def _change_handler(parts: Parts, run: CallRun, change: StandingChange) -> None:
    handlers = parts.store.handlers
    provider = run.speaks_for or run.known_tool.provider
    if change.register is not None:
        redact = parts.results.redact
        handler = replace(
            change.register,
            provider=provider,
            label=redact(change.register.label),
            source_tool=redact(change.register.source_tool),
            details=await _shown(parts, run, change.register.details),
        )
        await handlers.set_handler(run.session_id, handler)
        return
    current = await handlers.get_handler(run.session_id)
    if current is not None and current.provider == provider and current.token == change.clear_token:
        await handlers.clear_handler(run.session_id)


async def _shown(parts: Parts, run: CallRun, details: FrozenJsonObject | None) -> FrozenJsonObject | None:
    """What may be kept and shown of a provider's details (RES-6)."""
    if details is None:
        return None
    outcome = ToolOutcome(details=details)
    return (await parts.results.process(outcome, run.limits(), run.obligations, run.session_id)).details


def _action(parts: Parts, run: CallRun, pushed: PushedPending) -> PendingAction:
    now = parts.clock.now()
    return PendingAction(
        pending_id=str(uuid.uuid4()),
        session_id=run.session_id,
        call_id=run.call_id,
        origin=PendingOrigin.PROVIDER,
        source_tool=parts.results.redact(pushed.source_tool),
        tool=run.known_tool.name,
        provider=run.known_tool.provider,
        label=parts.results.redact(pushed.label),
        input=run.document.raw,
        workdir=run.request.workdir,
        digest=input_digest(run.sent.raw),
        pin=run.known_tool.sha256,
        created_at=now,
        expires_at=now + parts.settings.pending_expires_s,
        token=pushed.token,
        has_reject=pushed.has_reject,
        details=pushed.details,
        labels=run.request.labels,
        decision_id=run.decision_id,
        traceparent=run.traceparent,
    )
