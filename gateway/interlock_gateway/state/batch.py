"""How a lane runs what waits: writes together in one transaction (group commit), reads one by one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from interlock_gateway.state.transaction import DatabaseFailedError, Link

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


def read_each(link: Link, works: Sequence[Work[Any]]) -> list[Outcome]:
    """Run `works`, each on what is committed when it runs. Raises `DatabaseFailedError`."""
    return [_attempt(link, work) for work in works]


def _attempt(link: Link, work: Work[Any]) -> Outcome:
    try:
        return Done(work(link))
    except DatabaseFailedError:
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
