"""Asking a person: what they are shown of a call, and the checkpoint that holds it (CHK-1, CHK-2, CHK-10)."""

import json
import uuid
from dataclasses import replace

from interlock_gateway.core.call import CallKind, CallResult, CallState, CallStatus, CheckpointMode, CheckpointRef
from interlock_gateway.core.checkpoint import (
    ApproverDecision,
    Checkpoint,
    CheckpointAnswer,
    CheckpointState,
)
from interlock_gateway.core.decision import Decision, GatewayErrorCode, Obligations, Reason
from interlock_gateway.core.jsonvalue import FrozenJsonObject, JsonObject
from interlock_gateway.core.outcome import Preview
from interlock_gateway.errors import ProviderDownError, ProviderError, RequestError, RequestFault
from interlock_gateway.pipeline.dispatch import AUDIT_UNAVAILABLE, AWAITING, Dispatcher, stored_answer
from interlock_gateway.pipeline.enforce import NO_HANDLER
from interlock_gateway.pipeline.parts import Parts
from interlock_gateway.pipeline.ports import CallRecord, SessionEndedError, StateError, TooManyWaitingError
from interlock_gateway.pipeline.preview import STATE_UNAVAILABLE
from interlock_gateway.pipeline.run import CallRun
from interlock_gateway.pipeline.tracing_port import Step
from interlock_gateway.providers.port import Provider

RENDERING_S = 5.0
"""How long a provider may take to say what people should read, and for a dry run; without an answer they read less."""


def checkpoint_ref(checkpoint: Checkpoint) -> CheckpointRef:
    """What an answer says about a checkpoint."""
    return CheckpointRef(checkpoint.checkpoint_id, checkpoint.expires_at)


def awaiting(run: CallRun, checkpoint: Checkpoint) -> CallResult:
    """The answer while people decide."""
    return replace(run.answer(CallStatus.AWAITING_CHECKPOINT, AWAITING), checkpoint=checkpoint_ref(checkpoint))


