"""Sending a call to its provider (PIPE-7), with the journal around whatever changes something (PIPE-9, PIPE-10)."""

import asyncio
import contextlib
import uuid
from dataclasses import dataclass, replace

from interlock_gateway.core.call import CallResult, CallState, CallStatus
from interlock_gateway.core.content import Text
from interlock_gateway.core.decision import GatewayErrorCode
from interlock_gateway.core.machine import UnknownTransitionError
from interlock_gateway.core.operation import Operation, OperationState, Undid, UndoInfo
from interlock_gateway.core.outcome import OutputEvent, ProgressEvent, ToolEvent, ToolOutcome
from interlock_gateway.errors import (
    AuditUnavailableError,
    OutcomeUnknownError,
    ProviderDownError,
    ProviderError,
    RequestError,
    RequestFault,
)
from interlock_gateway.pipeline.parts import Parts
from interlock_gateway.pipeline.ports import BeginOutcome, CallRecord, ClaimLostError, StateError
from interlock_gateway.pipeline.preview import STATE_UNAVAILABLE
from interlock_gateway.pipeline.push import keep_pushed
from interlock_gateway.pipeline.run import CallRun
from interlock_gateway.pipeline.tallying import destroys, uncount
from interlock_gateway.pipeline.tracing_port import Step, StepSpan
from interlock_gateway.providers.port import EventSink, Provider, ignore_events

AUDIT_UNAVAILABLE = "receipts cannot be written at the moment, so nothing is run"

AWAITING = "A person has to decide about this call. Nothing has run yet."

NOT_TO_BE_UNDONE = "the operation was undone meanwhile, or is being undone; nothing was run"
NOT_TO_BE_APPLIED = "others took this gateway for dead when it was about to apply the pending action; nothing was run"

PUSHED_BY_READER = "The tool declares that it only reads, so the pending action or handler it pushed was not kept."


@dataclass(frozen=True, slots=True)
class Dispatched:
    """What came of a dispatch: the provider's outcome, or the error that stands in its place."""

    outcome: ToolOutcome | None = None
    error: ProviderError | None = None

    @property
    def unknown(self) -> bool:
        """Whether nobody knows if it took effect."""
        return isinstance(self.error, OutcomeUnknownError)


