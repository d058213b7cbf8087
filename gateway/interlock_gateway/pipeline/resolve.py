"""Resolve: apply or discard the top pending action (PREV-2 to PREV-9, PREV-12, PREV-14)."""

import contextlib
from dataclasses import replace
from typing import Protocol

from interlock_gateway.core.call import CallResult, CallStatus
from interlock_gateway.core.checkpoint import Checkpoint
from interlock_gateway.core.content import Text
from interlock_gateway.core.decision import DecisionError
from interlock_gateway.core.document import InvalidDocumentError
from interlock_gateway.core.outcome import Resolution, StandingHandler, ToolOutcome
from interlock_gateway.core.pending import (
    NOTHING_PENDING,
    REMINDER,
    PendingAction,
    PendingOrigin,
    PendingState,
    ResolveAction,
)
from interlock_gateway.pipeline.beginnings import Beginnings
from interlock_gateway.pipeline.bind import call_digest
from interlock_gateway.pipeline.discarding import Discarding
from interlock_gateway.pipeline.dispatch import Dispatcher
from interlock_gateway.pipeline.endings import Endings
from interlock_gateway.pipeline.enforce import Path, path_for
from interlock_gateway.pipeline.parts import Parts
from interlock_gateway.pipeline.ports import StateError
from interlock_gateway.pipeline.preview import Previewer, input_digest
from interlock_gateway.pipeline.read_input import read_input
from interlock_gateway.pipeline.rejecting import resolution_of
from interlock_gateway.pipeline.resolution import Answered, ResolveArguments, with_details
from interlock_gateway.pipeline.run import CallRun
from interlock_gateway.pipeline.saying import Core as Concluding
from interlock_gateway.pipeline.saying import Saying
from interlock_gateway.pipeline.settle_pending import PendingSettlement
from interlock_gateway.pipeline.settling import Settling
from interlock_gateway.pipeline.standing_apply import StandingApply, with_source
from interlock_gateway.registry.registered import RegisteredTool

RESOLVE_TOOL = "resolve"
MAX_ERROR = 1000
"""The most of an error that is kept with the action, in characters."""
STATE_CHANGED = "The state has changed since the preview. Nothing was applied. This is a fresh preview of the change."


class Core(Concluding, Protocol):
    """What resolving needs of the pipeline it is part of."""

    async def decided_and_run(self, run: CallRun, enforce: "Enforce") -> CallResult:
        """Decide, enforce, hand over the receipt."""
        ...


class Enforce(Protocol):
    """What is done with a call that policy lets through."""

    async def __call__(self, run: CallRun) -> CallResult:
        """Run it."""
        ...