class Asking:
    """Opens checkpoints."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._dispatcher = Dispatcher(parts)

    async def ask(self, run: CallRun, *, instead_of: str = "", editor: CheckpointAnswer | None = None) -> CallResult:
        """Hold the call for a person, or deny it when there is nobody to ask (CHK-2).

        Raises `RequestError` when too many calls wait already, and when the session was closed meanwhile.
        `run` has been made ready to be sent. The checkpoint `instead_of`, whose approval is void, ends with it. With
        `editor`, the answer that made this call, its person has approved already; nobody else may be needed.
        """
        if not self._parts.recorder.healthy:
            return self._dispatcher.gateway_error(run, GatewayErrorCode.AUDIT_UNAVAILABLE, AUDIT_UNAVAILABLE)
        try:
            with run.trace.step(Step.ASK):
                return await self._asked(run, instead_of, editor)
        except TooManyWaitingError as error:
            raise RequestError(RequestFault.OVERLOADED, str(error)) from None
        except SessionEndedError as error:
            raise RequestError(RequestFault.SESSION_CLOSED, str(error)) from None
        except StateError:
            return self._dispatcher.gateway_error(run, GatewayErrorCode.STATE_UNAVAILABLE, STATE_UNAVAILABLE)

    async def _asked(self, run: CallRun, instead_of: str, editor: CheckpointAnswer | None) -> CallResult:
        if (alike := await self._alike(run)) is not None:
            return alike
        asked = run.obligations
        counts = editor is not None and _may_answer(editor, run)
        approved = counts and self._quorum(run) <= 1
        can_ask = self._parts.approvers.can_ask
        if not approved and not await can_ask(run.principal.id, asked.approvers, _second_groups(asked)):
            return nobody_to_ask(run)
        checkpoint = await self._checkpoint(run)
        if editor is not None and counts:
            state = CheckpointState.APPROVED if approved else CheckpointState.OPEN
            approval = replace(editor, decision=ApproverDecision.APPROVE, edited_input=b"", edit_difference="")
            checkpoint = replace(checkpoint, state=state, answers=(approval,))
        if run.before_waiting is not None:
            await run.before_waiting()
        opened = await self._parts.store.checkpoints.open_checkpoint(
            checkpoint, _record(run), instead_of=instead_of, room=self._parts.settings.open_checkpoints
        )
        if opened.existing is not None:
            return await self.known(run, opened.existing)
        run.checkpoint = checkpoint
        run.live.facts.checkpoints["opened"] += 1
        return awaiting(run, checkpoint)

    async def _alike(self, run: CallRun) -> CallResult | None:
        """The answer to a call that waits already, asked for again by a client that knows no call ids."""
        request = run.request
        if not request.rejoins or request.call_id or run.resuming is not None:
            return None
        known = await self._parts.store.checkpoints.waiting_alike(run.session_id, run.digest)
        if known is None or known.mode is not CheckpointMode.DETACH:
            return None
        if (known.pending_id, known.operation_id) != (_pending_id(run), run.undoes):
            return None  # what applies or undoes something is another call, whatever it is made of
        run.taken = True
        # Its decision is the one with a receipt.
        return replace(awaiting(run, known), call_id=known.call_id, decision=known.decision)

    def _quorum(self, run: CallRun) -> int:
        return run.obligations.quorum or self._parts.settings.checkpoint_quorum

    async def known(self, run: CallRun, record: CallRecord) -> CallResult:
        """The answer to a call whose id was used before, which may still wait for a person (PIPE-10)."""
        run.taken = True
        result = stored_answer(self._parts, run, record)
        if record.result is not None:
            return result
        checkpoint = await self._parts.store.checkpoints.checkpoint_of_call(run.session_id, run.call_id)
        # One that is being run under an approval has an outcome to come.
        return result if checkpoint is None else awaiting(run, checkpoint)

    # -- what people are shown --

    async def _checkpoint(self, run: CallRun) -> Checkpoint:
        parts, asked, request = self._parts, run.obligations, run.request
        rendered = await self._rendered(run)
        preview = await self._preview(run)
        now = parts.clock.now()
        resolving = run.resolving
        return Checkpoint(
            checkpoint_id=str(uuid.uuid4()),
            session_id=run.session_id,
            call_id=run.call_id,
            request_digest=run.request_digest,
            requester=run.principal.id,
            requester_kind=run.principal.kind,
            tool=run.known_tool.name,
            provider=run.known_tool.provider,
            pin=run.known_tool.sha256,
            digest=run.digest,
            policy_revision=run.decided.policy_revision,
            input=run.document.raw,
            created_at=now,
            expires_at=now + (asked.expires_s or parts.settings.checkpoint_expires_s),
            kind=run.kind,
            mode=request.checkpoint_mode,
            workdir=request.workdir,
            intent=parts.results.redact(request.intent or run.live.session.intent),
            labels=request.labels,
            deliverable=None if request.deliverable is None else self._masked(request.deliverable),
            pending_id=_pending_id(run),
            resolve_input=resolving.document.raw if resolving is not None else b"",
            operation_id=run.undoes,
            traceparent=run.traceparent,
            edited_from=run.resuming.checkpoint_id if run.resuming is not None and run.kind is CallKind.EDIT else "",
            decision=self._shown_decision(run.decided),
            facts=self._masked(run.facts),
            shown_input=_json(self._masked(run.sent.value)),
            rendered_call=rendered,
            preview=preview,
            approvers=asked.approvers,
            quorum=self._quorum(run),
            escalate_to=_second_groups(asked),
            escalate_at=now + (asked.escalate_after_s or 0.0) if _second_groups(asked) else None,
            escalated=_escalated(run) and bool(_second_groups(asked)),
            updated_at=now,
        )

    async def _rendered(self, run: CallRun) -> str:
        lines = [f"Apply: {run.pending.label}"] if run.pending is not None else []
        try:
            rendering = await self._provider(run).render_call(run.invocation(RENDERING_S))
            lines += [text for text in (rendering.summary, rendering.expanded) if text]
        except ProviderError:
            shown = json.dumps(self._masked(run.sent.value), indent=2, ensure_ascii=False)
            lines.append(f"{run.known_tool.name} {shown}")
        return self._parts.results.redact("\n".join(lines))

    async def _preview(self, run: CallRun) -> Preview | None:
        capability = run.known_tool.definition.capability
        if capability is None or not capability.dry_run or run.sender is not None:
            return None
        redact = self._parts.results.redact
        invocation = replace(run.invocation(RENDERING_S), pending_id="", state_token="")
        try:
            dry_run = await self._provider(run).dry_run(invocation)
        except ProviderError as error:
            return Preview(preview=redact(f"The dry run failed: {error.message}"))
        if dry_run.is_error:
            return Preview(preview=redact(f"The dry run failed: {dry_run.error_message}"))
        seen = dry_run.preview
        return Preview(
            tuple(map(redact, seen.would_affect)),
            redact(seen.preview),
            self._parts.results.mask(seen.estimated_impact),
        )

    def _provider(self, run: CallRun) -> Provider:
        provider = self._parts.providers.get(run.known_tool.provider)
        if provider is None:
            raise ProviderDownError(f"provider {run.known_tool.provider} is not registered any more")
        return provider

    def _masked(self, value: FrozenJsonObject) -> JsonObject:
        masked = self._parts.results.mask(dict(value))
        return masked if isinstance(masked, dict) else {}

    def _shown_decision(self, decision: Decision) -> Decision:
        redact = self._parts.results.redact
        reasons = tuple(Reason(reason.code, redact(reason.message), reason.rule) for reason in decision.reasons)
        return replace(decision, reasons=reasons, notes=tuple(map(redact, decision.notes)))


def nobody_to_ask(run: CallRun) -> CallResult:
    """The denial of a call that needs a person when there is none (CHK-2); policy's own reasons stay in front."""
    decision = run.decided
    refused = run.refused(
        "checkpoint_unavailable", NO_HANDLER, revision=decision.policy_revision, profile=decision.profile
    )
    run.decision = replace(run.decided, reasons=(*run.decided.reasons, *decision.reasons))
    return replace(refused, decision=run.decision)


def _record(run: CallRun) -> CallRecord:
    return CallRecord(
        session_id=run.session_id,
        call_id=run.call_id,
        request_digest=run.request_digest,
        state=CallState.AWAITING_CHECKPOINT,
        updated_at=run.received_at,
        status=CallStatus.AWAITING_CHECKPOINT,
    )


def _pending_id(run: CallRun) -> str:
    return run.pending.pending_id if run.pending is not None else ""


def _second_groups(asked: Obligations) -> tuple[str, ...]:
    """Whom policy wants asked later; nobody when it does not say when."""
    return asked.escalate_to if asked.escalate_after_s is not None else ()


def _escalated(run: CallRun) -> bool:
    """Whether the second groups have been asked about this call before it was edited; then they are from the start."""
    return run.resuming is not None and run.kind is CallKind.EDIT and run.resuming.escalated


def _may_answer(editor: CheckpointAnswer, run: CallRun) -> bool:
    """Whether who edited the call may approve it, by what policy says of the edited one."""
    asked = run.obligations
    groups = {*asked.approvers, *(_second_groups(asked) if _escalated(run) else ())}
    return not asked.approvers or bool(groups & set(editor.groups))


def _json(value: JsonObject) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
