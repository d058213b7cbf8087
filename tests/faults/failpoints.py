"""
Named failpoints: where, in the life of a call, a gateway is killed or paused (REL-4).

The gateway has none. They are put around its own functions from here, before it starts, by `serve_to_be_killed.py`:
what people install cannot be told to fail, by no setting and over no wire (decision 0054). A function that is not there
any more under its name is an error, and each failpoint is held to be reached by `test_crashes.py`.
"""

import functools
import inspect
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from interlock_gateway.artifacts.store import ArtifactStore
from interlock_gateway.audit.recorder import AuditRecorder
from interlock_gateway.audit.segments import SegmentFile
from interlock_gateway.core.call import CallKind
from interlock_gateway.pipeline.core import CallPipeline
from interlock_gateway.pipeline.dispatch import Dispatcher
from interlock_gateway.state.call_store import Calls
from interlock_gateway.state.checkpoint_store import Checkpoints
from interlock_gateway.state.pending_store import PendingActions
from interlock_gateway.state.transaction import Link

Which = Callable[..., bool]


class Moment(StrEnum):
    """When, around the function."""

    BEFORE = "before"
    AFTER = "after"
    HALFWAY = "halfway"
    """For what is written with one call: with half of it written."""


class Action(StrEnum):
    """What happens there: the process ends, as when a machine fails; it stops until somebody continues it; nothing."""

    KILL = "kill"
    PAUSE = "pause"
    NOTE = "note"


EVERY = "every"
"""In the place of a failpoint's name: all of them at once."""


def _any(*_arguments: Any, **_named: Any) -> bool:
    return True


def _changes(_self: object, run: Any) -> bool:
    return not run.read_only


def _undoes(_self: object, _record: object, operation: Any, **_more: object) -> bool:
    return bool(operation.undoes)


def _has_undone(_self: object, *_arguments: object, **named: Any) -> bool:
    return named.get("undid") is not None


def _intends_an_undo(_self: object, run: Any) -> bool:
    return run.kind is CallKind.UNDO


@dataclass(frozen=True, slots=True)
class Failpoint:
    """A moment around one of the gateway's functions, for those of its calls that `only` is about."""

    owner: type
    method: str
    moment: Moment
    only: Which = _any


BEFORE, AFTER, HALFWAY = Moment.BEFORE, Moment.AFTER, Moment.HALFWAY

FAILPOINTS = {
    "before the journal has the intent": Failpoint(Calls, "begin_call", BEFORE),
    "after the journal has the intent": Failpoint(Calls, "begin_call", AFTER),
    "before the audit has the intent": Failpoint(AuditRecorder, "intend", BEFORE),
    "after the audit has the intent": Failpoint(AuditRecorder, "intend", AFTER),
    "before dispatch": Failpoint(Dispatcher, "send", BEFORE, _changes),
    "after dispatch, outcome not written": Failpoint(Dispatcher, "send", AFTER, _changes),
    "before the outcome is written": Failpoint(Calls, "finish_call", BEFORE),
    "after the outcome is written": Failpoint(Calls, "finish_call", AFTER),
    "before the receipt is written": Failpoint(AuditRecorder, "settle", BEFORE),
    "after the receipt is written": Failpoint(AuditRecorder, "settle", AFTER),
    "preview kept, not answered": Failpoint(PendingActions, "push_pending", AFTER),
    "apply claimed": Failpoint(PendingActions, "claim_pending", AFTER),
    "applied, not settled": Failpoint(PendingActions, "finish_pending", BEFORE),
    "undo claimed": Failpoint(Calls, "begin_call", AFTER, _undoes),
    "undo claimed, its intent on its way to the audit": Failpoint(AuditRecorder, "intend", BEFORE, _intends_an_undo),
    "compensated, not settled": Failpoint(Calls, "finish_call", BEFORE, _has_undone),
    "undone, not answered": Failpoint(Calls, "finish_call", AFTER, _has_undone),
    "before the checkpoint is kept": Failpoint(Checkpoints, "open_checkpoint", BEFORE),
    "checkpoint opened": Failpoint(Checkpoints, "open_checkpoint", AFTER),
    "before the approval is kept": Failpoint(Checkpoints, "answer_checkpoint", BEFORE),
    "checkpoint approved, not answered": Failpoint(Checkpoints, "answer_checkpoint", AFTER),
    "before the approval is used": Failpoint(Checkpoints, "begin_approved", BEFORE),
    "approval used, nothing sent": Failpoint(Checkpoints, "begin_approved", AFTER),
    "artifact stored, call not ended": Failpoint(ArtifactStore, "put", AFTER),
    "answer made, not sent": Failpoint(CallPipeline, "handle", AFTER),
    "before a transaction is committed": Failpoint(Link, "commit", BEFORE),
    "after a transaction is committed, nobody told": Failpoint(Link, "commit", AFTER),
    "receipts half written": Failpoint(SegmentFile, "append", HALFWAY),
    "receipts written, nobody told": Failpoint(SegmentFile, "append", AFTER),
}


def arm(name: str, hit: Callable[[], None]) -> None:
    """Have `hit` called each time that the failpoint is reached. Raises `KeyError` when its function is gone."""
    point = FAILPOINTS[name]
    original = point.owner.__dict__[point.method]
    wrap = _around_coroutine if inspect.iscoroutinefunction(original) else _around
    setattr(point.owner, point.method, functools.wraps(original)(wrap(point, original, hit)))


def at(count: int, action: Action, tell: Callable[[], None], armed: Callable[[], bool]) -> Callable[[], None]:
    """Do `action` the `count`-th time that it is reached while `armed`, after `tell`."""
    hits = 0

    def hit() -> None:
        nonlocal hits
        hits += armed()
        if hits == count:
            hits += 1
            tell()
            if action is not Action.NOTE:
                os.kill(os.getpid(), signal.SIGKILL if action is Action.KILL else signal.SIGSTOP)

    return hit


def _around_coroutine(point: Failpoint, original: Any, hit: Callable[[], None]) -> Any:
    async def wrapped(*arguments: Any, **named: Any) -> Any:
        it = point.only(*arguments, **named)
        if it and point.moment is BEFORE:
            hit()
        answer = await original(*arguments, **named)
        if it and point.moment is AFTER:
            hit()
        return answer

    return wrapped


def _around(point: Failpoint, original: Any, hit: Callable[[], None]) -> Any:
    def wrapped(itself: Any, *arguments: Any) -> Any:
        if point.moment is HALFWAY:
            return _by_halves(itself, original, arguments[0], hit)
        if point.moment is BEFORE:
            hit()
        answer = original(itself, *arguments)
        if point.moment is AFTER:
            hit()
        return answer

    return wrapped


def _by_halves(file: Any, write: Any, data: bytes, hit: Callable[[], None]) -> None:
    middle = len(data) // 2
    write(file, data[:middle])
    hit()
    write(file, data[middle:])
