"""The statements on artifacts (ART-4)."""

from typing import Any

from sqlalchemy import Select, bindparam, delete, exists, func, literal_column, or_, select, update

from interlock_gateway.core.checkpoint import CheckpointState
from interlock_gateway.core.pending import PendingState
from interlock_gateway.state.schema import (
    HOLDS_ARTIFACTS,
    IS_BEING_REMOVED,
    IS_REMOVED,
    MAY_GO,
    artifact_errands,
    artifact_sessions,
    artifacts,
    checkpoints,
    pending_actions,
    sessions,
)
from interlock_gateway.state.transaction import Statement

KEPT, REMOVING, REMOVED = "kept", "removing", "removed"
_IS_IT = artifacts.c.name == bindparam("of_name")
_IS_KEPT = artifacts.c.state == KEPT

FIND = Statement(
    select(
        artifacts.c.state,
        artifacts.c.size,
        artifacts.c.reason,
        artifacts.c.claimed_until,
        artifacts.c.removed_at,
    ).where(_IS_IT)
)
# What is there is left as it is: whoever adopts may meet one who stores.
ENTER = Statement(
    lambda insert: (
        insert(artifacts)
        .values(
            name=bindparam("name"),
            session_id=bindparam("session"),
            size=bindparam("size"),
            stored_at=bindparam("now"),
            state=KEPT,
            released=bindparam("released"),
            claimant="",
            reason="",
            owner=bindparam("owner"),
        )
        .on_conflict_do_nothing()
    )
)
REENTER = Statement(
    update(artifacts)
    .where(_IS_IT)
    .values(
        size=bindparam("size"),
        stored_at=bindparam("now"),
        state=KEPT,
        released=bindparam("released"),
        claimant="",
        reason="",
        claimed_until=None,
        removed_at=None,
    )
)
RENEW = Statement(update(artifacts).where(_IS_IT, _IS_KEPT).values(stored_at=bindparam("now")))
WITHDRAW = Statement(
    update(artifacts)
    .where(_IS_IT, _IS_KEPT, artifacts.c.stored_at == bindparam("stored"))
    .values(state=REMOVING, size=0, claimant="", claimed_until=bindparam("now"), reason="failed")
)

SESSION = Statement(select(sessions.c.owner, sessions.c.closed_at).where(sessions.c.session_id == bindparam("session")))
RELEASE = Statement(
    update(artifacts)
    .where(artifacts.c.session_id == bindparam("session"), artifacts.c.released == 0)
    .values(released=1)
)
HOLD = Statement(
    update(artifacts)
    .where(artifacts.c.session_id == bindparam("session"), artifacts.c.released == 1)
    .values(released=0)
)
_OF_SESSION = artifact_sessions.c.session_id == bindparam("session")
IS_RELEASED = Statement(select(artifact_sessions.c.released).where(_OF_SESSION))
# Meets whoever enters an artifact of the session at the same time: of the two one comes first.
SET_RELEASED = Statement(update(artifact_sessions).where(_OF_SESSION).values(released=bindparam("now_released")))
STORED = Statement(update(artifact_sessions).where(_OF_SESSION).values(stored_at=bindparam("now")))
IDLE = Statement(
    select(artifact_sessions.c.session_id)
    .where(HOLDS_ARTIFACTS, artifact_sessions.c.stored_at <= bindparam("before"))
    .order_by(artifact_sessions.c.stored_at)
    .limit(bindparam("limit"))
)

_ROOM = artifact_sessions.c.size + bindparam("more") <= bindparam("most")
CHARGE = Statement(
    lambda insert: (
        insert(artifact_sessions)
        .values(
            session_id=bindparam("session"),
            count=bindparam("ones"),
            size=bindparam("more"),
            stored_at=bindparam("now"),
            released=bindparam("released"),
            owner=bindparam("owner"),
        )
        .on_conflict_do_update(
            index_elements=["session_id"],
            set_={
                "count": artifact_sessions.c.count + bindparam("ones"),
                "size": artifact_sessions.c.size + bindparam("more"),
                "stored_at": bindparam("now"),
                "owner": bindparam("owner"),
            },
            where=_ROOM,
        )
    )
)
UNCHARGE = Statement(
    update(artifact_sessions)
    .where(artifact_sessions.c.session_id == bindparam("session"))
    .values(count=artifact_sessions.c.count - bindparam("ones"), size=artifact_sessions.c.size - bindparam("less"))
)
FORGET_SESSION = Statement(
    delete(artifact_sessions).where(
        artifact_sessions.c.session_id == bindparam("session"), artifact_sessions.c.count <= 0
    )
)
# Looks at every session that has artifacts: asked about once a minute, and never by a call.
USAGE = Statement(
    select(artifact_sessions.c.owner, func.sum(artifact_sessions.c.count), func.sum(artifact_sessions.c.size)).group_by(
        artifact_sessions.c.owner
    )
)

