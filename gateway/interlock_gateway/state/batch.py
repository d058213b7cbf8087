"""How a lane runs what waits: writes in one transaction (group commit) or each in its own, and reads."""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from interlock_gateway.pipeline.ports import StateUnavailableError
from interlock_gateway.state.transaction import DatabaseFailedError, Link, LinkLostError, LostRaceError, RowBusyError

# Of the transactions that race for one row one wins each time, and no replica has more of them than lanes.
TRIES = 20
_PAUSE_S = 0.002

T = TypeVar("T")
Work: TypeAlias = Callable[[Link], T]


@dataclass(frozen=True, slots=True)
class Done:
    """A function returned `value`."""

    value: Any


@dataclass(frozen=True, slots=True)
class Failed:
    """A function raised `error`, and nothing it did was kept."""

    error: Exception


Outcome: TypeAlias = Done | Failed


def write_together(link: Link, works: Sequence[Work[Any]]) -> list[Outcome]:
    """Run `works` in one transaction and commit once; one that raises is undone alone.

    Raises `DatabaseFailedError` when the database fails; then nothing of any was kept, as far as can be known.
    """
    link.begin()
    if len(works) == 1:
        outcome = _attempt(link, works[0])
        if isinstance(outcome, Failed):
            link.roll_back()
        else:
            link.commit()
        return [outcome]
    outcomes = [_attempt_marked(link, work) for work in works]
    link.commit()
    return outcomes


def write_each(link: Link, works: Sequence[Work[Any]]) -> list[Outcome]:
    """Run each of `works` in a transaction of its own, again when another one came first.

    Raises `DatabaseFailedError` when the database fails; with several works, what came before is kept.
    """
    return [_write_alone(link, work) for work in works]


def _write_alone(link: Link, work: Work[Any]) -> Outcome:
    for attempt in range(TRIES):
        if attempt:
            time.sleep(random.uniform(0, _PAUSE_S * min(attempt, 10)))  # noqa: S311 - keeps racers from meeting again
        try:
            link.begin()
            outcome = _attempt(link, work)
            if isinstance(outcome, Failed):
                link.roll_back()
            else:
                link.commit()
        except LostRaceError:
            link.roll_back()
        except RowBusyError as error:
            link.roll_back()
            return Failed(_unavailable("a row was held by others for too long", error))
        else:
            return outcome
    return Failed(_unavailable("too many others are writing the same rows", None))


def _unavailable(words: str, cause: Exception | None) -> StateUnavailableError:
    error = StateUnavailableError(words)
    error.__cause__ = cause
    return error


def read_each(link: Link, works: Sequence[Work[Any]]) -> list[Outcome]:
    """Run `works`, each on what is committed when it runs. Raises `DatabaseFailedError`."""
    return [_read(link, work) for work in works]


def _read(link: Link, work: Work[Any]) -> Outcome:
    try:
        return _attempt(link, work)
    except DatabaseFailedError as error:
        if link.lost:
            raise LinkLostError(str(error)) from error
        raise
    except (LostRaceError, RowBusyError) as error:
        return Failed(_unavailable("the database took too long to answer", error))


def _attempt(link: Link, work: Work[Any]) -> Outcome:
    try:
        return Done(work(link))
    except (DatabaseFailedError, LostRaceError, RowBusyError):
        raise
    except Exception as error:  # noqa: BLE001 - whatever a function raises is for its caller, not for this thread
        return Failed(error)


def _attempt_marked(link: Link, work: Work[Any]) -> Outcome:
    link.mark()
    outcome = _attempt(link, work)
    if isinstance(outcome, Failed):
        link.return_to_mark()
    else:
        link.forget_mark()
    return outcome
