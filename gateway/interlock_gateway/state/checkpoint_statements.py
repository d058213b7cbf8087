"""The statements on checkpoints, and what their rows mean."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam, func, insert, literal_column, or_, select, update

from interlock_gateway.core.call import CallState
from interlock_gateway.core.checkpoint import Checkpoint, CheckpointAnswer, CheckpointState
from interlock_gateway.state.record_codec import RecordCodec
from interlock_gateway.state.schema import calls, checkpoints, sessions
from interlock_gateway.state.transaction import Row, Statement

_COLUMNS = (
    checkpoints.c.checkpoint_id,
    checkpoints.c.session_id,
    checkpoints.c.call_id,
    checkpoints.c.state,
    checkpoints.c.expires_at,
    checkpoints.c.updated_at,
    checkpoints.c.version,
    checkpoints.c.input,
    checkpoints.c.document,
    checkpoints.c.progress,
)
_COLUMN_NAMES = tuple(column.name for column in _COLUMNS[:-2])


@dataclass(frozen=True, slots=True)
class _Progress:
    """What changes of a checkpoint beside its columns."""

    answers: tuple[CheckpointAnswer, ...] = ()
    closed_reason: str = ""
    escalated: bool = False


_DOCUMENT = RecordCodec(Checkpoint, columns=frozenset({*_COLUMN_NAMES, "answers", "closed_reason", "escalated"}))
_PROGRESS = RecordCodec(_Progress)

_UNSETTLED = (CallState.AWAITING_CHECKPOINT, CallState.DISPATCHING)
_IS_IT = checkpoints.c.checkpoint_id == bindparam("id")
_OF_CALL = (checkpoints.c.session_id == bindparam("session"), checkpoints.c.call_id == bindparam("call"))
_IN_STATE = checkpoints.c.state == bindparam("state")
_IN_SESSION = checkpoints.c.session_id == bindparam("session")
_BEHIND = (
    checkpoints.c.expires_at >= bindparam("after_expiry"),
    or_(checkpoints.c.expires_at > bindparam("after_expiry"), checkpoints.c.checkpoint_id > bindparam("after_id")),
)
_BY_EXPIRY = select(*_COLUMNS).order_by(checkpoints.c.expires_at, checkpoints.c.checkpoint_id).limit(bindparam("limit"))

INSERT = Statement(
    insert(checkpoints).values(
        **{column.name: bindparam(column.name) for column in _COLUMNS},
        ordinal=bindparam("ordinal"),
        escalates_at=bindparam("escalates_at"),
    )
)
GET = Statement(select(*_COLUMNS).where(_IS_IT))
NEWEST_OF_CALL = Statement(
    select(*_COLUMNS, checkpoints.c.ordinal).where(*_OF_CALL).order_by(checkpoints.c.ordinal.desc()).limit(1)
)
LIST = Statement(_BY_EXPIRY.where(_IN_STATE, *_BEHIND))
LIST_OF_SESSION = Statement(_BY_EXPIRY.where(_IN_SESSION, _IN_STATE, *_BEHIND))
# Those of calls that still wait, since nobody has asked again after people decided, and of calls under way.
WAITING_IN_SESSION = Statement(
    select(*_COLUMNS)
    .join(
        calls,
        (calls.c.session_id == checkpoints.c.session_id)
        & (calls.c.call_id == checkpoints.c.call_id)
        & calls.c.state.in_([literal_column(f"'{state.value}'") for state in _UNSETTLED]),
    )
    .where(_IN_SESSION, _IN_STATE)
    .order_by(checkpoints.c.expires_at, checkpoints.c.checkpoint_id)
    .limit(bindparam("limit"))
)
DUE = Statement(_BY_EXPIRY.where(_IN_STATE, checkpoints.c.expires_at <= bindparam("now")))
COUNT_OPEN = Statement(
    select(func.count())
    .select_from(checkpoints)
    .where(checkpoints.c.state == CheckpointState.OPEN.value, checkpoints.c.expires_at > bindparam("now"))
)
_ASKING = sessions.alias()
_LIVE = checkpoints.c.state.in_(
    [literal_column(f"'{state.value}'") for state in (CheckpointState.OPEN, CheckpointState.APPROVED)]
)
# One row when more than `fewer` calls wait; no more rows are looked at than that.
_MORE_THAN = select(checkpoints.c.state).where(_LIVE).limit(1).offset(bindparam("fewer"))
MORE_WAIT_IN_SESSION = Statement(_MORE_THAN.where(_IN_SESSION))
MORE_WAIT = Statement(_MORE_THAN)
COUNT_WAITING = Statement(select(func.count()).select_from(checkpoints).where(_LIVE))
COUNT_WAITING_OF_OWNER_OF = Statement(
    select(func.count())
    .select_from(checkpoints.join(sessions, checkpoints.c.session_id == sessions.c.session_id))
    .where(
        _LIVE,
        sessions.c.owner
        == select(_ASKING.c.owner).where(_ASKING.c.session_id == bindparam("session")).scalar_subquery(),
    )
)
TO_ESCALATE = Statement(
    select(*_COLUMNS)
    .where(checkpoints.c.escalates_at <= bindparam("now"))
    .order_by(checkpoints.c.escalates_at)
    .limit(bindparam("limit"))
)
SWAP = Statement(
    update(checkpoints)
    .where(_IS_IT, checkpoints.c.version == bindparam("read_version"))
    .values(
        state=bindparam("new_state"),
        escalates_at=bindparam("new_escalates_at"),
        updated_at=bindparam("now"),
        version=checkpoints.c.version + 1,
        progress=bindparam("new_progress"),
    )
)


def values_of(checkpoint: Checkpoint, ordinal: int) -> dict[str, Any]:
    """The parameters of `INSERT`."""
    columns = {name: getattr(checkpoint, name) for name in _COLUMN_NAMES}
    return {
        **columns,
        "state": checkpoint.state.value,
        "ordinal": ordinal,
        "escalates_at": escalates_at(checkpoint),
        "document": _DOCUMENT.encode(checkpoint),
        "progress": progress_of(checkpoint),
    }


def escalates_at(checkpoint: Checkpoint) -> float | None:
    """When it is to be escalated; `None` when never, when it has been, or when it is not open any more."""
    return checkpoint.escalate_at if checkpoint.state is CheckpointState.OPEN and not checkpoint.escalated else None


def progress_of(checkpoint: Checkpoint) -> bytes:
    """What changes of `checkpoint`, as it is kept."""
    return _PROGRESS.encode(_Progress(checkpoint.answers, checkpoint.closed_reason, checkpoint.escalated))


def checkpoint_of(row: Row) -> Checkpoint:
    """The checkpoint in a row of `_COLUMNS`; raises `StoredFormatError`."""
    *columns, document, progress = row[: len(_COLUMNS)]
    values = dict(zip(_COLUMN_NAMES, columns, strict=True))
    values["state"] = CheckpointState(values["state"])
    made = _PROGRESS.decode(progress)
    return _DOCUMENT.decode(
        document, **values, answers=made.answers, closed_reason=made.closed_reason, escalated=made.escalated
    )
