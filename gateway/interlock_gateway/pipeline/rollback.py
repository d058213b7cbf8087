"""Rolling back a session's operations, newest first, one compensation after the other (UNDO-2 to UNDO-5).

What is undone is in the journal and nowhere else: every step looks there first, so a rollback that stopped, was left by
its client or was killed goes on from what the journal says.
"""

from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from interlock_gateway.core.call import CallResult, CallState
from interlock_gateway.core.content import Text
from interlock_gateway.core.operation import Operation, OperationState, UndoInfo
from interlock_gateway.core.rollback import (
    RollbackLine,
    RollbackOutcome,
    RollbackRequest,
    compensation_id,
    guide_for,
    in_the_way,
    only_read,
    outcome_of,
    undo_of,
)
from interlock_gateway.core.session import Principal
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.pipeline.compensation import request_for
from interlock_gateway.pipeline.core import CallPipeline
from interlock_gateway.pipeline.parts import Parts
from interlock_gateway.pipeline.ports import StateOverloadedError, UnknownRecordError, unavailable
from interlock_gateway.pipeline.rollback_plan import Planned, planned
from interlock_gateway.pipeline.shown_operation import shown_operation
from interlock_gateway.sessions.arrivals import Arrival, stand_in_line
from interlock_gateway.sessions.live import LiveSession

UNDONE_BEFORE = "It had been undone before."
ONLY_READ = "Policy let {tool} through as a call that only reads; there is nothing to undo."
PENDING = "Its undo is pending as {label}. Resolve that; rolling back again then goes on."


@dataclass(slots=True)
class _Rolling:
    """One rollback under way; `begun` once something may have been undone."""

    principal: Principal
    live: LiveSession
    asked: RollbackRequest
    begun: bool = False


class Rollback:
    """Undoes what sessions did."""

    def __init__(self, parts: Parts, pipeline: CallPipeline) -> None:
        self._parts = parts
        self._pipeline = pipeline

    async def run(self, principal: Principal, asked: RollbackRequest) -> AsyncGenerator[RollbackLine, None]:
        """Undo what is asked for, with a line for each operation; the last line says why it ended, if it did early.

        Raises `RequestError`: the session is not the principal's, the target is not there, another rollback of the
        session is running; and between two lines when the gateway cannot go on. That the state has too much to do
        (`StateOverloadedError`) is raised only when nothing was undone.
        """
        with self._pipeline.arrivals.arrive(principal.id, asked.session_id) as arrival:
            live = await self._parts.sessions.owned(principal, asked.session_id)
            rolling = _Rolling(principal, live, asked)
            with _alone(live), _said_to_have_begun(rolling):
                plan = await self._plan(live, asked, arrival)
                for index, one in enumerate(plan):
                    line = await self._step(rolling, one.operation_id)
                    if line is None:
                        continue
                    self._parts.observer.undo_ended(line.outcome)
                    yield await self._shown(line, _remaining(plan[index:], line))
                    if not line.outcome.goes_on:
                        return

    async def _plan(self, live: LiveSession, asked: RollbackRequest, arrival: Arrival) -> tuple[Planned, ...]:
        """What to undo, once every call that was asked for earlier has ended: its operation is to be among them."""
        await stand_in_line(live.turnstile, arrival, shared=False)
        try:
            return await planned(self._parts.store, asked)
        finally:
            live.turnstile.release(shared=False)

    async def _step(self, rolling: _Rolling, operation_id: str) -> RollbackLine | None:
        """One operation; `None` when there is nothing to undo about it any more."""
        operation = await self._operation(operation_id)
        if operation.state is OperationState.FAILED:
            return None
        if (line := _nothing_to_do(operation)) is not None:
            return line
        undo = undo_of(operation)
        if undo is None:
            return _irreversible(operation, skip=rolling.asked.skip_irreversible)
        for action in await self._parts.store.pending.list_pending(operation.session_id, self._parts.clock.now()):
            if action.operation_id == operation_id:
                return RollbackLine(operation, RollbackOutcome.HELD, PENDING.format(label=action.label))
        return await self._compensated(rolling, operation, undo)

    async def _compensated(self, rolling: _Rolling, operation: Operation, undo: UndoInfo) -> RollbackLine:
        request = request_for(operation, undo, await self._call_id(operation), rolling.asked)
        rolling.begun = True
        result = await self._pipeline.compensate(rolling.principal, rolling.live, operation, request)
        after = await self._operation(operation.operation_id)
        outcome = _outcome(after, result)
        return RollbackLine(after, outcome, _words(after, outcome, result), result=result)

    async def _call_id(self, operation: Operation) -> str:
        """The id of the next attempt, or of one that waits for a person."""
        attempt = operation.undo_attempts + 1
        while True:
            call_id = compensation_id(operation, attempt)
            record = await self._parts.store.calls.find_call(operation.session_id, call_id)
            if record is None or record.state is CallState.AWAITING_CHECKPOINT:
                return call_id
            attempt += 1

    async def _operation(self, operation_id: str) -> Operation:
        operation = await self._parts.store.journal.get_operation(operation_id)
        if operation is None:
            raise UnknownRecordError(f"there is no operation {operation_id}")
        return operation

    async def _shown(self, line: RollbackLine, remaining: int) -> RollbackLine:
        operation = await shown_operation(self._parts.results, line.operation)
        guide = guide_for(operation) if undo_of(operation) is None and not only_read(operation) else ""
        message = line.message or f"Undone: {_description(operation)}"
        return replace(line, operation=operation, message=message, manual_guide=guide, remaining=remaining)


