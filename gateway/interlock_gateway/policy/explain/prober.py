"""Evaluates probes and rules about one input. Only for a process that may hang or die of it."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import regorus

from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.embedded.linking import link
from interlock_gateway.policy.explain.probes import Probes, probes_for, with_probes
from interlock_gateway.policy.explain.rulebook import Definition, Name, Rulebook

_UNDEFINED = '"<undefined>"'


class Missing:
    """What a rule's or a field's value is when there is none."""

    def __bool__(self) -> bool:
        return False


MISSING = Missing()


class Prober:
    """Which conditions hold for one input, and what rules give for it."""

    def __init__(self, book: Rulebook, definitions: Sequence[Definition], input_json: str) -> None:
        self._book = book
        self._known: dict[Name, Any] = {}
        self._data = self._usual_data = _encoded(book.data)
        self._usual_values: dict[Name, Any] = {}
        self._values = self._usual_values
        self._probes = probes_for(book, definitions)
        # Rules by themselves are evaluated beside the probes: with a thousand more rules, all of it takes longer.
        self._plain = _engine(book.bundle, input_json)
        self._engine = _engine(with_probes(book.bundle, list(self._probes.values())), input_json)

    def holds(self, definition: Definition) -> bool:
        """Whether the body holds; a rule without one does where its value is defined."""
        probes = self._probes.get(id(definition))
        if probes is None:
            return not isinstance(self.value(definition.name), Missing)
        return self._ask(definition, probes.whole()) is True

    def failing(self, definition: Definition) -> tuple[int, ...]:
        """Each condition without which the body would hold, by its place; empty when several fail, or none."""
        probes = self._probes.get(id(definition))
        if probes is None or self.holds(definition):
            return ()
        return tuple(index for index in range(len(definition.conditions)) if self._is_the_one(probes, index))

    def holds_alone(self, definition: Definition, index: int) -> bool:
        """Whether a condition holds, whatever else the body says but what binds its variables."""
        probes = self._probes.get(id(definition))
        return probes is not None and self._ask(definition, probes.alone(index)) is True

    def bindings(self, definition: Definition, index: int) -> list[Mapping[str, Any]]:
        """What the variables of a failing condition were, each time that everything else held."""
        return self._set(definition, "bound", index)

    def elements(self, definition: Definition, index: int) -> list[Any]:
        """The elements for which an `every` does not hold."""
        return self._set(definition, "elements", index)

    def value(self, name: Name) -> Any:
        """The value of a rule, `MISSING` when it is undefined or cannot be told."""
        if name not in self._values:
            self._values[name] = _value(self._plain, name)
        return self._values[name]

    def replace_data(self, data: Mapping[str, Any]) -> None:
        """Evaluate rules with other data from now on; what probes say stays."""
        encoded = _encoded(data)
        if encoded == self._data:
            return
        self._plain.clear_data()
        self._plain.add_data_json(encoded)
        self._data = encoded
        self._values = self._usual_values if encoded == self._usual_data else {}

    def _is_the_one(self, probes: Probes, index: int) -> bool:
        if self._ask(probes.definition, probes.without(index)) is not True:
            return False
        return not (probes.binds(index) and self._ask(probes.definition, probes.up_to(index)) is True)

    def _set(self, definition: Definition, kind: str, index: int) -> list[Any]:
        probes = self._probes.get(id(definition))
        if probes is None:
            return []
        found = self._ask(definition, getattr(probes, kind)(index))
        return found if isinstance(found, list) else []

    def _ask(self, definition: Definition, rule: str) -> Any:
        name = (*definition.file.package, rule)
        if name not in self._known:
            self._known[name] = _value(self._engine, name)
        return self._known[name]


def _encoded(data: Mapping[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=False)


def _engine(bundle: PolicyBundle, input_json: str) -> "regorus.Engine":
    engine = regorus.Engine()
    for module in link(bundle.modules):
        engine.add_policy(module.package, module.source)
    engine.add_data_json(bundle.data_json)
    engine.set_input_json(input_json)
    return engine


def _value(engine: "regorus.Engine", name: Name) -> Any:
    try:
        answer = engine.eval_rule_as_json(f"data.{'.'.join(name)}")
    except RuntimeError:
        return MISSING
    return MISSING if answer == _UNDEFINED else json.loads(answer)