class Dispatcher:
    """Runs decided calls. `read` is for what changes nothing, `change` for everything else."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def read(self, run: CallRun) -> CallResult:
        """Run a call that changes nothing; a provider that was lost is tried once more."""
        if not self._parts.recorder.healthy:
            return self.gateway_error(run, GatewayErrorCode.AUDIT_UNAVAILABLE, AUDIT_UNAVAILABLE)
        try:
            done = await self._tainted_read(run)
        except StateError:
            # What taints the session must not be read by anybody who then is not held to it.
            return self.gateway_error(run, GatewayErrorCode.STATE_UNAVAILABLE, STATE_UNAVAILABLE)
        result = await self.result_of(run, done)
        if done.outcome is not None and (done.outcome.pending is not None or done.outcome.standing is not None):
            # Kept, it would be applied as a call that changes nothing, and nobody would look at it.
            return replace(result, content=(*result.content, Text(PUSHED_BY_READER)), is_error=True)
        return result

    async def _tainted_read(self, run: CallRun) -> Dispatched:
        await self.taint(run, run.obligations.taint)
        done = await self.send(run)
        if done.unknown and run.deadline_at - self._parts.clock.monotonic() > 0:
            done = await self.send(run)
        if done.outcome is not None:
            await self.taint(run, done.outcome.taint)
        return done

    async def taint(self, run: CallRun, taints: tuple[str, ...]) -> None:
        """Have it on disk that the session is tainted, before anybody reads what taints it. Raises `StateError`."""
        if taints:
            await self._parts.sessions.taint(run.live, taints)

    async def change(self, run: CallRun) -> CallResult:
        """Run a call that may change something: intent on disk, dispatch, outcome on disk.

        A caller that hangs up does not stop it: the provider is told, and what is then known is journaled.
        """
        return await _Journaled(self._parts, self, run).work()

    async def send(self, run: CallRun) -> Dispatched:
        """One attempt, with nothing around it."""
        clock = self._parts.clock
        began = clock.monotonic()
        deadline_s = run.seconds_left(began, self._parts.settings.default_timeout_s)
        try:
            with run.trace.step(Step.DISPATCH) as span:
                run.outcome = await self._outcome(run, deadline_s, span)
        except ProviderError as error:
            return Dispatched(error=error)
        finally:
            run.dispatch_s = clock.monotonic() - began
        return Dispatched(outcome=run.outcome)

    async def _outcome(self, run: CallRun, deadline_s: float, span: StepSpan) -> ToolOutcome:
        provider = self.provider_of(run)
        await provider.ready(deadline_s)
        self._check_definition(run)
        run.provider = provider
        if self._parts.hooks is not None:
            self._parts.hooks.dispatched(run)
        if run.sender is not None:
            return await run.sender(deadline_s)
        invocation = run.invocation(deadline_s, span.context)
        return await provider.execute(invocation, self._shown_events(run.on_event))

    def _shown_events(self, on_event: EventSink) -> EventSink:
        """Where a provider's events go: to `on_event`, without their secrets (RES-6)."""
        redact = self._parts.results.redact

        def show(event: ToolEvent) -> None:
            if isinstance(event, ProgressEvent):
                event = replace(event, message=redact(event.message))
            elif isinstance(event, OutputEvent):
                event = replace(event, text=redact(event.text))
            on_event(event)

        return on_event if on_event is ignore_events else show

    def _check_definition(self, run: CallRun) -> None:
        """Raise `ProviderDownError` when the tool is not the one that was decided about any more (TOOL-5)."""
        tool = run.known_tool
        now = self._parts.registry.tool_of(tool.provider, tool.name)
        if now is None or now.sha256 != tool.sha256:
            raise ProviderDownError(f"the definition of {tool.name} changed before the call was sent; nothing was run")

    async def result_of(self, run: CallRun, done: Dispatched) -> CallResult:
        """The answer for what came of a dispatch."""
        if done.error is not None:
            status = CallStatus.FAILED if run.read_only or not done.unknown else CallStatus.OUTCOME_UNKNOWN
            result = run.answer(status, self._parts.results.redact(done.error.message), is_error=True)
        else:
            assert done.outcome is not None
            result = await self._processed(run, done.outcome)
        return run.wrap(result) if run.wrap is not None else result

    async def _processed(self, run: CallRun, outcome: ToolOutcome) -> CallResult:
        with run.trace.step(Step.RESULT):
            processed = await self._parts.results.process(outcome, run.limits(), run.obligations, run.session_id)
        status = CallStatus.FAILED if outcome.is_error and not outcome.tool_error else CallStatus.COMPLETED
        return processed.of_call(
            run.call_id, status, run.decision, run.known_tool.classification, is_error=outcome.is_error
        )

    def gateway_error(self, run: CallRun, code: GatewayErrorCode, message: str) -> CallResult:
        """A denial because the gateway itself cannot go on; nothing was dispatched."""
        decided = run.decided
        return run.refused(
            f"gateway_error.{code.value}", message, revision=decided.policy_revision, profile=decided.profile
        )

    async def undo_for(self, run: CallRun, outcome: ToolOutcome) -> UndoInfo | None:
        """How what just ran would be undone: as its result says, else as the provider says when asked (UNDO-1)."""
        capability = run.known_tool.definition.capability
        if outcome.undo is not None or outcome.is_error or capability is None or not capability.reversible:
            return outcome.undo
        try:
            with run.trace.step(Step.UNDO) as span:
                invocation = run.invocation(self._parts.settings.default_timeout_s, span.context)
                return await self.provider_of(run).generate_undo(invocation, outcome)
        except ProviderError as error:
            return UndoInfo(irreversible=True, manual_guide=f"The provider gave no undo information: {error.message}")

    def provider_of(self, run: CallRun) -> Provider:
        """The tool's provider. Raises `ProviderDownError` when it has gone since."""
        # A call under way stays with the provider it began with, though it may be gone from the directory (TOOL-4).
        provider = run.provider or self._parts.providers.get(run.known_tool.provider)
        if provider is None:
            raise ProviderDownError(f"provider {run.known_tool.provider} is not registered any more")
        return provider


