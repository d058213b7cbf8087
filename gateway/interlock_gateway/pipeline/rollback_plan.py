"""Which operations a rollback is about (UNDO-2): those that did something, newest first, compensations left out.

Those that only read are among them, to be passed over with a line each; a count is not of them.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass

from interlock_gateway.core.operation import Operation, OperationState
from interlock_gateway.core.rollback import RollbackRequest, is_to_undo, only_read
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.pipeline.ports import StateStore

_PAGE = 50


@dataclass(frozen=True, slots=True)
class Planned:
    """One operation of a rollback, and whether it was still to be undone when the rollback began."""

    operation_id: str
    to_undo: bool


async def planned(store: StateStore, asked: RollbackRequest) -> tuple[Planned, ...]:
    """The operations of the target. Raises `RequestError` when the target is not there."""
    if asked.count:
        return await _newest(store, asked)
    last = await _last(store, asked)
    plan = []
    async for operation in _backwards(store, asked.session_id):
        if operation.sequence < last.sequence:
            break
        if operation.state is not OperationState.FAILED and not operation.undoes:
            plan.append(Planned(operation.operation_id, is_to_undo(operation)))
    return tuple(plan)


async def _newest(store: StateStore, asked: RollbackRequest) -> tuple[Planned, ...]:
    plan: list[Planned] = []
    missing = asked.count
    async for operation in _backwards(store, asked.session_id):
        if is_to_undo(operation) or only_read(operation):
            plan.append(Planned(operation.operation_id, is_to_undo(operation)))
            missing -= is_to_undo(operation)
        if not missing:
            break
    return tuple(plan)


async def _last(store: StateStore, asked: RollbackRequest) -> Operation:
    """The oldest operation to undo."""
    if asked.last_operation_id:
        return await operation_of_session(store, asked.session_id, asked.last_operation_id, "last_operation_id")
    if await store.calls.find_call(asked.session_id, asked.since_call_id) is not None:
        async for operation in _backwards(store, asked.session_id):
            if operation.call_id == asked.since_call_id:
                return operation
    words = f"no call {asked.since_call_id} of this session has changed anything"
    raise RequestError(RequestFault.CALL_NOT_FOUND, words, field="since_call_id")


async def operation_of_session(store: StateStore, session_id: str, operation_id: str, field: str) -> Operation:
    """An operation that may be undone. Raises `RequestError`: it is not the session's, or is a compensation."""
    operation = await store.journal.get_operation(operation_id)
    if operation is None or operation.session_id != session_id:
        words = f"there is no operation {operation_id} in this session"
        raise RequestError(RequestFault.OPERATION_NOT_FOUND, words, field=field)
    if operation.undoes:
        words = f"this operation undoes {operation.undoes}; a rollback leaves it alone"
        raise RequestError(RequestFault.INVALID_FIELD, words, field=field)
    return operation


async def _backwards(store: StateStore, session_id: str) -> AsyncIterator[Operation]:
    before: int | None = None
    while page := await store.journal.newest_operations(session_id, _PAGE, before):
        for operation in page:
            yield operation
        before = page[-1].sequence
