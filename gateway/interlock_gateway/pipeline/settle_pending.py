"""Somebody says what came of an apply whose outcome is not known: the agent, or an operator (PREV-14)."""

import asyncio
import logging
from dataclasses import replace

from interlock_gateway.core.call import CallRequest, CallResult, CallStatus
from interlock_gateway.core.document import InvalidDocumentError
from interlock_gateway.core.machine import UnknownTransitionError
from interlock_gateway.core.pending import PendingAction, PendingState
from interlock_gateway.core.session import Principal
from interlock_gateway.errors import AuditUnavailableError, RequestError, RequestFault
from interlock_gateway.pipeline.beginnings import Beginnings
from interlock_gateway.pipeline.parts import Parts
from interlock_gateway.pipeline.ports import StateError
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
MOST_LISTED = 10
"""How many actions are listed to an operator who has to name one."""

_SAID = {PendingState.APPLIED: "applied", PendingState.DISCARDED: "not applied"}
WITHOUT_RECEIPT = "the receipt of this settlement could not be written"
_log = logging.getLogger(__name__)


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
        """The answer to an operator, whosever the session is.

        That it is about to be settled is in the audit under the operator's name first, and what came of that after it.
        Raises `RequestError`: it says no outcome, there is no such session, nothing about it is unknown, or several
        actions are and none is named; `AuditUnavailableError`, `StateError`.
        """
        arguments = await self._arguments(request)
        live = await self._parts.sessions.any(request.session_id)
        action = await self._meant(request.session_id, arguments.pending_id)
        run = self._beginnings.run(principal, live, request, ignore_events)
        run.resolution = arguments.note.about(action)
        # Whoever asked may hang up; what is on record as about to be done is ended, and has its receipt.
        return await asyncio.shield(self._parts.tasks.start(self._settle(run, action, arguments)))

    async def _settle(self, run: CallRun, action: PendingAction, arguments: ResolveArguments) -> CallResult:
        run.decision = decision_of(self._parts, run, "settling")
        await self._parts.recorder.intend(run)
        try:
            taken = "" if await self._settled(run.live, action, arguments) else await self._taken(action)
        except StateError as error:
            # It may have been written all the same.
            words = self._parts.results.redact(str(error))
            await self._ended(run, CallStatus.OUTCOME_UNKNOWN, "settlement_unknown", words)
            raise
        if taken:
            await self._ended(run, CallStatus.FAILED, "not_settled", taken)
            raise RequestError(RequestFault.STALE_CONFIRMATION, taken, field="pending_id")
        return await self._ended(run, CallStatus.COMPLETED, "settled", _words(action, arguments))

    async def _ended(self, run: CallRun, status: CallStatus, code: str, words: str) -> CallResult:
        """The answer, with its receipt on disk; without one, that is in the details."""
        run.decision = decision_of(self._parts, run, code, words)
        is_error = status is not CallStatus.COMPLETED
        result = with_details(run.answer(status, words, is_error=is_error), run.resolution)
        run.total_s, run.over = self._parts.clock.monotonic() - run.started, True
        try:
            await self._parts.recorder.settle(run, result)
        except AuditUnavailableError:
            # Its intent is in the audit; the answer must not hide what came of it.
            result = replace(result, details={**result.details, "audit": WITHOUT_RECEIPT})
            _log.warning(
                "the receipt of a settlement could not be written",
                extra={"call_id": run.call_id, "session_id": run.session_id, "code": code},
            )
        self._parts.tracer.ended(run, result)
        return result

    async def _taken(self, action: PendingAction) -> str:
        """What somebody else, who was faster, said."""
        now = await self._parts.store.pending.get_pending(action.pending_id)
        state = "gone" if now is None else _SAID.get(now.state, now.state.value)
        return f"Nothing was recorded: {action.label} is {state} already, as somebody else said meanwhile."

    async def _meant(self, session_id: str, pending_id: str) -> PendingAction:
        """The action that an operator means; of several it has to be named."""
        unknown = await self._parts.store.pending.unknown_pending(session_id)
        if not pending_id and len(unknown) > 1:
            which = ", ".join(f"{one.pending_id} ({one.label})" for one in unknown[:MOST_LISTED])
            more = f" and {len(unknown) - MOST_LISTED} more" if len(unknown) > MOST_LISTED else ""
            words = f"several pending actions have an unknown outcome; name one of them: {which}{more}"
            raise RequestError(RequestFault.INVALID_FIELD, words, field="pending_id")
        named = next((one for one in unknown if pending_id in ("", one.pending_id)), None)
        if named is None:
            raise RequestError(RequestFault.STALE_CONFIRMATION, NOTHING_UNKNOWN, field="pending_id")
        return named

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