class _Journaled:
    """One changing call's work, which a cancelled caller does not take down with it."""

    def __init__(self, parts: Parts, dispatcher: Dispatcher, run: CallRun) -> None:
        self._parts = parts
        self._dispatcher = dispatcher
        self._run = run
        self._operation_id = str(uuid.uuid4())

    async def work(self) -> CallResult:
        """Intent, dispatch, outcome."""
        run = self._run
        if run.resuming is not None:
            # Of several who would use the approval one does; the others leave no intent behind.
            begun = await self._begun()
            recorded = begun is None or begun.operation is None or await self._intent_recorded()
        else:
            # The journal and the audit reach the disk side by side; nothing is sent before both have.
            begun, recorded = await asyncio.gather(self._begun(), self._intent_recorded())
        if begun is None:
            return self._dispatcher.gateway_error(run, GatewayErrorCode.STATE_UNAVAILABLE, STATE_UNAVAILABLE)
        if begun.refused:
            refused = run.answer(CallStatus.FAILED, begun.refused, is_error=True)
            return run.wrap(refused) if run.wrap is not None else refused
        if begun.existing is not None:
            if run.resuming is not None:
                run.taken = True
                return run.answer(CallStatus.AWAITING_CHECKPOINT)
            uncount(self._parts.counts, run)  # the same call ran at another replica
            existing = await self._parts.store.calls.outcome_of(begun.existing)
            run.taken = existing.state is CallState.AWAITING_CHECKPOINT  # of people, who were asked for it there
            return stored_answer(self._parts, run, existing)
        run.journaled = True
        run.live.facts.count_dispatch(destructive=destroys(run) and not run.undoes)
        run.spare()
        self._parts.sessions.touch(run.live)
        return await self._sent(recorded=recorded)

    async def _sent(self, *, recorded: bool) -> CallResult:
        if not self._parts.store.stands or not await self._tainted(self._run.obligations.taint):
            # Others have taken this replica for dead since, and may have called this call unknown; then it stays that.
            lost = self._dispatcher.gateway_error(self._run, GatewayErrorCode.STATE_UNAVAILABLE, STATE_UNAVAILABLE)
            try:
                await self._finish(lost, CallState.FAILED, OperationState.FAILED, None)
            except RequestError:
                self._run.unkept = True  # asked again, it is answered with what the database says then
            return lost
        if not recorded:
            refusal = self._dispatcher.gateway_error(self._run, GatewayErrorCode.AUDIT_UNAVAILABLE, AUDIT_UNAVAILABLE)
            await self._finish(refusal, CallState.FAILED, OperationState.FAILED, None)
            return refusal
        return await self._dispatched()

    async def _begun(self) -> BeginOutcome | None:
        try:
            with self._run.trace.step(Step.JOURNAL):
                return await self._intended()
        except StateError:
            return None
        except ClaimLostError:
            return BeginOutcome(refused=NOT_TO_BE_APPLIED)
        except UnknownTransitionError:  # another compensation of the same operation was faster
            return BeginOutcome(refused=NOT_TO_BE_UNDONE)

    async def _intended(self) -> BeginOutcome:
        store, approval, pending = self._parts.store, self._run.resuming, self._run.pending
        begins, applies = (self._record(), self._operation()), "" if pending is None else pending.pending_id
        if approval is None:
            return await store.calls.begin_call(*begins, applies=applies)
        return await store.checkpoints.begin_approved(
            approval.checkpoint_id, self._run.digest, *begins, self._parts.clock.now(), applies=applies
        )

    async def _tainted(self, taints: tuple[str, ...]) -> bool:
        try:
            await self._dispatcher.taint(self._run, taints)
        except StateError:
            return False
        return True

    async def _dispatched(self) -> CallResult:
        done = await self._send()
        undo = None
        tainted = done.outcome is None or await self._tainted(done.outcome.taint)
        if done.outcome is not None:
            undo = await self._dispatcher.undo_for(self._run, done.outcome)
            done = Dispatched(outcome=replace(done.outcome, undo=undo))
        result = await self._dispatcher.result_of(self._run, done)
        if done.outcome is not None:
            result = await keep_pushed(self._parts, self._run, done.outcome, result)
        try:
            await self._finish(result, *_states_of(result, undo), undo)
        except RequestError:
            self._sign(result)
            raise
        if not tainted:
            raise RequestError(RequestFault.STATE_UNAVAILABLE, "the call ran, but what it read could not be noted")
        return result

    def _sign(self, result: CallResult) -> None:
        """Have a receipt of what came of the call though its outcome is not in the journal, now or ever."""
        self._run.total_s = self._parts.clock.monotonic() - self._run.started
        with contextlib.suppress(AuditUnavailableError):
            self._parts.recorder.note(self._run, result)

    async def _send(self) -> Dispatched:
        try:
            return await self._run.to_provider(self._dispatcher.send(self._run))
        except ProviderError as error:
            return Dispatched(error=error)

    async def _intent_recorded(self) -> bool:
        try:
            with self._run.trace.step(Step.AUDIT):
                await self._parts.recorder.intend(self._run)
        except AuditUnavailableError:
            return False
        return True

    async def _finish(
        self, result: CallResult, call: CallState, operation: OperationState, undo: UndoInfo | None
    ) -> None:
        calls = self._parts.store.calls
        text = "\n".join(part.text for part in result.content if isinstance(part, Text)) if result.is_error else ""
        try:
            with self._run.trace.step(Step.JOURNAL):
                await calls.finish_call(
                    self._run.session_id,
                    self._run.call_id,
                    self._operation_id,
                    call,
                    operation,
                    now=self._parts.clock.now(),
                    result=calls.encode_result(result),
                    undo=undo,
                    error=text[:1000],
                    undid=_undid(self._run, result),
                )
        except (StateError, UnknownTransitionError):
            # The outcome is written as soon as it can be. If the gateway ends before that, the call shows as unknown
            # (PIPE-9); as it does already if other replicas took this one for dead.
            raise RequestError(
                RequestFault.STATE_UNAVAILABLE, "the call ran, but its outcome could not be recorded"
            ) from None

    def _record(self) -> CallRecord:
        run = self._run
        return CallRecord(
            run.session_id, run.call_id, run.request_digest, CallState.DISPATCHING, self._parts.clock.now()
        )

    def _operation(self) -> Operation:
        run = self._run
        kind = run.known_tool.classification
        return Operation(
            operation_id=self._operation_id,
            session_id=run.session_id,
            call_id=run.call_id,
            tool=run.known_tool.name,
            provider=run.known_tool.provider,
            effect=kind.effect.value,
            audit_operation=kind.audit_operation,
            state=OperationState.INTENDED,
            input=run.sent.raw,
            digest=run.digest,
            intended_at=self._parts.clock.now(),
            workdir=run.request.workdir,
            decision_id=run.decided.decision_id,
            traceparent=run.traceparent,
            # What takes something back changes something, whatever its tool says of itself.
            only_reads=run.decided.only_reads and not run.undoes,
            undoes=run.undoes,
            deliverable=run.request.deliverable,
        )


