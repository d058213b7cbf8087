"""One tool call, whichever way it came in (PIPE-1, PIPE-2): every surface decodes, calls `handle` once, and encodes."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

from interlock_gateway.core.call import CallRequest, CallResult, CallStatus, CheckpointMode
from interlock_gateway.core.decision import Decision, GatewayErrorCode, Verdict
from interlock_gateway.core.operation import Operation
from interlock_gateway.core.outcome import WaitingEvent
from interlock_gateway.core.pending import PendingAction
from interlock_gateway.core.session import Principal
from interlock_gateway.errors import AuditUnavailableError, RequestError, RequestFault
from interlock_gateway.pipeline.asking import Asking
from interlock_gateway.pipeline.beginnings import Beginnings
from interlock_gateway.pipeline.call_ids import check_call_id
from interlock_gateway.pipeline.compensation import refusal, undoing
from interlock_gateway.pipeline.conclusion import Conclusion, ends
from interlock_gateway.pipeline.dispatch import AUDIT_UNAVAILABLE, Dispatcher
from interlock_gateway.pipeline.enforce import Path
from interlock_gateway.pipeline.held import HeldCalls
from interlock_gateway.pipeline.interception import interception
from interlock_gateway.pipeline.kept_outcomes import KeptOutcomes
from interlock_gateway.pipeline.large_inputs import LargeInputs
from interlock_gateway.pipeline.parts import Parts
from interlock_gateway.pipeline.ports import StateError, unavailable
from interlock_gateway.pipeline.preview import Previewer
from interlock_gateway.pipeline.redeeming import Redeeming
from interlock_gateway.pipeline.reflection import Reflection
from interlock_gateway.pipeline.resolve import RESOLVE_TOOL, Resolver
from interlock_gateway.pipeline.resumptions import Caller
from interlock_gateway.pipeline.run import CallRun
from interlock_gateway.pipeline.settling import Settling
from interlock_gateway.pipeline.shared_answer import SharedAnswers, answer_to_come, hand_on
from interlock_gateway.pipeline.steps import Steps
from interlock_gateway.pipeline.tracing_port import Step
from interlock_gateway.providers.port import EventSink, ignore_events
from interlock_gateway.registry.registry import GATEWAY_PROVIDER
from interlock_gateway.sessions.arrivals import Arrival, Arrivals, stand_in_line
from interlock_gateway.sessions.gate import Gate
from interlock_gateway.sessions.live import LiveSession


class CallPipeline:
    """The core. One instance serves every surface of the process."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._steps = Steps(parts)
        self._dispatcher = Dispatcher(parts)
        self._previewer = Previewer(parts)
        self._beginnings = Beginnings(parts)
        self._resolver = Resolver(parts, self, self._beginnings)
        self.endings = self._resolver.endings
        self._conclusion = Conclusion(parts)
        self._interception = interception(parts, self._conclusion)
        self._asking = Asking(parts)
        self._kept = KeptOutcomes(parts, self._asking)
        self._reflection = Reflection(self._steps)
        self._redeeming = Redeeming(self._steps, self._asking, self._reflection)
        self._shared = SharedAnswers(parts, self._asking)
        self.arrivals = Arrivals()
        self._draining = False
        self.held = HeldCalls(parts, self)
        self.gate = Gate(parts.settings.max_calls_in_flight)

    @property
    def in_flight(self) -> int:
        """How many calls are under way, those that wait for their turn among them."""
        return self.gate.in_flight

    @property
    def draining(self) -> bool:
        """Whether no call is begun any more."""
        return self._draining

    @draining.setter
    def draining(self, value: bool) -> None:
        self._draining = value
        self.held.wake()

    async def handle(
        self, principal: Principal, request: CallRequest, on_event: EventSink = ignore_events
    ) -> CallResult:
        """One call through the whole pipeline.

        Raises `RequestError` for what the client's programmer must mend; everything a model can act on is an answer.
        """
        self._check_admission(request)
        check_call_id(request.call_id)
        started = self._parts.clock.monotonic()
        self.gate.enter(principal.id)
        resolves = request.tool == RESOLVE_TOOL
        arrival = self.arrivals.arrive(principal.id, request.session_id, resolves=resolves)
        try:
            if not resolves and (turn := self.gate.begin(principal.id)) is not None:
                arrival.waits_to_begin = True
                await turn
                arrival.waits_to_begin = False
            live = await self._parts.sessions.admit(principal, request.session_id)
            live.calls += 1
            try:
                result = await self._once(principal, live, request, on_event, arrival)
            finally:
                live.calls -= 1
        except StateError as error:
            raise unavailable(error) from None
        finally:
            arrival.leave()
            self.gate.leave(principal.id)
        if result.status is CallStatus.AWAITING_CHECKPOINT:
            return await self._answered(principal, request, result, started, on_event)
        return result

    async def _answered(
        self, principal: Principal, request: CallRequest, result: CallResult, started: float, on_event: EventSink
    ) -> CallResult:
        """What a call that waits for a person is answered with. While it is held open it is not in flight (CHK-4)."""
        until = None if request.deadline_s is None else started + request.deadline_s
        caller = Caller(
            principal,
            request.session_id,
            result.call_id,
            until,
            on_event,
            lends_deadline=True,
            deliverable=request.deliverable,
            trace=request.trace,
        )
        try:
            return await self.held.answer(caller, request, result)
        except StateError as error:
            raise unavailable(error) from None

    async def resume(self, run: CallRun) -> CallResult:
        """Take up a call that waited for a person, in its turn. `AWAITING_CHECKPOINT`: somebody else has it."""
        if self.draining:
            raise RequestError(RequestFault.DRAINING, "the gateway is shutting down")
        while (known := run.live.running.get(run.call_id)) is not None:
            try:
                result = await asyncio.shield(known.answer)
            except RequestError as error:
                if error.fault is RequestFault.CANCELLED:
                    continue  # whoever went on with it has gone before its turn came; this one goes on
                raise
            if known.resumed or result.status is not CallStatus.AWAITING_CHECKPOINT:
                return result
        with self.gate.entered(run.principal.id, again=True):
            return await self._through(run, answer_to_come(run))

    async def compensate(
        self, principal: Principal, live: LiveSession, operation: Operation, request: CallRequest
    ) -> CallResult:
        """The call that undoes `operation`, through the whole pipeline, in the session's order (UNDO-2).

        The session may be closed. The journal says what became of the operation. Raises `RequestError`.
        """
        self._check_admission(request)
        with self.gate.entered(principal.id):
            try:
                run = undoing(self._beginnings.run(principal, live, request, ignore_events), operation)
                # What a session may call for itself is another question than what takes its calls back.
                run.tool = self._parts.registry.find(request.tool, live.session.owner)
                refused = refusal(run, operation, self._parts.engine)
                result = await (self._through(run) if refused is None else self.concluded(run, refused))
            except StateError as error:
                raise unavailable(error) from None
        if result.status is CallStatus.AWAITING_CHECKPOINT:
            return await self._answered(principal, request, result, run.started, ignore_events)
        return result

    async def close_session(
        self, principal: Principal, session_id: str
    ) -> tuple[LiveSession, tuple[PendingAction, ...]]:
        """Close a session: its pending actions are discarded, and the calls in it that wait for people end."""
        live, discarded = await self._parts.sessions.close(principal, session_id, self.endings.later())
        self._parts.observer.pending_changed(-len(discarded))
        self.endings.closed(discarded)
        await self.held.end_session(session_id)
        return live, discarded

    @property
    def unsettled(self) -> Settling:
        """What became of pending actions and could not be written yet."""
        return self._resolver.settling

    @property
    def large_inputs(self) -> LargeInputs:
        """What reads large inputs."""
        return self._steps.large

    async def settle(self) -> None:
        """Try again to write what became of calls and pending actions while the database could not be written."""
        await self._parts.store.calls.finish_owed()
        await self.unsettled.retry()

    async def evaluate(self, principal: Principal, request: CallRequest) -> tuple[Decision, CallRun]:
        """The decision for a call and nothing else: no dispatch, no state (contract.md, `Evaluate`)."""
        self._check_admission(request)
        check_call_id(request.call_id)
        with self.gate.entered(principal.id):
            if (turn := self.gate.begin(principal.id)) is not None:
                await turn
            return await self._evaluated(principal, request)

    async def _evaluated(self, principal: Principal, request: CallRequest) -> tuple[Decision, CallRun]:
        live = await self._parts.sessions.for_evaluation(principal, request.session_id)
        run = self._beginnings.run(principal, live, request, ignore_events)
        run.dry = True
        refusal = await self._steps.decide(run)
        if refusal is None and run.decided.verdict is not Verdict.DENY:
            await self._steps.ready_to_send(run)
        run.total_s = self._parts.clock.monotonic() - run.started
        self._parts.tracer.ended(run, None)
        try:
            self._parts.recorder.evaluated(run)
        except AuditUnavailableError:
            # Somebody else is about to act on it: without a receipt it is no leave to do so (PIPE-12).
            self._dispatcher.gateway_error(run, GatewayErrorCode.AUDIT_UNAVAILABLE, AUDIT_UNAVAILABLE)
        self._parts.observer.call_evaluated(run)
        return run.decided, run

    # -- one call id, one outcome (PIPE-10) --

    async def _once(
        self, principal: Principal, live: LiveSession, request: CallRequest, on_event: EventSink, arrival: Arrival
    ) -> CallResult:
        run = self._beginnings.run(principal, live, request, on_event)
        live.facts.last_call_at = run.received_at
        if not request.call_id:
            # Nobody knows the id that was made for this call yet, so nobody can repeat it while it runs.
            return await (self._shared.joined(run, arrival) or self._through(run, arrival=arrival))
        if (earlier := await self._shared.earlier(run, arrival)) is not None:
            self._parts.tracer.ended(run, earlier)
            await self._parts.sessions.taint(live, tuple(live.facts.taints))
            return earlier
        return await self._through(run, answer_to_come(run), arrival)

    # -- the steps --

    async def _through(
        self, run: CallRun, answer: "asyncio.Future[CallResult] | None" = None, arrival: Arrival | None = None
    ) -> CallResult:
        """Wait for the call's turn, then take it to its end; `answer`, when given, gets what everybody is told.

        With an `arrival` it takes its place behind the calls of its session that came before it.
        """
        turnstile = run.live.turnstile
        shared = run.tool is None or run.tool.classification.concurrency_safe
        if self._parts.hooks is not None:
            self._parts.hooks.received(run)
        try:
            with run.trace.step(Step.TURN):
                run.elsewhere_s += await stand_in_line(
                    turnstile, arrival, lambda ahead: run.on_event(WaitingEvent(ahead)), shared=shared
                )
        except BaseException as error:
            self._ended(run, answer, error)
            raise
        work = self._in_turn(run, answer, shared=shared)
        if run.read_only and run.resuming is None:
            return await work
        # What may change something goes on to its receipt, its facts and its place in the stack, whoever hangs up.
        task = self._parts.tasks.start(work)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            run.cancel(at_once=self.draining)
            task.add_done_callback(partial(self._nobody_waits, run))
            raise

    def _nobody_waits(self, run: CallRun, ended: "asyncio.Task[CallResult]") -> None:
        """Whoever called has gone before the call began to wait for a person: nobody is to be asked for them."""
        if ended.cancelled() or ended.exception() is not None or run.resuming is not None or run.taken:
            return
        if ended.result().status is CallStatus.AWAITING_CHECKPOINT:
            self._parts.tasks.start(self.held.abandoned(Caller(run.principal, run.session_id, run.call_id)))

    async def _in_turn(self, run: CallRun, answer: "asyncio.Future[CallResult] | None", *, shared: bool) -> CallResult:
        try:
            try:
                result = await self._decided(run)
                if answer is not None:
                    result = await self._kept.kept(run, result)
            finally:
                run.live.turnstile.release(shared=shared)
        except BaseException as error:
            self._ended(run, answer, error)
            raise
        self._ended(run, answer, result)
        return result

    async def _decided(self, run: CallRun) -> CallResult:
        tool, session = run.tool, run.live.session
        if not session.is_open and not run.undoes:  # it was closed while the call waited for its turn
            raise RequestError(RequestFault.SESSION_CLOSED, f"session {session.session_id} is closed")
        if tool is not None and tool.provider == GATEWAY_PROVIDER and tool.name == RESOLVE_TOOL:
            return await self._shared.elsewhere(run) or await self._resolver.resolve(run)
        return await self.decided_and_run(run, self._enforced)

    def _ended(
        self, run: CallRun, answer: "asyncio.Future[CallResult] | None", ending: CallResult | BaseException
    ) -> None:
        if isinstance(ending, BaseException):
            run.leave(ending)
        else:
            self._parts.tracer.ended(run, ending)
        if answer is None:
            return
        del run.live.running[run.call_id]
        if isinstance(ending, BaseException):
            hand_on(answer, ending)
            return
        answer.set_result(ending)
        if not run.unkept and (ends(run, ending) or ending.status is CallStatus.REFLECTION_REQUIRED):
            run.live.remember(run.call_id, run.request_digest, ending)

    async def decided_and_run(self, run: CallRun, enforce: Callable[[CallRun], Awaitable[CallResult]]) -> CallResult:
        """Decide, enforce with `enforce`, and hand over the receipt: the only way from a call to an answer."""
        try:
            return await self._decided_and_run(run, enforce)
        except BaseException as error:
            run.leave(error)
            raise
        finally:
            run.spare()

    async def _decided_and_run(self, run: CallRun, enforce: Callable[[CallRun], Awaitable[CallResult]]) -> CallResult:
        refusal = await self._steps.decide(run)
        if self._parts.hooks is not None:
            self._parts.hooks.decided(run)
        if self._interception is not None:
            enforce = self._interception.before(enforce)
        if refusal is None and run.request.deliverable is not None and self._steps.path(run) is not Path.DENY:
            refusal = self._reflection.ended(run)
        result = refusal if refusal is not None else await self._enforce(run, enforce)
        self._steps.tallying.ended(run, result)
        if run.resuming is None:
            return result if run.taken else await self._conclusion.concluded(run, result)
        return result if run.taken else await self.concluded(run, result)

    async def _enforce(self, run: CallRun, enforce: Callable[[CallRun], Awaitable[CallResult]]) -> CallResult:
        if run.resuming is not None:
            return await self._redeeming.enforced(run, run.resuming, enforce)
        path = self._steps.path(run)
        if path is Path.DENY:
            return run.answer(CallStatus.DENIED, run.decided.message, is_error=True)
        if path is Path.REFLECT:
            return self._reflection.required(run)
        if path is Path.CHECKPOINT:
            return await self._ask(run)
        if (refusal := await self._steps.ready_to_send(run)) is not None:
            return refusal
        return await enforce(run)

    async def _enforced(self, run: CallRun) -> CallResult:
        if self._steps.path(run) is Path.PREVIEW:
            if not self._parts.recorder.healthy:
                return self._dispatcher.gateway_error(run, GatewayErrorCode.AUDIT_UNAVAILABLE, AUDIT_UNAVAILABLE)
            return await self._previewer.preview(run)
        try:
            plain = run.read_only and run.resuming is None
            return await (self._dispatcher.read(run) if plain else self._dispatcher.change(run))
        except asyncio.CancelledError:
            if run.read_only:
                self._conclusion.noted(run, run.answer(CallStatus.FAILED, "the call was cancelled", is_error=True))
            raise

    async def _ask(self, run: CallRun) -> CallResult:
        if (refusal := await self._steps.ready_to_send(run)) is not None:
            return refusal
        if run.request.checkpoint_mode is CheckpointMode.WAIT:
            self.held.check_room(run.principal.id)
        if not run.read_only:
            return await self._asking.ask(run)
        # Like any other call it is kept or not kept, whoever hangs up in between.
        asking = self._parts.tasks.start(self._asking.ask(run))
        try:
            return await asyncio.shield(asking)
        except asyncio.CancelledError:
            asking.add_done_callback(partial(self._nobody_waits, run))
            raise

    async def concluded(self, run: CallRun, result: CallResult) -> CallResult:
        """Count, record, remind: what every answer goes through on its way out (PIPE-12, PREV-10).

        A call that waited for people ends once: when somebody else has ended it meanwhile, this answer is none.
        """
        if run.resuming is not None and not await self._conclusion.settled(run, result):
            run.taken = True
            return run.answer(CallStatus.AWAITING_CHECKPOINT)
        return await self._conclusion.concluded(run, result)

    # -- beginnings --

    def _check_admission(self, request: CallRequest) -> None:
        if self.draining:
            raise RequestError(RequestFault.DRAINING, "the gateway is shutting down")
        if not request.tool:
            raise RequestError(RequestFault.INVALID_FIELD, "tool is empty", field="tool")
