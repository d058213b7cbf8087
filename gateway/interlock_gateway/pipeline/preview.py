"""Preview (PREV-1): a dry run, kept as a pending action on the session's stack, and the reminder to resolve it."""

import hashlib
import uuid
from dataclasses import replace

from interlock_gateway.core.call import CallResult, CallStatus, PendingRef
from interlock_gateway.core.content import Text
from interlock_gateway.core.decision import GatewayErrorCode
from interlock_gateway.core.outcome import DryRun, Preview, ToolOutcome
from interlock_gateway.core.pending import REMINDER, PendingAction, PendingOrigin
from interlock_gateway.errors import ProviderDownError, ProviderError
from interlock_gateway.pipeline.parts import Parts
from interlock_gateway.pipeline.ports import SessionEndedError, StateError
from interlock_gateway.pipeline.run import CallRun
from interlock_gateway.pipeline.tracing_port import Step, StepSpan

STATE_UNAVAILABLE = "the gateway's state cannot be written at the moment, so nothing was run"

CLOSED_MESSAGE = "policy asks for a preview, and the session is closed: what is pending in it could not be resolved"


def pending_ref(action: PendingAction) -> PendingRef:
    """What an answer says about a pending action."""
    return PendingRef(action.pending_id, action.label, action.source_tool, action.expires_at)


def input_digest(raw: bytes) -> str:
    """SHA-256, in hex, of the bytes that would be sent: what is applied must have the same (PREV-5)."""
    return hashlib.sha256(raw).hexdigest()


class Previewer:
    """Turns a call into a pending action."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def preview(self, run: CallRun) -> CallResult:
        """Dry-run the call and push it; when the dry run fails nothing is pending and the error is the answer."""
        if not run.live.session.is_open:  # a compensation; nobody could resolve what is pending in a closed session
            return _closed(run)
        try:
            dry_run = await self._dry_run(run)
        except StateError:
            return _state_unavailable(run)
        if isinstance(dry_run, CallResult):
            return dry_run
        shown = await self._shown(run, dry_run)
        try:
            action = await self._parts.store.pending.push_pending(self._action(run, dry_run, shown))
        except SessionEndedError:
            return _closed(run)
        except StateError:
            return _state_unavailable(run)
        run.previewed = action.pending_id
        self._count(run, 1)
        return self._answer(run, shown, action)

    async def preview_again(self, run: CallRun, stale: PendingAction) -> CallResult:
        """Dry-run a change whose state has moved on, in the place of the stale one (PREV-5)."""
        dry_run = await self._dry_run(run)
        if isinstance(dry_run, CallResult):
            return dry_run
        shown = await self._shown(run, dry_run)
        try:
            fresh = self._action(run, dry_run, shown)
            action = await self._parts.store.pending.replace_pending(stale.pending_id, fresh)
        except SessionEndedError:
            return _closed(run)
        return self._answer(run, shown, action)

    async def take_back(self, run: CallRun, reason: str) -> None:
        """Discard what this run's preview left pending, if any, for `reason`: the call is not answered with it."""
        if not run.previewed:
            return
        gone = await self._parts.store.pending.discard_pending(run.previewed, self._parts.clock.now(), reason)
        if gone is not None:
            self._count(run, -1)

    async def _dry_run(self, run: CallRun) -> DryRun | CallResult:
        if run.obligations.taint:
            # A preview shows what the provider read, like any other result.
            await self._parts.sessions.taint(run.live, run.obligations.taint)
        try:
            with run.trace.step(Step.PREVIEW) as span:
                dry_run = await self._asked(run, span)
        except ProviderError as error:
            return run.answer(CallStatus.FAILED, self._parts.results.redact(error.message), is_error=True)
        if dry_run.is_error:
            status = CallStatus.COMPLETED if dry_run.tool_error else CallStatus.FAILED
            words = self._parts.results.redact(dry_run.error_message) or "the dry run failed"
            return run.answer(status, words, is_error=True)
        return dry_run

    async def _asked(self, run: CallRun, span: StepSpan) -> DryRun:
        provider = self._parts.providers.get(run.known_tool.provider)
        now = self._parts.clock.monotonic()
        deadline_s = run.seconds_left(now, self._parts.settings.default_timeout_s)
        invocation = run.invocation(deadline_s, span.context)
        if provider is None:
            raise ProviderDownError(f"provider {run.known_tool.provider} is not registered any more")
        try:
            return await run.to_provider(provider.dry_run(replace(invocation, pending_id="", state_token="")))
        finally:
            run.elsewhere_s += self._parts.clock.monotonic() - now

    def _action(self, run: CallRun, dry_run: DryRun, shown: CallResult) -> PendingAction:
        now = self._parts.clock.now()
        return PendingAction(
            pending_id=str(uuid.uuid4()),
            session_id=run.session_id,
            call_id=run.call_id,
            origin=PendingOrigin.PREVIEW,
            source_tool=run.known_tool.name,
            tool=run.known_tool.name,
            provider=run.known_tool.provider,
            label=self._parts.results.redact(dry_run.label) or f"{run.known_tool.name} (previewed)",
            input=run.document.raw,
            workdir=run.request.workdir,
            digest=input_digest(run.sent.raw),
            pin=run.known_tool.sha256,
            created_at=now,
            expires_at=now + self._parts.settings.pending_expires_s,
            state_token=dry_run.state_token,
            details=shown.details if dry_run.details is not None else None,
            labels=run.request.labels,
            operation_id=run.undoes,
            preview=self._preview(dry_run, shown),
            decision_id=run.decision_id,
            traceparent=run.traceparent,
        )

    def _preview(self, dry_run: DryRun, shown: CallResult) -> Preview:
        return Preview(
            would_affect=tuple(self._parts.results.redact(item) for item in dry_run.preview.would_affect),
            preview="\n".join(part.text for part in shown.content if isinstance(part, Text)),
            estimated_impact=shown.data,
        )

    async def _shown(self, run: CallRun, dry_run: DryRun) -> CallResult:
        # The preview is a result like any other: redacted and limited before anyone sees it or keeps it (RES-6).
        outcome = ToolOutcome(
            content=(Text(dry_run.preview.preview),),
            data=dry_run.preview.estimated_impact,
            has_data=dry_run.preview.estimated_impact is not None,
            details=dry_run.details,
        )
        return await self._parts.results.process(outcome, run.limits(), run.obligations, run.session_id)

    def _answer(self, run: CallRun, shown: CallResult, action: PendingAction) -> CallResult:
        return replace(
            shown,
            call_id=run.call_id,
            status=CallStatus.PREVIEW,
            decision=run.decision,
            classification=run.known_tool.classification,
            preview=action.preview,
            pending=pending_ref(action),
            data=None,
            has_data=False,
            details={},
            steering=(REMINDER,),
        )

    def _count(self, run: CallRun, change: int) -> None:
        run.live.pending_count = max(0, run.live.pending_count + change)  # it may have been read again meanwhile
        run.live.facts.previews["previewed"] += change
        self._parts.observer.pending_changed(change)


def _state_unavailable(run: CallRun) -> CallResult:
    decided, code = run.decided, f"gateway_error.{GatewayErrorCode.STATE_UNAVAILABLE.value}"
    return run.refused(code, STATE_UNAVAILABLE, revision=decided.policy_revision, profile=decided.profile)


def _closed(run: CallRun) -> CallResult:
    decided = run.decided
    return run.refused("session_closed", CLOSED_MESSAGE, revision=decided.policy_revision, profile=decided.profile)