def _states_of(result: CallResult, undo: UndoInfo | None) -> tuple[CallState, OperationState]:
    if result.status is CallStatus.OUTCOME_UNKNOWN:
        return CallState.OUTCOME_UNKNOWN, OperationState.OUTCOME_UNKNOWN
    call = CallState.COMPLETED if result.status is CallStatus.COMPLETED else CallState.FAILED
    # A tool that reports an error and says how to undo what it did has done something.
    done = _ran_well(result) or undo is not None
    return call, OperationState.DONE if done else OperationState.FAILED


def _ran_well(result: CallResult) -> bool:
    return result.status is CallStatus.COMPLETED and not result.is_error


def _undid(run: CallRun, result: CallResult) -> Undid | None:
    """What the call made of the operation that it takes back; `None` for a call that takes none back."""
    if not run.undoes:
        return None
    if result.status is CallStatus.OUTCOME_UNKNOWN:
        return Undid(run.undoes, OperationState.UNDO_UNKNOWN)
    return Undid(run.undoes, OperationState.UNDONE if _ran_well(result) else OperationState.UNDO_FAILED)


def stored_answer(parts: Parts, run: CallRun, record: CallRecord) -> CallResult:
    """The first outcome of a call id that was used before (PIPE-10). Raises `RequestError` for another input."""
    if record.request_digest != run.request_digest:
        # Of a tool that has gone nobody knows the other names any more.
        other = "" if run.tool is not None else ", or for this one by another of its tool's names"
        raise RequestError(
            RequestFault.CALL_ID_REUSED, f"call id {run.call_id} was used for another call{other}", field="call_id"
        )
    if record.state is CallState.AWAITING_CHECKPOINT:
        return run.answer(CallStatus.AWAITING_CHECKPOINT, AWAITING)
    if record.result is None:
        return run.answer(
            CallStatus.OUTCOME_UNKNOWN, "this call was dispatched; its outcome is not known", is_error=True
        )
    return parts.store.calls.decode_result(record.result)