class Resolver:
    """The `resolve` tool."""

    def __init__(self, parts: Parts, core: Core, beginnings: Beginnings) -> None:
        self._parts = parts
        self._core = core
        self._beginnings = beginnings
        self._dispatcher = Dispatcher(parts)
        self._previewer = Previewer(parts)
        self._saying = Saying(parts, core)
        self._discarding = Discarding(parts, self._saying)
        self._settlement = PendingSettlement(parts)
        self.endings = Endings(parts, beginnings)
        self.settling = Settling(parts.store.pending, parts.clock, self.endings.closed)

    async def resolve(self, run: CallRun) -> CallResult:
        """One `resolve` call, from its arguments to its answer; whatever that is, it says what was asked for."""
        result = await self._answered(run)
        return with_details(result, run.resolution)

    async def _answered(self, run: CallRun) -> CallResult:
        try:
            arguments = await self._arguments(run)
        except InvalidDocumentError as error:
            engine = self._parts.engine
            refusal = run.refused("invalid_input", error.message, revision=engine.revision, profile=engine.profile)
            return await self._core.concluded(run, refusal)
        except Answered as answered:
            return await self._saying.said(run, answered.text, code=answered.code, is_error=True)
        run.resolution = arguments.note
        if not run.digest:
            run.digest = call_digest(run, run.document, self._parts.engine.revision)
        if not self._parts.recorder.healthy:
            return await self._saying.without_receipts(run)
        if run.resuming is not None:
            return await self._apply_approved(run, run.resuming, arguments)
        return await self._resolved(run, arguments)

    async def _resolved(self, run: CallRun, arguments: ResolveArguments) -> CallResult:
        if arguments.outcome:
            return await self._settlement.by_agent(run, arguments, self._saying)
        top = await self._parts.store.pending.top_pending(run.session_id, self._parts.clock.now())
        if top is None:
            return await self._nothing_queued(run, arguments)
        return await self._resolve_top(run, top, arguments)

    async def _resolve_top(self, run: CallRun, top: PendingAction, arguments: ResolveArguments) -> CallResult:
        run.resolution = arguments.note.about(top)
        if arguments.pending_id and arguments.pending_id != top.pending_id:
            text = (
                f"{arguments.pending_id} is not the top pending action. The top is {top.pending_id}: {top.label}. "
                "Resolve that one first."
            )
            return await self._saying.said(run, text, code="not_the_top", is_error=True)
        if arguments.action is ResolveAction.DISCARD:
            return await self._discarding.discard(run, top, run.resolution)
        return await self._apply(run, top, arguments)

    async def _arguments(self, run: CallRun) -> ResolveArguments:
        limits = self._parts.settings
        run.document = read_input(run.request.input, max_bytes=limits.max_input_bytes, max_depth=limits.max_depth)
        try:
            problems = await run.known_tool.schema.problems(run.document, run.principal.id)
        except DecisionError as error:
            raise Answered(f"gateway_error.{error.code.value}", error.message) from None
        if problems:
            raise Answered("invalid_arguments", "The arguments of resolve are not valid:\n" + "\n".join(problems))
        return ResolveArguments.of(run.document.value)

    # -- apply --

    async def _apply(self, run: CallRun, top: PendingAction, arguments: ResolveArguments) -> CallResult:
        tool = self._parts.registry.find(top.tool, run.live.session.owner)
        problem = _no_longer_the_same(tool, top)
        if tool is None or problem is not None:
            return await self._saying.said(run, problem or "", code="tool_changed", is_error=True)
        claimed = await self._parts.store.pending.claim_pending(top.pending_id, run.call_id, self._parts.clock.now())
        if claimed is None:
            return await self._saying.taken(run)
        return await self._apply_claimed(run, tool, claimed, arguments)

    async def _apply_approved(self, run: CallRun, approval: Checkpoint, arguments: ResolveArguments) -> CallResult:
        """Go on with an apply that people were asked about. Whoever else goes on with it now has the action claimed."""
        store = self._parts.store.pending
        claimed = await store.claim_pending(approval.pending_id, run.call_id, self._parts.clock.now())
        if claimed is None:
            action = await store.get_pending(approval.pending_id)
            if action is not None and action.state is PendingState.APPLYING:
                run.taken = True
                return run.answer(CallStatus.AWAITING_CHECKPOINT)
            # Also when somebody else has applied it under this very approval; then the denial comes too late to count.
            if action is not None and action.state is PendingState.OUTCOME_UNKNOWN:
                return await self._void(run, _find_out(action))
            return await self._void(run, "the pending action is not there, or not on top any more; nothing was applied")
        tool = self._parts.registry.find(claimed.tool, run.live.session.owner)
        problem = _no_longer_the_same(tool, claimed)
        if tool is None or problem is not None:
            await self.settling.release(claimed, run.call_id)
            return await self._void(run, problem or "")
        return await self._apply_claimed(run, tool, claimed, arguments)

    async def _void(self, run: CallRun, why: str) -> CallResult:
        engine = self._parts.engine
        refused = run.refused("approval_void", why, revision=engine.revision, profile=engine.profile)
        return await self._core.concluded(run, refused)

    async def _apply_claimed(
        self, run: CallRun, tool: RegisteredTool, claimed: PendingAction, arguments: ResolveArguments
    ) -> CallResult:
        run.live.pending_count = max(0, run.live.pending_count - 1)
        run.resolution = arguments.note.about(claimed)
        applying = self._beginnings.for_pending(run, tool, claimed)
        applying.before_waiting = lambda: self._put_back(applying, claimed)
        applying.wrap = lambda result: _applied_answer(applying, result)
        if claimed.origin is PendingOrigin.PROVIDER:
            applying.sender = lambda deadline_s: self._apply_pushed(applying, claimed, deadline_s)
        run.journaled = True  # the run that applies keeps this call id's outcome
        run.applying = applying
        if run.cancelled:
            applying.cancel()
        result = await self._applied_and_settled(applying, claimed)
        run.journaled, run.unkept, run.taken = applying.journaled, applying.unkept, applying.taken
        return result

    async def _put_back(self, run: CallRun, action: PendingAction) -> None:
        """While people decide the action is pending like any other, and may be discarded."""
        run.before_waiting = None
        await self.settling.release(action, run.call_id)
        run.live.pending_count += 1

    async def _applied_and_settled(self, run: CallRun, action: PendingAction) -> CallResult:
        try:
            result = await self._core.decided_and_run(run, self._enforced)
        except BaseException:
            await self._after_apply(run, action, None)
            raise
        return await self._after_apply(run, action, result)

    async def _enforced(self, run: CallRun) -> CallResult:
        action = run.pending
        assert action is not None
        if path_for(run.decided) is Path.PREVIEW:
            return _refused(run, "preview_at_apply", "policy asks for a preview of what was previewed; not applied")
        if input_digest(run.sent.raw) != action.digest:
            return _refused(run, "not_what_was_previewed", "what would be sent is not what was previewed; not applied")
        return await self._dispatcher.change(run)

    async def _after_apply(self, run: CallRun, action: PendingAction, result: CallResult | None) -> CallResult:
        """Move the pending action to where the apply left it, and say so in the answer."""
        if run.journaled and (result is None or result.status is CallStatus.OUTCOME_UNKNOWN):
            await self.settling.finish(action, run.call_id, PendingState.OUTCOME_UNKNOWN, "the outcome is not known")
            return self._counted(run, "outcome_unknown", result)
        if run.before_waiting is None:
            waiting = result or _refused(run, "not_applied", "the apply did not take place")
            return _reminded(waiting)
        if run.outcome is not None and run.outcome.state_changed:
            return await self._stale(run, action)
        # What is not journaled here is the answer to the same call, which ran elsewhere and was about another action.
        if run.journaled and result is not None and result.status is CallStatus.COMPLETED and not result.is_error:
            await self.settling.finish(action, run.call_id, PendingState.APPLIED, "applied")
            return self._counted(run, "applied", result)
        answer = result or _refused(run, "not_applied", "the apply did not take place")
        if await self.settling.release(action, run.call_id, _why(result)):
            run.live.pending_count += 1
            return _reminded(answer)
        self._parts.observer.pending_changed(-1)
        with contextlib.suppress(StateError):
            await self._parts.sessions.recount_pending(run.live)
        return answer

    async def _stale(self, run: CallRun, action: PendingAction) -> CallResult:
        again = await self._previewer.preview_again(run, action)
        run.live.pending_count += 1
        if again.status is not CallStatus.PREVIEW:
            # The change cannot even be previewed any more: the old action stays, to be retried or discarded.
            await self.settling.release(action, run.call_id, STATE_CHANGED.split(" This", 1)[0])
            return _reminded(replace(again, content=(Text(STATE_CHANGED.split(" This", 1)[0]), *again.content)))
        return replace(again, content=(Text(STATE_CHANGED), *again.content))

    async def _apply_pushed(self, run: CallRun, action: PendingAction, deadline_s: float) -> ToolOutcome:
        assert run.resolution is not None
        return await self._dispatcher.provider_of(run).apply_pending(
            resolution_of(run, action, run.resolution, deadline_s)
        )

    def _counted(self, run: CallRun, what: str, result: CallResult | None) -> CallResult:
        run.live.facts.previews[what] += 1
        run.live.unknown_count += what == "outcome_unknown"
        self._parts.sessions.touch(run.live)
        self._parts.observer.pending_changed(-1)
        return result if result is not None else run.answer(CallStatus.OUTCOME_UNKNOWN, is_error=True)

    # -- nothing queued --

    async def _nothing_queued(self, run: CallRun, arguments: ResolveArguments) -> CallResult:
        handler = await self._parts.store.handlers.get_handler(run.session_id)
        if handler is not None:
            return await self._standing(run, handler, arguments)
        unknown = await self._parts.store.pending.unknown_pending(run.session_id)
        if unknown:
            return await self._saying.said(run, _find_out(unknown[0]), code="outcome_unknown", is_error=True)
        return await self._saying.said(run, NOTHING_PENDING, code="nothing_pending", is_error=True)

    async def _standing(self, run: CallRun, handler: StandingHandler, arguments: ResolveArguments) -> CallResult:
        said = replace(arguments.note, source_tool=handler.source_tool, label=handler.label)
        run.resolution = said
        resolution = Resolution(
            session_id=run.session_id,
            call_id=run.call_id,
            token=handler.token,
            source_tool=handler.source_tool,
            reason=arguments.reason,
            deadline_s=self._parts.settings.default_timeout_s,
            standing=True,
            extra=said.extra,
            trace=run.trace.context,
        )
        if arguments.action is ResolveAction.DISCARD:
            return await self._discarding.standing(run, handler, resolution, said)
        return await self._core.decided_and_run(run, StandingApply(self._parts, handler, resolution).enforced)