@contextmanager
def _alone(live: LiveSession) -> Iterator[None]:
    """One rollback of a session at a time; in another replica, each operation's claim keeps them apart."""
    if live.rolling_back:
        raise RequestError(RequestFault.ROLLBACK_IN_PROGRESS, "another rollback of this session is running")
    live.rolling_back = True
    try:
        yield
    finally:
        live.rolling_back = False


@contextmanager
def _said_to_have_begun(rolling: _Rolling) -> Iterator[None]:
    """`OVERLOADED` means that nothing was begun, and who asks again for so many operations then has more undone."""
    try:
        yield
    except StateOverloadedError as error:
        if rolling.begun:
            raise unavailable(error) from error
        raise


def _nothing_to_do(operation: Operation) -> RollbackLine | None:
    """The line of an operation about which nothing is to be done, or nothing may be now; `None` for any other."""
    if operation.state is OperationState.UNDONE:
        return RollbackLine(operation, RollbackOutcome.ALREADY_UNDONE, UNDONE_BEFORE)
    if words := in_the_way(operation):
        return RollbackLine(operation, RollbackOutcome.OUTCOME_UNKNOWN, words)
    if only_read(operation):
        return RollbackLine(operation, RollbackOutcome.NOTHING_TO_UNDO, ONLY_READ.format(tool=operation.tool))
    return None


def _irreversible(operation: Operation, *, skip: bool) -> RollbackLine:
    words = f"{operation.tool} cannot be undone by calling a tool"
    if skip:
        return RollbackLine(operation, RollbackOutcome.SKIPPED_IRREVERSIBLE, f"{words}; it was passed over.")
    return RollbackLine(operation, RollbackOutcome.STOPPED_IRREVERSIBLE, f"{words}; the rollback stopped here.")


def _outcome(after: Operation, result: CallResult) -> RollbackOutcome:
    """By the journal first: it holds also what another replica did meanwhile."""
    said = outcome_of(result)
    if after.state is OperationState.UNDONE:
        return said if said is RollbackOutcome.UNDONE else RollbackOutcome.ALREADY_UNDONE
    if in_the_way(after):
        return RollbackOutcome.OUTCOME_UNKNOWN
    return RollbackOutcome.FAILED if said is RollbackOutcome.UNDONE else said


def _words(after: Operation, outcome: RollbackOutcome, result: CallResult) -> str:
    """What is said of a compensation; empty for one that went well, of which its description says it."""
    if outcome is RollbackOutcome.UNDONE:
        return ""
    if outcome is RollbackOutcome.ALREADY_UNDONE:
        return UNDONE_BEFORE
    told = "\n".join(part.text for part in result.content if isinstance(part, Text))
    if outcome is RollbackOutcome.OUTCOME_UNKNOWN:
        return in_the_way(after) or told
    if outcome is RollbackOutcome.HELD and result.pending is not None:
        return PENDING.format(label=result.pending.label)
    if outcome is RollbackOutcome.HELD:
        return "Its undo waits for a person or a deliverable; rolling back again then goes on."
    return told or f"{after.tool} could not be undone."


def _remaining(rest: tuple[Planned, ...], line: RollbackLine) -> int:
    """How many are still to be undone: those behind this one, and this one itself when the rollback stops at it."""
    behind = sum(one.to_undo for one in rest[1:])
    return behind if line.outcome.goes_on else behind + 1


def _description(operation: Operation) -> str:
    undo = operation.undo
    return undo.description or operation.tool if undo is not None else operation.tool
