"""The rows of the journal: what was meant to happen, and what did (PIPE-9, UNDO-1)."""

from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from functools import lru_cache

from sqlalchemy import bindparam, insert, literal_column, select, update

from interlock_gateway.core.change import Topic
from interlock_gateway.core.machine import UnknownTransitionError
from interlock_gateway.core.operation import OPERATION_MACHINE, Operation, OperationState, Undid, UndoInfo
from interlock_gateway.pipeline.ports import ClaimLostError, UnknownRecordError
from interlock_gateway.state.pending_statements import HOLD_CLAIM
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
    undo_call_id: str = ""
    undo_attempts: int = 0
    undone_at: float | None = None


_OUTCOME_NAMES = tuple(field.name for field in fields(_Outcome))
_INTENT = RecordCodec(Operation, columns=frozenset({*_COLUMN_NAMES, *_OUTCOME_NAMES}))
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
_UNKNOWN_OF_CALL = Statement(
    select(*_COLUMNS).where(
        operations.c.session_id == bindparam("session"),
        operations.c.call_id == bindparam("call"),
        operations.c.state == OperationState.OUTCOME_UNKNOWN.value,
    )
)
_GET = Statement(select(*_COLUMNS).where(operations.c.operation_id == bindparam("id")))
_OF_CALL = Statement(
    select(*_COLUMNS)
    .where(operations.c.session_id == bindparam("session"), operations.c.call_id == bindparam("call"))
    .order_by(operations.c.sequence.desc())
    .limit(1)
)
_LAST_SEQUENCE = 2**63 - 1
_LIST = Statement(
    select(*_COLUMNS)
    .where(operations.c.session_id == bindparam("session"), operations.c.sequence > bindparam("after"))
    .order_by(operations.c.sequence)
    .limit(bindparam("limit"))
)


_OWN = Statement(
    select(*_COLUMNS)
    .where(operations.c.session_id == bindparam("session"), operations.c.replica_id == bindparam("replica"))
    .order_by(operations.c.sequence)
    .offset(bindparam("after"))
)


@lru_cache(maxsize=256)
def _list_backwards(states: frozenset[OperationState]) -> Statement:
    """Newest first, of those in `states`; of all when that is empty."""
    wanted = [operations.c.session_id == bindparam("session"), operations.c.sequence < bindparam("before")]
    if states:
        wanted.append(operations.c.state.in_([literal_column(f"'{state.value}'") for state in sorted(states)]))
    return Statement(select(*_COLUMNS).where(*wanted).order_by(operations.c.sequence.desc()).limit(bindparam("limit")))


def get_operation(link: Link, operation_id: str) -> Operation | None:
    """The operation."""
    row = link.row(_GET, id=operation_id)
    return None if row is None else _operation(row)


def operation_of_call(link: Link, session_id: str, call_id: str) -> Operation | None:
    """The operation that the call was, or `None` when it changed nothing."""
    row = link.row(_OF_CALL, session=session_id, call=call_id)
    return None if row is None else _operation(row)


def list_operations(link: Link, session_id: str, limit: int, after_sequence: int) -> tuple[Operation, ...]:
    """At most `limit` of the session's operations, oldest first, from behind `after_sequence`."""
    return tuple(map(_operation, link.rows(_LIST, session=session_id, after=after_sequence, limit=limit)))


def newest_operations(
    link: Link, session_id: str, limit: int, before_sequence: int | None, states: Collection[OperationState]
) -> tuple[Operation, ...]:
    """At most `limit` operations of the session in `states` (or any), newest first, in front of a sequence."""
    before = _LAST_SEQUENCE if before_sequence is None else before_sequence
    statement = _list_backwards(frozenset(states))
    return tuple(map(_operation, link.rows(statement, session=session_id, before=before, limit=limit)))


def own_operations(link: Link, session_id: str, replica_id: str, after: int) -> tuple[Operation, ...]:
    """The operations that `replica_id` began in the session, oldest first, without the first `after` of them."""
    return tuple(map(_operation, link.rows(_OWN, session=session_id, replica=replica_id, after=after)))


def write_intent(link: Link, operation: Operation, replica_id: str, applies: str = "") -> Operation:
    """Write what is about to happen, for `replica_id` to finish; the operation with its sequence.

    A compensation claims what it undoes with it. Raises `UnknownTransitionError` when that is not to be undone now, and
    `ClaimLostError` when the pending action that it `applies` is not its own: others took the replica for dead since.
    """
    link.must_stand()
    if applies and not link.change(HOLD_CLAIM, id=applies, claimed_by=operation.call_id, replica=replica_id):
        raise ClaimLostError(f"pending action {applies} is not claimed for call {operation.call_id} any more")
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
    if operation.undoes:
        _claim_undo(link, operation)
    return replace(operation, sequence=row[0])