_is_pending = exists().where(
    pending_actions.c.session_id == artifacts.c.session_id,
    pending_actions.c.state.in_(
        [
            literal_column(f"'{state.value}'")
            for state in (PendingState.PENDING, PendingState.APPLYING, PendingState.OUTCOME_UNKNOWN)
        ]
    ),
)
_is_asked_about = exists().where(
    checkpoints.c.session_id == artifacts.c.session_id,
    checkpoints.c.state.in_(
        [literal_column(f"'{state.value}'") for state in (CheckpointState.OPEN, CheckpointState.APPROVED)]
    ),
)


def _in_order(*conditions: Any) -> Select[*tuple[Any, ...]]:
    return (
        select(
            artifacts.c.name,
            artifacts.c.size,
            artifacts.c.stored_at,
            _is_pending.label("is_pending"),
            _is_asked_about.label("is_asked_about"),
        )
        .where(MAY_GO, artifacts.c.stored_at <= bindparam("before"), *conditions)
        .order_by(artifacts.c.stored_at, artifacts.c.name)
        .limit(bindparam("limit"))
    )


_BEHIND = (
    artifacts.c.stored_at >= bindparam("after_time"),
    or_(artifacts.c.stored_at > bindparam("after_time"), artifacts.c.name > bindparam("after_name")),
)
_IS_OWNERS = artifacts.c.owner == bindparam("of_owner")
OLDEST = Statement(_in_order())
OLDEST_BEHIND = Statement(_in_order(*_BEHIND))
OLDEST_OF_OWNER = Statement(_in_order(_IS_OWNERS))
OLDEST_OF_OWNER_BEHIND = Statement(_in_order(_IS_OWNERS, *_BEHIND))
CLAIM = Statement(
    update(artifacts)
    .where(_IS_IT, MAY_GO, artifacts.c.stored_at == bindparam("stored"))
    .values(state=REMOVING, claimant=bindparam("who"), claimed_until=bindparam("until"), reason=bindparam("why"))
)
LEFT = Statement(
    select(artifacts.c.name, artifacts.c.size, artifacts.c.reason)
    .where(IS_BEING_REMOVED, artifacts.c.claimed_until <= bindparam("now"))
    .order_by(artifacts.c.claimed_until)
    .limit(bindparam("limit"))
)
RECLAIM = Statement(
    update(artifacts)
    .where(_IS_IT, IS_BEING_REMOVED, artifacts.c.claimed_until <= bindparam("now"))
    .values(claimant=bindparam("who"), claimed_until=bindparam("until"))
)
_IS_HIS = (_IS_IT, IS_BEING_REMOVED, artifacts.c.claimant == bindparam("who"))
CLAIMED = Statement(select(artifacts.c.session_id, artifacts.c.size, artifacts.c.reason).where(*_IS_HIS))
REMOVE = Statement(
    update(artifacts)
    .where(*_IS_HIS)
    .values(state=REMOVED, claimant="", claimed_until=None, removed_at=bindparam("now"))
)
DROP = Statement(delete(artifacts).where(*_IS_HIS))
REMOVED_LONG_AGO = Statement(
    select(artifacts.c.name)
    .where(IS_REMOVED, artifacts.c.removed_at <= bindparam("before"))
    .order_by(artifacts.c.removed_at)
    .limit(bindparam("limit"))
)
FORGET = Statement(delete(artifacts).where(_IS_IT, IS_REMOVED))

CLOSED_AMONG = Statement(
    select(artifact_sessions.c.session_id, sessions.c.closed_at)
    .join(sessions, sessions.c.session_id == artifact_sessions.c.session_id)
    .where(artifact_sessions.c.session_id > bindparam("after"))
    .order_by(artifact_sessions.c.session_id)
    .limit(bindparam("limit"))
)

_MAY_BEGIN = (artifact_errands.c.claimed_until <= bindparam("now")) & or_(
    artifact_errands.c.begun_at <= bindparam("since"), artifact_errands.c.begun_at > bindparam("now")
)
TAKE_TURN = Statement(
    lambda insert: (
        insert(artifact_errands)
        .values(
            errand=bindparam("errand"),
            claimant=bindparam("who"),
            claimed_until=bindparam("until"),
            begun_at=bindparam("now"),
        )
        .on_conflict_do_update(
            index_elements=["errand"],
            set_={
                "claimant": bindparam("who"),
                "claimed_until": bindparam("until"),
                "begun_at": bindparam("now"),
            },
            where=_MAY_BEGIN,
        )
    )
)
_HIS_ERRAND = (artifact_errands.c.errand == bindparam("of_errand"), artifact_errands.c.claimant == bindparam("who"))
# One that failed is tried again as soon as somebody looks.
END_TURN = Statement(update(artifact_errands).where(*_HIS_ERRAND).values(claimed_until=0.0, begun_at=0.0, claimant=""))
END_TURN_WELL = Statement(
    update(artifact_errands).where(*_HIS_ERRAND).values(claimed_until=0.0, claimant="", done_at=bindparam("now"))
)
LAST_DONE = Statement(select(artifact_errands.c.done_at).where(artifact_errands.c.errand == bindparam("of_errand")))
