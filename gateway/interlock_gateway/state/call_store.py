"""Call ids and their outcomes, each in one transaction with the journal (PIPE-9, PIPE-10)."""

import asyncio
import contextlib
from functools import partial

from sqlalchemy import bindparam, select, update

from interlock_gateway.core.call import CALL_MACHINE, CallResult, CallState, CallStatus
from interlock_gateway.core.change import EVERYTHING, Change, Topic
from interlock_gateway.core.machine import UnknownTransitionError
from interlock_gateway.core.operation import Operation, OperationState, Undid, UndoInfo
from interlock_gateway.pipeline.ports import (
    BeginOutcome,
    CallRecord,
    StateOverloadedError,
    StateUnavailableError,
    UnknownRecordError,
)
from interlock_gateway.state.batch import Work
from interlock_gateway.state.changes import LocalChanges
from interlock_gateway.state.codec import decode_result, encode_result
from interlock_gateway.state.lane import Lane
from interlock_gateway.state.operations import finish_operation, write_intent
from interlock_gateway.state.schema import IS_INTENDED, calls, operations
from interlock_gateway.state.transaction import Link, Row, Statement

_COLUMNS = (
    calls.c.session_id,
    calls.c.call_id,
    calls.c.request_digest,
    calls.c.state,
    calls.c.updated_at,
    calls.c.status,
    calls.c.result,
)
_IS_IT = (calls.c.session_id == bindparam("session"), calls.c.call_id == bindparam("call"))

_FIND = Statement(select(*_COLUMNS).where(*_IS_IT))
_INSERT = Statement(
    lambda insert: (
        insert(calls).values({column.name: bindparam(column.name) for column in _COLUMNS}).on_conflict_do_nothing()
    )
)
_FINISH = Statement(
    update(calls)
    .where(*_IS_IT, calls.c.state == bindparam("source"))
    .values(
        state=bindparam("target"),
        status=bindparam("new_status"),
        result=bindparam("answer"),
        updated_at=bindparam("now"),
    )
)

_WHOSE = Statement(
    select(operations.c.replica_id).where(
        operations.c.session_id == bindparam("session"), operations.c.call_id == bindparam("call"), IS_INTENDED
    )
)


class Calls:
    """`CallStore` on a database, for one replica."""

    def __init__(self, reader: Lane, writer: Lane, replica_id: str) -> None:
        self._reader = reader
        self._writer = writer
        self._replica_id = replica_id
        self._changes: LocalChanges | None = None
        self._owed: dict[str, Work[None]] = {}

    def hear(self, changes: LocalChanges) -> None:
        """Others run calls too, and `changes` tells when those end."""
        self._changes = changes

    def encode_result(self, result: CallResult) -> bytes:
        """`result` as it is kept in a record."""
        return encode_result(result)

    def decode_result(self, document: bytes) -> CallResult:
        """The result that `encode_result` was given; raises `StoredFormatError`."""
        return decode_result(document)

    async def find_call(self, session_id: str, call_id: str) -> CallRecord | None:
        """What is kept of the call."""
        return await self._reader.submit(partial(find_call, session_id=session_id, call_id=call_id))

    async def outcome_of(self, record: CallRecord) -> CallRecord:
        """The record of a call that another replica is running, once it has ended there; any other one at once.

        A replica that dies is found out, and its calls become unknown, so that this ends too.
        """
        if record.state is not CallState.DISPATCHING or self._changes is None:
            return record
        changed = asyncio.Event()

        def told(change: Change) -> None:
            if change in (Change(Topic.CALL, record.session_id, record.call_id), EVERYTHING):
                changed.set()

        forget = self._changes.subscribe(told)
        try:
            while True:
                found, runs_here = await self._reader.submit(partial(_running, record=record, here=self._replica_id))
                if runs_here or found.state is not CallState.DISPATCHING:
                    return found
                await changed.wait()
                changed.clear()
        finally:
            forget()

    async def begin_call(self, record: CallRecord, operation: Operation, *, applies: str = "") -> BeginOutcome:
        """Claim the call id and write the intent, both or neither: of many callers one gets the operation.

        `record` must be `dispatching` and `operation` `intended`, else `ValueError`; it comes back with its sequence.
        With a compensation, what it undoes goes to `undoing`, or all fails with `UnknownTransitionError`; with
        `ClaimLostError`, when the pending action that it `applies` is not claimed for this call, here, any more.
        """
        if record.state is not CallState.DISPATCHING or operation.state is not OperationState.INTENDED:
            raise ValueError("a call begins dispatching, with an operation that is intended")
        return await self._writer.submit(
            partial(_begin, record=record, operation=operation, replica_id=self._replica_id, applies=applies)
        )

    async def finish_call(
        self,
        session_id: str,
        call_id: str,
        operation_id: str,
        call_state: CallState,
        operation_state: OperationState,
        *,
        now: float,
        result: bytes | None = None,
        undo: UndoInfo | None = None,
        error: str = "",
        undid: Undid | None = None,
    ) -> None:
        """Write how the call ended into its record and the journal, and what it undid; all or none.

        What the database cannot take now is kept for `finish_owed`. Raises `UnknownTransitionError` when it has ended
        already, and `UnknownRecordError`.
        """

        def work(link: Link) -> None:
            finish_operation(link, operation_id, operation_state, now=now, undo=undo, error=error, undid=undid)
            finish_call(link, session_id, call_id, call_state, now=now, result=result)

        try:
            await self._writer.submit(work)
        except (StateUnavailableError, StateOverloadedError):
            self._owed[operation_id] = work
            raise

    async def finish_owed(self) -> None:
        """Try again to write how calls ended; until then others wait for them, and nobody can undo them."""
        for operation_id, work in tuple(self._owed.items()):
            # It may have been written after all, or be called unknown by others; then that holds.
            with contextlib.suppress(UnknownTransitionError, UnknownRecordError):
                try:
                    await self._writer.submit(work)
                except (StateUnavailableError, StateOverloadedError):
                    return
            self._owed.pop(operation_id, None)

    async def record_outcome(self, record: CallRecord) -> CallRecord:
        """Keep a call that ended without dispatch, unless its id was used before; the kept record."""
        return await self._writer.submit(partial(_record, record=record))


