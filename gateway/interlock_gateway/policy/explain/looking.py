"""What conditions look at: the values of the fields, settings and rules that they name, for one input."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from interlock_gateway.policy.checks.program import holds_findings
from interlock_gateway.policy.checks.syntax import Reference, nodes, reference, references
from interlock_gateway.policy.explain.bodies import Condition
from interlock_gateway.policy.explain.nearness import Failing
from interlock_gateway.policy.explain.prober import MISSING, Missing, Prober
from interlock_gateway.policy.explain.rulebook import Definition, Name, Rulebook

SETTINGS = ("interlock", "settings")
DEEPEST = 4


@dataclass(frozen=True, slots=True)
class Looked:
    """Something a condition names, and its value; `MISSING` when there is none.

    Of a variable that had several it is the first, and `others` says how many more; `fails` that it is an element for
    which an `every` does not hold.
    """

    name: str
    value: Any
    others: int = 0
    fails: bool = False

    def as_json(self) -> dict[str, Any]:
        """For programs: `value` is absent when there is none."""
        said: dict[str, Any] = {"name": self.name, "fails": self.fails, "others": self.others}
        return said if isinstance(self.value, Missing) else {**said, "value": self.value}


class Looking:
    """Looks values up as the policies saw them."""

    def __init__(self, book: Rulebook, prober: Prober, document: Mapping[str, Any]) -> None:
        self._book = book
        self._prober = prober
        self._document = document
        self._trees: dict[int, Sequence[tuple[Reference, Name | None]]] = {}

    def values(self, failing: Failing) -> tuple[Looked, ...]:
        """The values of everything that a failing condition looks at, the most telling first."""
        found = [*self._variables(failing), *self._named(failing.definition, failing.condition, DEEPEST, set())]
        return tuple({one.name: one for one in reversed(found)}.values())[::-1]

    def settings(self, definitions: Sequence[Definition]) -> frozenset[Name]:
        """The settings that rules read, themselves or through others: `concern.name` as a path."""
        return self._settings(definitions, [one.rule.node for one in definitions])

    def gate_settings(self, gates: Sequence[tuple[Definition, Condition]]) -> frozenset[Name]:
        """The settings that single conditions read."""
        return self._settings([gate for gate, _ in gates], [condition.node for _, condition in gates])

    def expression(self, definition: Definition, node: Any) -> Any:
        """The value of an expression that is a reference; `MISSING` for any other, or when there is none."""
        found = reference(node)
        if found is None:
            return MISSING
        resolved = self._book.resolve(definition.file, found)
        if resolved.base != "data" or None in resolved.parts:
            return MISSING
        name = self._book.rule_of(resolved)
        return self._prober.value(name) if name is not None else _at(self._book.data, resolved.literal)

    def _settings(self, definitions: Sequence[Definition], trees: Sequence[Any]) -> frozenset[Name]:
        seen: set[Name] = set()
        found: set[Name] = set()
        waiting = list(zip(definitions, trees, strict=True))
        while waiting:
            definition, tree = waiting.pop()
            for resolved, name in self._referred(definition, tree):
                if resolved.base == "data" and resolved.literal[:2] == SETTINGS:
                    found.add(resolved.literal[2:4])
                elif name is not None and name not in seen and not holds_findings(name[-1]):
                    # What a rule reads of other rules' findings they have read, and say themselves.
                    seen.add(name)
                    waiting += [(other, other.rule.node) for other in self._book.definitions[name]]
        return frozenset(path for path in found if path)

    def _referred(self, definition: Definition, tree: Any) -> Sequence[tuple[Reference, Name | None]]:
        """What a part of a definition refers to, and the rules that this leads to."""
        if id(tree) not in self._trees:
            resolved = [self._book.resolve(definition.file, one) for one in (*references(tree), *_functions(tree))]
            self._trees[id(tree)] = [(one, self._book.rule_of(one)) for one in resolved]
        return self._trees[id(tree)]

    def _variables(self, failing: Failing) -> Iterator[Looked]:
        every = failing.condition.every
        if every is not None:
            elements = self._prober.elements(failing.definition, failing.index)
            yield from (Looked("an element", value, len(elements) - 1, fails=True) for value in elements[:1])
        found: dict[str, list[Any]] = {}
        for bound in self._prober.bindings(failing.definition, failing.index):
            for name, value in bound.items():
                known = found.setdefault(name, [])
                if value not in known:
                    known.append(value)
        yield from (Looked(name, values[0], len(values) - 1) for name, values in sorted(found.items()))

    def _named(self, definition: Definition, condition: Condition, depth: int, seen: set[Name]) -> Iterator[Looked]:
        for one in references(condition.node):
            resolved = self._book.resolve(definition.file, one)
            if resolved.base == "input":
                yield Looked(_written("input", resolved.literal), _at(self._document, resolved.literal))
            elif resolved.base == "data" and resolved.literal[:2] == SETTINGS:
                yield Looked(".".join(resolved.literal), _at(self._book.data, resolved.literal))
            elif resolved.base == "data":
                yield from self._rule(resolved, depth, seen)

    def _rule(self, resolved: Reference, depth: int, seen: set[Name]) -> Iterator[Looked]:
        name = self._book.rule_of(resolved)
        if name is None or name in seen or any(one.rule.kind == "function" for one in self._book.definitions[name]):
            return
        seen.add(name)
        value = self._prober.value(name)
        is_condition = value is True or value is False or isinstance(value, Missing)
        if not is_condition:
            yield Looked(name[-1], value)
        if depth == 0:
            return
        for definition in self._book.definitions[name]:
            holds = self._prober.holds(definition)
            for condition in definition.conditions:
                # Of a rule with several ways to hold, those that do are why it does.
                if holds or value is not True:
                    yield from self._named(definition, condition, depth - 1, seen)


def _functions(tree: Any) -> Iterator[Reference]:
    for call in nodes(tree, "Call"):
        found = reference(call["fcn"])
        if found is not None:
            yield found


def _at(node: Any, parts: Sequence[str]) -> Any:
    for part in parts:
        if not isinstance(node, Mapping) or part not in node:
            return MISSING
        node = node[part]
    return node


def _written(base: str, parts: Sequence[str]) -> str:
    return base + "".join(f".{part}" if part.isidentifier() else f"[{json.dumps(part)}]" for part in parts)
