"""The rows of calls that wait for a person: how they begin to wait, go on, and end (CHK-4, CHK-9)."""

from sqlalchemy import bindparam, update

from interlock_gateway.core.call import CALL_MACHINE, CallState
from interlock_gateway.core.change import Topic
from interlock_gateway.pipeline.ports import CallRecord
from interlock_gateway.state.call_store import find_call, insert_call
from interlock_gateway.state.schema import calls
from interlock_gateway.state.transaction import Link, Statement

__all__ = ["begin_waiting", "find_call", "hold_waiting", "keep_waiting", "settle_waiting"]

_WAITING = (
    calls.c.session_id == bindparam("session"),
    calls.c.call_id == bindparam("call"),
    calls.c.request_digest == bindparam("request"),
    calls.c.state == CallState.AWAITING_CHECKPOINT.value,
)
_HOLD = Statement(update(calls).where(*_WAITING).values(updated_at=bindparam("now")))
_MOVE = Statement(
    update(calls)
    .where(*_WAITING)
    .values(
        state=bindparam("target"),
        status=bindparam("new_status"),
        result=bindparam("answer"),
        updated_at=bindparam("now"),
    )
)


def keep_waiting(link: Link, record: CallRecord) -> bool:
    """Keep the record of a call that begins to wait; false when its id was used before."""
    CALL_MACHINE.step(CallState.DECIDED, record.state)
    return insert_call(link, record)


def hold_waiting(link: Link, record: CallRecord, now: float) -> bool:
    """Whether the call waits; nobody else can take it on until this transaction ends."""
    return bool(link.change(_HOLD, **_key(record), now=now))


def begin_waiting(link: Link, record: CallRecord, now: float) -> None:
    """Waiting → dispatching, by way of the second decision (CHK-5)."""
    CALL_MACHINE.step(CALL_MACHINE.step(CallState.AWAITING_CHECKPOINT, CallState.DECIDED), CallState.DISPATCHING)
    target = CallState.DISPATCHING.value
    link.change(_MOVE, **_key(record), target=target, new_status=None, answer=None, now=now)
    link.announce(Topic.CALL, record.session_id, record.call_id)


def settle_waiting(link: Link, record: CallRecord) -> bool:
    """Put `record` in the place of the waiting one; false when the call does not wait any more."""
    CALL_MACHINE.step(CallState.AWAITING_CHECKPOINT, record.state)
    settled = link.change(
        _MOVE,
        **_key(record),
        target=record.state.value,
        new_status=record.status and record.status.value,
        answer=record.result,
        now=record.updated_at,
    )
    if settled:
        link.announce(Topic.CALL, record.session_id, record.call_id)
    return bool(settled)


def _key(record: CallRecord) -> dict[str, str]:
    return {"session": record.session_id, "call": record.call_id, "request": record.request_digest}