def _running(link: Link, record: CallRecord, here: str) -> tuple[CallRecord, bool]:
    """The record as it is now, and whether the call is, or was last, this replica's own."""
    row = link.row(_WHOSE, session=record.session_id, call=record.call_id)
    found = find_call(link, record.session_id, record.call_id)
    return found or record, row is None or row[0] == here


def finish_call(
    link: Link, session_id: str, call_id: str, target: CallState, *, now: float, result: bytes | None
) -> None:
    """Take a call that is being dispatched to its end."""
    CALL_MACHINE.step(CallState.DISPATCHING, target)
    changed = link.change(
        _FINISH,
        session=session_id,
        call=call_id,
        source=CallState.DISPATCHING.value,
        target=target.value,
        new_status=CallStatus(target.value).value,
        answer=result,
        now=now,
    )
    if changed:
        link.announce(Topic.CALL, session_id, call_id)
        return
    found = find_call(link, session_id, call_id)
    if found is None:
        raise UnknownRecordError(f"there is no call {call_id}")
    raise UnknownTransitionError(f"call: {found.state.value} -> {target.value} is not a transition")


def find_call(link: Link, session_id: str, call_id: str) -> CallRecord | None:
    """What is kept of the call."""
    row = link.row(_FIND, session=session_id, call=call_id)
    return None if row is None else _record_of(row)


def insert_call(link: Link, record: CallRecord) -> bool:
    """Keep `record`; false when its id was used before."""
    return bool(
        link.change(
            _INSERT,
            session_id=record.session_id,
            call_id=record.call_id,
            request_digest=record.request_digest,
            state=record.state.value,
            updated_at=record.updated_at,
            status=record.status and record.status.value,
            result=record.result,
        )
    )


def _begin(link: Link, record: CallRecord, operation: Operation, replica_id: str, applies: str) -> BeginOutcome:
    if not insert_call(link, record):
        return BeginOutcome(existing=find_call(link, record.session_id, record.call_id))
    return BeginOutcome(operation=write_intent(link, operation, replica_id, applies))


def _record(link: Link, record: CallRecord) -> CallRecord:
    if insert_call(link, record):
        link.announce(Topic.CALL, record.session_id, record.call_id)
        return record
    kept = find_call(link, record.session_id, record.call_id)
    assert kept is not None
    return kept


def _record_of(row: Row) -> CallRecord:
    session_id, call_id, request_digest, state, updated_at, status, result = row
    return CallRecord(
        session_id=session_id,
        call_id=call_id,
        request_digest=request_digest,
        state=CallState(state),
        updated_at=updated_at,
        status=status and CallStatus(status),
        result=result,
    )
