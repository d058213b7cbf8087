"""Somebody says what came of an apply whose outcome is not known: the agent, or an operator (PREV-14)."""

from interlock_gateway.core.call import CallRequest, CallResult, CallStatus
from interlock_gateway.core.document import InvalidDocumentError
from interlock_gateway.core.machine import UnknownTransitionError
from interlock_gateway.core.pending import PendingAction
from interlock_gateway.core.session import Principal
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.pipeline.beginnings import Beginnings
from interlock_gateway.pipeline.parts import Parts
from interlock_gateway.pipeline.read_input import read_input
from interlock_gateway.pipeline.resolution import MAX_REASON, ResolveArguments, with_details
from interlock_gateway.pipeline.run import CallRun
from interlock_gateway.pipeline.saying import Saying, decision_of
from interlock_gateway.providers.port import ignore_events
from interlock_gateway.sessions.live import LiveSession

NOTHING_UNKNOWN = "No pending action has an unknown outcome."
ONLY_OUTCOMES = (
    'operators say what came of an action whose outcome is not known, with extra {"outcome": "applied"} or '
    '{"outcome": "not_applied"}; to apply and to discard is the agent\'s'
)


class PendingSettlement:
    """Takes somebody's word for what came of an action."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._beginnings = Beginnings(parts)

    async def by_agent(self, run: CallRun, arguments: ResolveArguments, saying: Saying) -> CallResult:
        """The answer to the agent of the session."""
        action = await self._unknown(run.session_id, arguments.pending_id)
        if action is None or not await self._settled(run.live, action, arguments):
            return await saying.said(run, NOTHING_UNKNOWN, code="nothing_unknown", is_error=True)
        run.resolution = arguments.note.about(action)
        return await saying.said(run, _words(action, arguments), code="settled")

    async def by_operator(self, principal: Principal, request: CallRequest) -> CallResult:
        """The answer to an operator, whosever the session is; it is in the audit under the operator's name first.

        Raises `RequestError`: it says no outcome, there is no such session, nothing about it is unknown, or receipts
        cannot be written.
        """
        arguments = await self._arguments(request)
        live = await self._parts.sessions.any(request.session_id)
        action = await self._unknown(request.session_id, arguments.pending_id)
        if action is None:
            raise RequestError(RequestFault.STALE_CONFIRMATION, NOTHING_UNKNOWN, field="pending_id")
        run = self._beginnings.run(principal, live, request, ignore_events)
        run.resolution = arguments.note.about(action)
        run.decision = decision_of(self._parts, run, "settled", _words(action, arguments))
        result = with_details(run.answer(CallStatus.COMPLETED, _words(action, arguments)), run.resolution)
        run.total_s, run.over = self._parts.clock.monotonic() - run.started, True
        # That it was said is a fact whatever becomes of the write after it.
        await self._parts.recorder.settle(run, result)
        self._parts.tracer.ended(run, result)
        if not await self._settled(live, action, arguments):
            raise RequestError(RequestFault.STALE_CONFIRMATION, NOTHING_UNKNOWN, field="pending_id")
        return result

    async def _arguments(self, request: CallRequest) -> ResolveArguments:
        limits = self._parts.settings
        try:
            document = read_input(request.input, max_bytes=limits.max_input_bytes, max_depth=limits.max_depth)
        except InvalidDocumentError as error:
            raise RequestError(RequestFault.INVALID_FIELD, error.message, field="extra") from None
        arguments = ResolveArguments.of(document.value)
        if not arguments.outcome:
            raise RequestError(RequestFault.INVALID_FIELD, ONLY_OUTCOMES, field="extra")
        if not arguments.reason.strip() or len(arguments.reason) > MAX_REASON:
            words = f"reason is blank, or longer than {MAX_REASON} characters"
            raise RequestError(RequestFault.INVALID_FIELD, words, field="reason")
        return arguments

    async def _unknown(self, session_id: str, pending_id: str) -> PendingAction | None:
        """The action that is meant: the one that is named, else the latest."""
        unknown = await self._parts.store.pending.unknown_pending(session_id)
        return next((one for one in unknown if pending_id in ("", one.pending_id)), None)

    async def _settled(self, live: LiveSession, action: PendingAction, arguments: ResolveArguments) -> bool:
        """Whether it is written; not when somebody else was faster."""
        store, applied = self._parts.store.pending, arguments.outcome == "applied"
        try:
            await store.settle_unknown(action.pending_id, self._parts.clock.now(), applied=applied)
        except UnknownTransitionError:
            return False
        live.unknown_count = max(0, live.unknown_count - 1)
        return True


def _words(action: PendingAction, arguments: ResolveArguments) -> str:
    return f"Recorded: {action.label} was {'applied' if arguments.outcome == 'applied' else 'not applied'}."