def finish_operation(
    link: Link,
    operation_id: str,
    target: OperationState,
    *,
    now: float,
    undo: UndoInfo | None,
    error: str,
    undid: Undid | None = None,
) -> None:
    """Write what happened to an operation that was intended, and to the one that it undid."""
    OPERATION_MACHINE.step(OperationState.INTENDED, target)
    result = _OUTCOME.encode(_Outcome(undo, error))
    if not link.change(_FINISH, id=operation_id, target=target.value, now=now, result=result):
        raise _cannot_go(_existing(link, operation_id), target)
    if undid is not None:
        _end_undo(link, undid, now, error)


def abandon_operations(link: Link, replica_id: str, now: float, error: str) -> tuple[Operation, ...]:
    """Call unknown whatever `replica_id` had intended and not finished; oldest first."""
    rows = link.rows(_ABANDON, replica=replica_id, now=now, result=_OUTCOME.encode(_Outcome(error=error)))
    abandoned = sorted(map(_operation, rows), key=lambda operation: operation.sequence)
    for operation in abandoned:
        if operation.undoes:
            _end_undo(link, Undid(operation.undoes, OperationState.UNDO_UNKNOWN), now, error)
    return tuple(abandoned)


def settle_operation(link: Link, operation_id: str, now: float, *, took_effect: bool) -> Operation:
    """Somebody said what became of an operation, or of its undo, that is unknown.

    Raises `UnknownTransitionError` when neither is, and `UnknownRecordError`.
    """
    before = _existing(link, operation_id)
    if before.state is OperationState.UNDO_UNKNOWN:
        for row in link.rows(_UNKNOWN_OF_CALL, session=before.session_id, call=before.undo_call_id):
            compensation = _operation(row)
            _swap(link, compensation, replace(compensation, state=_settled(took_effect=took_effect)), now)
        target = OperationState.UNDONE if took_effect else OperationState.UNDO_FAILED
        return _end_undo(link, Undid(operation_id, target), now, before.error)
    if before.state is not OperationState.OUTCOME_UNKNOWN or before.undoes:
        raise _cannot_go(before, OperationState.DONE)
    return _swap(link, before, replace(before, state=_settled(took_effect=took_effect)), now)


def _settled(*, took_effect: bool) -> OperationState:
    return OperationState.DONE if took_effect else OperationState.FAILED


def _claim_undo(link: Link, compensation: Operation) -> None:
    """Of many compensations of one operation one gets past here."""
    before = _existing(link, compensation.undoes)
    if before.session_id != compensation.session_id or before.undoes:
        raise _cannot_go(before, OperationState.UNDOING)
    after = replace(
        before,
        state=OperationState.UNDOING,
        undo_call_id=compensation.call_id,
        undo_attempts=before.undo_attempts + 1,
        error="",
    )
    _swap(link, before, after, compensation.intended_at)


def _end_undo(link: Link, undid: Undid, now: float, error: str) -> Operation:
    before = _existing(link, undid.operation_id)
    undone = undid.state is OperationState.UNDONE
    after = replace(
        before, state=undid.state, undone_at=now if undone else None, error="" if undone else error or before.error
    )
    return _swap(link, before, after, now)


def _swap(link: Link, before: Operation, after: Operation, now: float) -> Operation:
    """Compare and set: the operation is still in the state of `before`, and is as `after` then."""
    OPERATION_MACHINE.step(before.state, after.state)
    changed = link.change(
        _MOVE,
        id=before.operation_id,
        source=before.state.value,
        target=after.state.value,
        finished=after.finished_at,
        now=now,
        result=_outcome_of(after),
    )
    if not changed:
        raise _cannot_go(_existing(link, before.operation_id), after.state)
    link.announce(Topic.OPERATION, after.session_id, after.operation_id)
    return after


def _cannot_go(operation: Operation, target: OperationState) -> UnknownTransitionError:
    return UnknownTransitionError(f"operation: {operation.state.value} -> {target.value} is not a transition")


def _existing(link: Link, operation_id: str) -> Operation:
    operation = get_operation(link, operation_id)
    if operation is None:
        raise UnknownRecordError(f"there is no operation {operation_id}")
    return operation


def _outcome_of(operation: Operation) -> bytes:
    return _OUTCOME.encode(_Outcome(**{name: getattr(operation, name) for name in _OUTCOME_NAMES}))


def _operation(row: Row) -> Operation:
    *columns, intent, outcome = row
    values = dict(zip(_COLUMN_NAMES, columns, strict=True))
    values["state"] = OperationState(values["state"])
    end = _Outcome() if outcome is None else _OUTCOME.decode(outcome)
    values.update((name, getattr(end, name)) for name in _OUTCOME_NAMES)
    return _INTENT.decode(intent, **values)