def _find_out(unknown: PendingAction) -> str:
    return (
        f"The outcome of {unknown.label} is not known. Find out, then call resolve again with "
        'extra {"outcome": "applied"} or {"outcome": "not_applied"}.'
    )


def _no_longer_the_same(tool: RegisteredTool | None, action: PendingAction) -> str | None:
    if tool is None or tool.provider != action.provider:
        return f"The tool {action.tool} that was previewed is not registered any more. Nothing was applied; discard it."
    if tool.sha256 != action.pin:
        return f"The definition of {action.tool} has changed since the preview. Nothing was applied; discard it."
    return None


def _applied_answer(run: CallRun, result: CallResult) -> CallResult:
    answer = with_source(run, result)
    if result.status is not CallStatus.FAILED:
        return answer
    # A tool's own words pass through as they are; anything else says that it was the apply that failed (PREV-7).
    words = "\n".join(part.text for part in result.content if isinstance(part, Text))
    return replace(answer, content=(Text(f"Apply failed: {words}"),))


def _refused(run: CallRun, code: str, message: str) -> CallResult:
    decided = run.decided
    return run.refused(code, message, revision=decided.policy_revision, profile=decided.profile)


def _why(result: CallResult | None) -> str:
    """Why an action was not applied, in the words of the answer (PREV-7); nothing, if the answer is no error."""
    parts = result.content if result is not None and result.is_error else ()
    return "\n".join(part.text for part in parts if isinstance(part, Text))[:MAX_ERROR]


def _reminded(result: CallResult) -> CallResult:
    return result if REMINDER in result.steering else result.steered(REMINDER)
