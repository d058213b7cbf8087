"""A state machine as a table: the one place where a transition is allowed or refused."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Generic, TypeVar

StateT = TypeVar("StateT", bound=StrEnum)


class UnknownTransitionError(Exception):
    """A transition that the table does not hold was asked for."""


class StateMachine(Generic[StateT]):
    """The transitions of one kind of thing; `step` is the only way from one state to the next."""

    __slots__ = ("_table", "name")

    def __init__(self, name: str, table: Mapping[StateT, frozenset[StateT]]) -> None:
        self.name = name
        self._table = dict(table)

    def step(self, current: StateT, target: StateT) -> StateT:
        """Return `target`, or raise `UnknownTransitionError` when the table has no such transition."""
        if target not in self._table.get(current, frozenset()):
            raise UnknownTransitionError(f"{self.name}: {current.value} -> {target.value} is not a transition")
        return target

    def sources_of(self, target: StateT) -> frozenset[StateT]:
        """The states from which `target` can be reached in one step."""
        return frozenset(state for state, targets in self._table.items() if target in targets)

    def is_final(self, state: StateT) -> bool:
        """Whether nothing follows `state`."""
        return not self._table.get(state)
