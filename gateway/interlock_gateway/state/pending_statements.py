"""The statements on pending actions, and what their rows mean."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, and_, bindparam, exists, func, insert, or_, select, update

from interlock_gateway.core.pending import PendingAction, PendingState
from interlock_gateway.state.record_codec import RecordCodec
from interlock_gateway.state.schema import IS_APPLYING, IS_PENDING, pending_actions, sessions
from interlock_gateway.state.some_ids import is_one
from interlock_gateway.state.transaction import Row, Statement

_PENDING = PendingState.PENDING.value
_APPLYING = PendingState.APPLYING.value

_above = pending_actions.alias("above")

_COLUMNS = (
    pending_actions.c.pending_id,
    pending_actions.c.session_id,
    pending_actions.c.sequence,
    pending_actions.c.state,
    pending_actions.c.expires_at,
    pending_actions.c.input,
    pending_actions.c.document,
)
_COLUMN_NAMES = tuple(column.name for column in _COLUMNS[:-1])


@dataclass(frozen=True, slots=True)
class _Outcome:
    reason: str


_DOCUMENT = RecordCodec(PendingAction, columns=frozenset(_COLUMN_NAMES))
_OUTCOME = RecordCodec(_Outcome)

_IS_IT = pending_actions.c.pending_id == bindparam("id")
_IS_ONE = is_one(pending_actions.c.pending_id)
_IN_SESSION = pending_actions.c.session_id == bindparam("session")
_LIVE = and_(pending_actions.c.state == _PENDING, pending_actions.c.expires_at > bindparam("now"))


def _end(*which: ColumnElement[bool], target: PendingState) -> Statement:
    return Statement(
        update(pending_actions)
        .where(*which)
        .values(state=target.value, updated_at=bindparam("now"), outcome=bindparam("result"))
        .returning(*_COLUMNS)
    )


HAS_SESSION = Statement(select(sessions.c.session_id).where(sessions.c.session_id == bindparam("session")))
# Whoever pushes holds the session's row until the end of its transaction, and so comes before a close or not at all.
NEXT_SEQUENCE_IF_OPEN = Statement(
    update(sessions)
    .where(sessions.c.session_id == bindparam("session"), sessions.c.closed_at.is_(None))
    .values(pending_sequence=sessions.c.pending_sequence + 1)
    .returning(sessions.c.pending_sequence)
)
INSERT = Statement(
    insert(pending_actions).values(
        **{column.name: bindparam(column.name) for column in _COLUMNS},
        updated_at=bindparam("updated_at"),
        claimant="",
        replica_id="",
    )
)
GET = Statement(select(*_COLUMNS).where(_IS_IT))
CLAIMANT = Statement(select(pending_actions.c.claimant, pending_actions.c.replica_id).where(_IS_IT))
LIST = Statement(select(*_COLUMNS).where(_IN_SESSION, _LIVE).order_by(pending_actions.c.sequence.desc()))
TOP = Statement(select(*_COLUMNS).where(_IN_SESSION, _LIVE).order_by(pending_actions.c.sequence.desc()).limit(1))
COUNT = Statement(select(func.count()).select_from(pending_actions).where(_IN_SESSION, _LIVE))
COUNT_EVERY = Statement(
    select(func.count()).select_from(pending_actions).where(IS_PENDING, pending_actions.c.expires_at > bindparam("now"))
)
EACH_OF = Statement(select(pending_actions.c.session_id).where(is_one(pending_actions.c.session_id), _LIVE))
LIST_UNKNOWN = Statement(
    select(*_COLUMNS)
    .where(_IN_SESSION, pending_actions.c.state == PendingState.OUTCOME_UNKNOWN.value)
    .order_by(pending_actions.c.sequence.desc())
)
# One that is being applied still covers what lies below: two applies of one stack never run side by side.
CLAIM = Statement(
    update(pending_actions)
    .where(
        _IS_IT,
        _LIVE,
        ~exists().where(
            _above.c.session_id == pending_actions.c.session_id,
            _above.c.sequence > pending_actions.c.sequence,
            or_(
                _above.c.state == _APPLYING,
                and_(_above.c.state == _PENDING, _above.c.expires_at > bindparam("now")),
            ),
        ),
    )
    .values(
        state=_APPLYING, claimant=bindparam("claimed_by"), replica_id=bindparam("replica"), updated_at=bindparam("now")
    )
    .returning(*_COLUMNS)
)
# Whoever else would end the claim in the same moment waits, or comes first.
HOLD_CLAIM = Statement(
    update(pending_actions)
    .where(
        _IS_IT,
        pending_actions.c.state == _APPLYING,
        pending_actions.c.claimant == bindparam("claimed_by"),
        pending_actions.c.replica_id == bindparam("replica"),
    )
    .values(state=_APPLYING)
)
RELEASE = Statement(
    update(pending_actions)
    .where(_IS_IT, pending_actions.c.state == _APPLYING)
    .values(
        state=_PENDING,
        sequence=bindparam("place"),
        document=bindparam("noted"),
        claimant="",
        replica_id="",
        updated_at=bindparam("now"),
    )
    .returning(*_COLUMNS)
)
MOVE = Statement(
    update(pending_actions)
    .where(_IS_IT, pending_actions.c.state == bindparam("source"))
    .values(state=bindparam("target"), updated_at=bindparam("now"), outcome=bindparam("result"))
    .returning(*_COLUMNS)
)
DISCARD = _end(_IS_IT, pending_actions.c.state == _PENDING, target=PendingState.DISCARDED)
# With whether its session was closed: what was left to others then is not expired but discarded.
DUE = Statement(
    select(*_COLUMNS, sessions.c.closed_at.is_not(None))
    .join(sessions, sessions.c.session_id == pending_actions.c.session_id)
    .where(IS_PENDING, pending_actions.c.expires_at <= bindparam("now"))
)
EXPIRE_SOME = _end(_IS_ONE, pending_actions.c.state == _PENDING, target=PendingState.EXPIRED)
DISCARD_SOME = _end(_IS_ONE, pending_actions.c.state == _PENDING, target=PendingState.DISCARDED)
PENDING_IN = Statement(select(*_COLUMNS).where(_IN_SESSION, pending_actions.c.state == _PENDING))
END_LATER = Statement(
    update(pending_actions)
    .where(_IS_ONE, pending_actions.c.state == _PENDING)
    .values(expires_at=bindparam("now"), updated_at=bindparam("now"))
    .returning(*_COLUMNS)
)
ABANDON = _end(
    IS_APPLYING,
    pending_actions.c.replica_id == bindparam("replica"),
    target=PendingState.OUTCOME_UNKNOWN,
)


def values_of(action: PendingAction) -> dict[str, Any]:
    """The parameters of `INSERT`."""
    columns = {name: getattr(action, name) for name in _COLUMN_NAMES}
    columns["state"] = action.state.value
    return {**columns, "updated_at": action.created_at, "document": document_of(action)}


def document_of(action: PendingAction) -> bytes:
    """What is kept of it besides its columns."""
    return _DOCUMENT.encode(action)


def action_of(row: Row) -> PendingAction:
    """The action in a row of `_COLUMNS`; raises `StoredFormatError`."""
    *columns, document = row
    values = dict(zip(_COLUMN_NAMES, columns, strict=True))
    values["state"] = PendingState(values["state"])
    return _DOCUMENT.decode(document, **values)


def reason_document(reason: str) -> bytes:
    """Why an action ended, as it is kept."""
    return _OUTCOME.encode(_Outcome(reason))
