"""Pending actions that end with nobody resolving them: expired, or their session closed (PREV-13, CloseSession).

They are discarded like any other: who left them is told, outside of the session's turns, and a receipt says so. Whoever
moved an action in the database, one of all replicas, has it to end. That is left to a replica that can: where receipts
are written, and the provider is reached. Meanwhile the action is past its expiry, so that nobody can apply it.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Iterable

from interlock_gateway.core.call import CallRequest, CallResult, CallStatus
from interlock_gateway.core.pending import Later, PendingAction, PendingState, ResolutionNote, ResolveAction
from interlock_gateway.core.session import Principal, Role, Session
from interlock_gateway.errors import AuditUnavailableError, ProviderFailedError, RequestError
from interlock_gateway.pipeline.beginnings import Beginnings
from interlock_gateway.pipeline.parts import Parts
from interlock_gateway.pipeline.ports import StateError
from interlock_gateway.pipeline.rejecting import Rejected, Rejecting, resolution_of
from interlock_gateway.pipeline.run import CallRun
from interlock_gateway.pipeline.saying import decision_of
from interlock_gateway.providers.port import ignore_events
from interlock_gateway.registry.catalog import RESOLVE_TOOL
from interlock_gateway.sessions.live import LiveSession

EXPIRED = "expired"
SESSION_CLOSED = "session closed"
_ENDED = {PendingState.EXPIRED: (EXPIRED, "expired"), PendingState.DISCARDED: (SESSION_CLOSED, "session_closed")}
"""Why an action ended, in words and as a code, by where it is then."""

AT_ONCE = 4
"""How many discards one provider is told of at the same time: that it hangs delays nobody else's."""
MOST_S = 10.0
PAUSES_S = (1.0, 5.0)
"""A provider that does not answer within `MOST_S` is told once more after each of these; then it is lost to it.

The database and the receipts are tried again after the same.
"""
NOT_TOLD = "the provider was not told that it was discarded"

_log = logging.getLogger(__name__)


class Endings:
    """Ends what nobody resolved. Every method returns at once; what there is to be done is done behind it."""

    def __init__(self, parts: Parts, beginnings: Beginnings) -> None:
        self._parts = parts
        self._beginnings = beginnings
        self._rejecting = Rejecting(parts)
        self._turns: dict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(AT_ONCE))

    def later(self) -> Later:
        """Which actions this replica had better not end now: nobody would be told, or nothing written about it."""
        if not self._parts.recorder.healthy:
            return lambda _: True
        reached = self._parts.providers.reached()
        return lambda action: action.has_reject and action.provider not in reached

    async def expire(self) -> int:
        """End what has expired, unless receipts cannot be written; how many there were. Raises `StateError`."""
        if not self._parts.recorder.healthy:
            return 0
        # Who drains waits for it: what was moved in the database is ended too.
        return await asyncio.shield(self._parts.tasks.start(self._expire()))

    async def _expire(self) -> int:
        ended = await self._parts.sessions.expire(self.later())
        self.closed(ended)
        return sum(action.state is PendingState.EXPIRED for action in ended)

    def closed(self, actions: Iterable[PendingAction]) -> None:
        """End those of `actions` that are discarded or expired in the database by now; last in, first out."""
        for action in sorted(actions, key=lambda one: -one.sequence):
            if action.state in _ENDED:
                self._parts.tasks.start(self._end(action))

    async def _end(self, action: PendingAction) -> None:
        live = await self._session_of(action)
        if live is None:
            return
        reason, code = _ENDED[action.state]
        request = CallRequest(action.session_id, "", RESOLVE_TOOL, b"{}", labels=action.labels)
        run = self._beginnings.run(_owner(live.session), live, request, ignore_events)
        run.resolution = ResolutionNote(ResolveAction.DISCARD.value, reason).about(action)
        run.follows = action.traceparent
        run.decision = decision_of(self._parts, run, code)
        result = await self._told(run, action) if action.has_reject else run.answer(CallStatus.COMPLETED)
        run.total_s, run.over = self._parts.clock.monotonic() - run.started, True
        await self._recorded(run, action, result)
        self._parts.tracer.ended(run, result)

    async def _session_of(self, action: PendingAction) -> LiveSession | None:
        problem = ""
        for pause_s in (0.0, *PAUSES_S):
            await asyncio.sleep(pause_s)
            try:
                return await self._parts.sessions.any(action.session_id)
            except StateError as error:
                problem = str(error)
            except RequestError as error:
                problem = str(error)
                break
        _not_told(action, problem)
        return None

    async def _told(self, run: CallRun, action: PendingAction) -> CallResult:
        """Tell the provider, and again when it does not hear: the call id is the same, so that it does it once."""
        deadline_s = min(MOST_S, self._parts.settings.default_timeout_s)
        assert run.resolution is not None
        resolution = resolution_of(run, action, run.resolution, deadline_s)
        problem, intended = "", False
        async with self._turns[action.provider]:
            for pause_s in (0.0, *PAUSES_S):
                await asyncio.sleep(pause_s)
                intended = intended or await self._rejecting.intended(run)
                if not intended:
                    problem = "receipts cannot be written"
                    continue
                rejected = await self._rejecting.told(run, action.provider, resolution)
                if rejected is not None and (rejected.error is None or isinstance(rejected.error, ProviderFailedError)):
                    return _answered(run, rejected)
                problem = _problem(action, rejected)
        _not_told(action, problem)
        words = self._parts.results.redact(problem)
        run.decision = decision_of(self._parts, run, "reject_lost", f"{NOT_TOLD}: {words}")
        return run.answer(CallStatus.FAILED, words, is_error=True)

    async def _recorded(self, run: CallRun, action: PendingAction, result: CallResult) -> None:
        for pause_s in (0.0, *PAUSES_S):
            await asyncio.sleep(pause_s)
            try:
                if run.dispatch_s is None:
                    self._parts.recorder.note(run, result)
                else:
                    await self._parts.recorder.settle(run, result)
            except AuditUnavailableError:
                continue
            return
        about = {"pending_id": action.pending_id, "session_id": action.session_id}
        _log.warning("the receipt of a discard could not be written", extra=about)


def _owner(session: Session) -> Principal:
    """In whose name it ends: nothing is run in it."""
    return Principal(session.owner, session.owner_kind, frozenset(map(Role, session.owner_roles)))


def _answered(run: CallRun, rejected: Rejected) -> CallResult:
    # Nobody is shown what it returned; that it was an error is in the receipt.
    is_error = rejected.outcome.is_error if rejected.outcome is not None else rejected.error is not None
    return run.answer(CallStatus.COMPLETED, is_error=is_error)


def _problem(action: PendingAction, rejected: Rejected | None) -> str:
    if rejected is None or rejected.error is None:
        return f"provider {action.provider} is not registered any more"
    return rejected.error.message


def _not_told(action: PendingAction, problem: str) -> None:
    about = {
        "pending_id": action.pending_id,
        "session_id": action.session_id,
        "provider": action.provider,
        "problem": problem,
    }
    _log.warning("a provider was not told of a discard", extra=about)
