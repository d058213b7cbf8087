"""The journal, and what a start does about what the last run left unfinished (PIPE-9, PREV-14, UNDO-4)."""

from collections.abc import Collection
from functools import partial

from sqlalchemy import select

from interlock_gateway.core.call import CallResult, CallState, CallStatus
from interlock_gateway.core.content import Text
from interlock_gateway.core.operation import Operation, OperationState
from interlock_gateway.pipeline.ports import RecoveryReport
from interlock_gateway.state.call_store import finish_call
from interlock_gateway.state.codec import encode_result
from interlock_gateway.state.lane import Lane
from interlock_gateway.state.operations import (
    abandon_operations,
    get_operation,
    list_operations,
    newest_operations,
    operation_of_call,
    own_operations,
    settle_operation,
)
from interlock_gateway.state.pending_store import abandon_pending
from interlock_gateway.state.schema import IS_APPLYING, IS_INTENDED, operations, pending_actions, replicas
from interlock_gateway.state.transaction import Link, Statement

OUTCOME_UNKNOWN = (
    "The gateway stopped while this call was running. "
    "Whether it took effect is not known; it is not run again by itself."
)

_REGISTERED = select(replicas.c.replica_id)
_UNREGISTERED = Statement(
    select(operations.c.replica_id).distinct().where(IS_INTENDED, operations.c.replica_id.not_in(_REGISTERED))
)
_UNREGISTERED_APPLYING = Statement(
    select(pending_actions.c.replica_id).distinct().where(IS_APPLYING, pending_actions.c.replica_id.not_in(_REGISTERED))
)


class StoredJournal:
    """`Journal` on a database, for one replica."""

    def __init__(self, reader: Lane, writer: Lane, replica_id: str) -> None:
        self._reader = reader
        self._writer = writer
        self._replica_id = replica_id

    async def list_operations(self, session_id: str, limit: int, after_sequence: int = 0) -> tuple[Operation, ...]:
        """At most `limit` of the session's operations, oldest first, from behind `after_sequence`."""
        work = partial(list_operations, session_id=session_id, limit=limit, after_sequence=after_sequence)
        return await self._reader.submit(work)

    async def newest_operations(
        self,
        session_id: str,
        limit: int,
        before_sequence: int | None = None,
        states: Collection[OperationState] = (),
    ) -> tuple[Operation, ...]:
        """At most `limit` operations of the session in `states` (or any), newest first, in front of a sequence."""
        work = partial(
            newest_operations, session_id=session_id, limit=limit, before_sequence=before_sequence, states=states
        )
        return await self._reader.submit(work)

    async def own_operations(self, session_id: str, after: int) -> tuple[Operation, ...]:
        """The operations that this replica began in the session, oldest first, without the first `after` of them."""
        work = partial(own_operations, session_id=session_id, replica_id=self._replica_id, after=after)
        return await self._reader.submit(work)

    async def operation_of_call(self, session_id: str, call_id: str) -> Operation | None:
        """The operation that the call was, or `None` when it changed nothing."""
        return await self._reader.submit(partial(operation_of_call, session_id=session_id, call_id=call_id))

    async def get_operation(self, operation_id: str) -> Operation | None:
        """The operation."""
        return await self._reader.submit(partial(get_operation, operation_id=operation_id))

    async def settle_operation(self, operation_id: str, now: float, *, took_effect: bool) -> Operation:
        """Somebody said what became of an operation, or of its undo, that is unknown; of many who do one succeeds.

        Raises `UnknownTransitionError` when neither is unknown, and `UnknownRecordError`.
        """
        return await self._writer.submit(
            partial(settle_operation, operation_id=operation_id, now=now, took_effect=took_effect)
        )

    async def recover(self, now: float) -> RecoveryReport:
        """At start: what this replica left unfinished becomes unknown, and is never run again by itself."""
        return await self._writer.submit(partial(_recover, replica_id=self._replica_id, now=now))

    async def abandon_orphans(self, now: float) -> RecoveryReport:
        """What replicas left unfinished that are not registered any more becomes unknown, once, whoever asks first.

        For a database that replicas register on.
        """
        if not await self._reader.submit(_orphaned):
            return RecoveryReport()
        return await self._writer.submit(partial(_recover_orphans, now=now))


def _orphaned(link: Link) -> list[str]:
    return [row[0] for statement in (_UNREGISTERED, _UNREGISTERED_APPLYING) for row in link.rows(statement)]


def _recover_orphans(link: Link, now: float) -> RecoveryReport:
    reports = [_recover(link, replica_id, now) for replica_id in dict.fromkeys(_orphaned(link))]
    return RecoveryReport(
        tuple(operation for report in reports for operation in report.operations),
        tuple(action for report in reports for action in report.pending),
    )


def _recover(link: Link, replica_id: str, now: float) -> RecoveryReport:
    operations = abandon_operations(link, replica_id, now, OUTCOME_UNKNOWN)
    for operation in operations:
        result = encode_result(_unknown(operation.call_id))
        finish_call(link, operation.session_id, operation.call_id, CallState.OUTCOME_UNKNOWN, now=now, result=result)
    return RecoveryReport(operations, abandon_pending(link, replica_id, now, OUTCOME_UNKNOWN))


def _unknown(call_id: str) -> CallResult:
    return CallResult(call_id, CallStatus.OUTCOME_UNKNOWN, content=(Text(OUTCOME_UNKNOWN),), is_error=True)
