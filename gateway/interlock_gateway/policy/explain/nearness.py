"""Which rules fired, and which would have but for one condition, told by evaluating them without it."""

from collections.abc import Iterator
from dataclasses import dataclass

from interlock_gateway.policy.explain.bodies import Condition
from interlock_gateway.policy.explain.prober import Prober
from interlock_gateway.policy.explain.rulebook import Definition, Rulebook

# How far a condition that is another rule's name is followed.
DEEPEST = 6


@dataclass(frozen=True, slots=True)
class Failing:
    """The one condition that fails, and where: `definition.conditions[index]`.

    `via` are the conditions that led there, outermost first: names of rules that fail because it does.
    """

    definition: Definition
    index: int
    via: tuple[str, ...] = ()

    @property
    def condition(self) -> Condition:
        """The condition."""
        return self.definition.conditions[self.index]


@dataclass(frozen=True, slots=True)
class Near:
    """A rule that did not fire: any one of `failing`, were it otherwise, would have made it. `held` conditions did."""

    definition: Definition
    failing: tuple[Failing, ...]
    held: int


class Nearness:
    """Tells rules that fired from those that nearly did and those that have nothing to do with a call."""

    def __init__(self, book: Rulebook, prober: Prober) -> None:
        self._book = book
        self._prober = prober

    def fired(self) -> Iterator[Definition]:
        """The findings' rules whose body holds and that were asked."""
        for definition in self._book.findings:
            if self._prober.holds(definition) and not any(True for _ in self._closed_gates(definition)):
                yield definition

    def near(self) -> Iterator[Near]:
        """The findings' rules that one condition kept from firing, of which at least one other held."""
        for definition in self._book.findings:
            found = self._near(definition)
            if found is not None and found.failing and found.held:
                yield found

    def _near(self, definition: Definition) -> Near | None:
        closed = list(self._closed_gates(definition))
        if not closed:
            return None if self._prober.holds(definition) else self._unsatisfied(definition, (), 0)
        if len(closed) > 1 or not self._prober.holds(definition):
            return None
        gate, index = closed[0]
        failing, held = self._followed(Failing(gate, index), 0)
        # Of a rule that is not asked about such calls, one condition that holds says little.
        return Near(definition, failing, held + len(definition.conditions) - 1)

    def _closed_gates(self, definition: Definition) -> Iterator[tuple[Definition, int]]:
        for gate, condition in self._book.gates(definition):
            index = gate.conditions.index(condition)
            if not self._prober.holds_alone(gate, index):
                yield gate, index

    def _unsatisfied(self, definition: Definition, via: tuple[str, ...], depth: int) -> Near:
        """Why a body does not hold; no `failing` when that takes more than one condition."""
        found: list[Failing] = []
        held = len(definition.conditions) - 1
        deeper = 0
        for index in self._prober.failing(definition):
            failing, inside = self._followed(Failing(definition, index, via), depth)
            found += failing
            deeper = max(deeper, inside)
        return Near(definition, tuple(found), held + deeper)

    def _followed(self, failing: Failing, depth: int) -> tuple[tuple[Failing, ...], int]:
        """What fails inside the rule that a failing condition names, and how much in it held."""
        condition = failing.condition
        helper = self._book.helper(failing.definition, condition)
        if helper is None or condition.is_negated or depth >= DEEPEST:
            return (failing,), 0
        bodies = [one for one in self._book.definitions[helper] if one.conditions]
        if not bodies:
            return (failing,), 0
        inside = [self._unsatisfied(one, (*failing.via, condition.text), depth + 1) for one in bodies]
        return tuple(one for near in inside for one in near.failing), max(near.held for near in inside)
