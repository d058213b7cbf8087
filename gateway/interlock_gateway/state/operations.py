"""The rows of the journal: what was meant to happen, and what did (PIPE-9, UNDO-1)."""

from dataclasses import dataclass, replace

from sqlalchemy import bindparam, insert, select, update

from interlock_gateway.core.change import Topic
from interlock_gateway.core.machine import UnknownTransitionError
from interlock_gateway.core.operation import OPERATION_MACHINE, Operation, OperationState, UndoInfo
from interlock_gateway.pipeline.ports import UnknownRecordError
from interlock_gateway.state.record_codec import RecordCodec
from interlock_gateway.state.schema import IS_INTENDED, operations
from interlock_gateway.state.transaction import Link, Row, Statement

_COLUMNS = (
    operations.c.sequence,
    operations.c.operation_id,
    operations.c.session_id,
    operations.c.call_id,
    operations.c.state,
    operations.c.intended_at,
    operations.c.finished_at,
    operations.c.input,
    operations.c.intent,
    operations.c.outcome,
)

_COLUMN_NAMES = tuple(column.name for column in _COLUMNS[:-2])


@dataclass(frozen=True, slots=True)
class _Outcome:
    undo: UndoInfo | None = None
    error: str = ""


_INTENT = RecordCodec(Operation, columns=frozenset({*_COLUMN_NAMES, "undo", "error"}))
_OUTCOME = RecordCodec(_Outcome)

_INTEND = Statement(
    insert(operations)
    .values(
        operation_id=bindparam("operation_id"),
        session_id=bindparam("session_id"),
        call_id=bindparam("call_id"),
        replica_id=bindparam("replica_id"),
        state=bindparam("state"),
        intended_at=bindparam("intended_at"),
        updated_at=bindparam("intended_at"),
        input=bindparam("input"),
        intent=bindparam("intent"),
    )
    .returning(operations.c.sequence)
)
_FINISH = Statement(
    update(operations)
    .where(operations.c.operation_id == bindparam("id"), IS_INTENDED)
    .values(
        state=bindparam("target"),
        finished_at=bindparam("now"),
        updated_at=bindparam("now"),
        outcome=bindparam("result"),
    )
)
_MOVE = Statement(
    update(operations)
    .where(operations.c.operation_id == bindparam("id"), operations.c.state == bindparam("source"))
    .values(
        state=bindparam("target"),
        finished_at=bindparam("finished"),
        updated_at=bindparam("now"),
        outcome=bindparam("result"),
    )
)
_ABANDON = Statement(
    update(operations)
    .where(operations.c.replica_id == bindparam("replica"), IS_INTENDED)
    .values(
        state=OperationState.OUTCOME_UNKNOWN.value,
        finished_at=bindparam("now"),
        updated_at=bindparam("now"),
        outcome=bindparam("result"),
    )
    .returning(*_COLUMNS)
)
_GET = Statement(select(*_COLUMNS).where(operations.c.operation_id == bindparam("id")))
_LAST_SEQUENCE = 2**63 - 1
_LIST_BACKWARDS = Statement(
    select(*_COLUMNS)
    .where(operations.c.session_id == bindparam("session"), operations.c.sequence < bindparam("before"))
    .order_by(operations.c.sequence.desc())
    .limit(bindparam("limit"))
)
_LIST = Statement(
    select(*_COLUMNS)
    .where(operations.c.session_id == bindparam("session"), operations.c.sequence > bindparam("after"))
    .order_by(operations.c.sequence)
    .limit(bindparam("limit"))
)


def get_operation(link: Link, operation_id: str) -> Operation | None:
    """The operation."""
    row = link.row(_GET, id=operation_id)
    return None if row is None else _operation(row)


def list_operations(link: Link, session_id: str, limit: int, after_sequence: int) -> tuple[Operation, ...]:
    """At most `limit` of the session's operations, oldest first, from behind `after_sequence`."""
    return tuple(map(_operation, link.rows(_LIST, session=session_id, after=after_sequence, limit=limit)))


def newest_operations(link: Link, session_id: str, limit: int, before_sequence: int | None) -> tuple[Operation, ...]:
    """At most `limit` of the session's operations, newest first, from in front of `before_sequence`."""
    before = _LAST_SEQUENCE if before_sequence is None else before_sequence
    return tuple(map(_operation, link.rows(_LIST_BACKWARDS, session=session_id, before=before, limit=limit)))


def write_intent(link: Link, operation: Operation, replica_id: str) -> Operation:
    """Write what is about to happen, for `replica_id` to finish; the operation with its sequence."""
    row = link.row(
        _INTEND,
        operation_id=operation.operation_id,
        session_id=operation.session_id,
        call_id=operation.call_id,
        replica_id=replica_id,
        state=operation.state.value,
        intended_at=operation.intended_at,
        input=operation.input,
        intent=_INTENT.encode(operation),
    )
    assert row is not None
    return replace(operation, sequence=row[0])


def finish_operation(
    link: Link, operation_id: str, target: OperationState, *, now: float, undo: UndoInfo | None, error: str
) -> None:
    """Write what happened to an operation that was intended."""
    OPERATION_MACHINE.step(OperationState.INTENDED, target)
    if link.change(_FINISH, id=operation_id, target=target.value, now=now, result=_outcome(undo, error)):
        return
    raise _cannot_go(_existing(link, operation_id), target)


def abandon_operations(link: Link, replica_id: str, now: float, error: str) -> tuple[Operation, ...]:
    """Call unknown whatever `replica_id` had intended and not finished; oldest first."""
    rows = link.rows(_ABANDON, replica=replica_id, now=now, result=_outcome(None, error))
    return tuple(sorted(map(_operation, rows), key=lambda operation: operation.sequence))


def move_operation(link: Link, operation_id: str, target: OperationState, now: float, error: str) -> Operation:
    """Take the operation to `target` from where it is; raises `UnknownTransitionError` and `UnknownRecordError`."""
    before = _existing(link, operation_id)
    OPERATION_MACHINE.step(before.state, target)
    finished_at = now if before.finished_at is None else before.finished_at
    after = replace(before, state=target, finished_at=finished_at, error=error or before.error)
    outcome = _outcome(after.undo, after.error)
    changed = link.change(
        _MOVE,
        id=operation_id,
        source=before.state.value,
        target=target.value,
        finished=finished_at,
        now=now,
        result=outcome,
    )
    if not changed:
        raise _cannot_go(_existing(link, operation_id), target)
    link.announce(Topic.OPERATION, after.session_id, operation_id)
    return after


def _cannot_go(operation: Operation, target: OperationState) -> UnknownTransitionError:
    return UnknownTransitionError(f"operation: {operation.state.value} -> {target.value} is not a transition")


def _existing(link: Link, operation_id: str) -> Operation:
    operation = get_operation(link, operation_id)
    if operation is None:
        raise UnknownRecordError(f"there is no operation {operation_id}")
    return operation


def _outcome(undo: UndoInfo | None, error: str) -> bytes:
    return _OUTCOME.encode(_Outcome(undo, error))


def _operation(row: Row) -> Operation:
    *columns, intent, outcome = row
    values = dict(zip(_COLUMN_NAMES, columns, strict=True))
    values["state"] = OperationState(values["state"])
    end = _Outcome() if outcome is None else _OUTCOME.decode(outcome)
    return _INTENT.decode(intent, **values, undo=end.undo, error=end.error)
