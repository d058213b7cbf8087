"""The rules of a set of policies by name, as an explanation needs them: where each is, and what it is asked behind."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.checks.metadata import metadata_above
from interlock_gateway.policy.checks.program import contributes, holds_findings, is_collected
from interlock_gateway.policy.checks.rules import expected_rule_name
from interlock_gateway.policy.checks.syntax import Reference, RegoFile, Rule, literal, parse, reference, references
from interlock_gateway.policy.explain.bodies import Condition, conditions

Name = tuple[str, ...]
_ROOTS = frozenset({"input", "data"})


@dataclass(frozen=True)
class Definition:
    """One way for a rule to hold: a body of it, or a rule without one, which has no conditions."""

    file: RegoFile
    rule: Rule
    conditions: tuple[Condition, ...]
    is_else: bool = False

    @property
    def name(self) -> Name:
        """The rule's full name."""
        return (*self.file.package, self.rule.name)

    @property
    def place(self) -> str:
        """Where it begins, `file:line`."""
        return f"{self.file.path}:{self.rule.line}"

    @property
    def head(self) -> Any:
        """The rule's head, whatever its form."""
        return next(iter(self.rule.node.get("Spec", {}).get("head", {"": {}}).values()))


class Rulebook:
    """Everything about a bundle's rules that can be known without evaluating them."""

    def __init__(self, bundle: PolicyBundle) -> None:
        self.bundle = bundle
        self.data: Mapping[str, Any] = json.loads(bundle.data_json)
        read = (parse(path, source) for path, source in bundle.modules)
        self.files = tuple(file for file in read if isinstance(file, RegoFile))

    @cached_property
    def definitions(self) -> Mapping[Name, tuple[Definition, ...]]:
        """All definitions of each rule by its full name, in order."""
        found: dict[Name, list[Definition]] = {}
        for file in self.files:
            for rule in file.rules:
                found.setdefault((*file.package, rule.name), []).extend(_definitions(file, rule))
        return {name: tuple(definitions) for name, definitions in found.items()}

    @cached_property
    def findings(self) -> tuple[Definition, ...]:
        """Every rule that can add a finding to the decision."""
        return tuple(
            one
            for definitions in self.definitions.values()
            for one in definitions
            if contributes(one.file, one.rule) and one.rule.kind == "set"
        )

    def rule_id(self, definition: Definition) -> str:
        """What a finding of this rule calls it: `concern/rule`."""
        said = literal(finding_field(definition, "rule"))
        return said if isinstance(said, str) else expected_rule_name(definition.file)

    def title(self, definition: Definition) -> str:
        """The title in the rule's METADATA, empty when it has none."""
        return str((metadata_above(definition.file.source, definition.rule.line) or {}).get("title") or "")

    def gates(self, definition: Definition) -> tuple[tuple[Definition, Condition], ...]:
        """The conditions under which the group of a rule is asked at all, innermost first."""
        found: list[tuple[Definition, Condition]] = []
        seen: set[Name] = set()
        name, outer = definition.name, definition
        while not is_collected(outer.file, outer.rule) and name not in seen:
            seen.add(name)
            passing = self._passed_on_by.get(name)
            if passing is None:
                break
            found += [(passing, one) for one in passing.conditions if name not in self.targets(passing, one)]
            name, outer = passing.name, passing
        return tuple(found)

    def targets(self, definition: Definition, condition: Condition) -> frozenset[Name]:
        """The full names of the rules that a condition refers to."""
        found = (self.resolve(definition.file, one) for one in references(condition.node))
        return frozenset(name for one in found if (name := self.rule_of(one)) is not None)

    def resolve(self, file: RegoFile, found: Reference) -> Reference:
        """A reference with the file's imports and the package's own names written out from `data`."""
        target = file.imports.get(found.base)
        if target is not None:
            return Reference(target.base, (*target.parts, *found.parts), found.line)
        if found.base not in _ROOTS and (*file.package, found.base) in self.definitions:
            return Reference("data", (*file.package, found.base, *found.parts), found.line)
        return found

    def rule_of(self, found: Reference) -> Name | None:
        """The rule that a resolved reference leads to or into; `None` for input, settings and variables."""
        if found.base != "data":
            return None
        parts = found.literal
        return next((parts[:end] for end in range(len(parts), 0, -1) if parts[:end] in self.definitions), None)

    def helper(self, definition: Definition, condition: Condition) -> Name | None:
        """The rule that a condition is nothing but the name of, with or without `not`; functions are none."""
        found = reference(condition.expression) if condition.expression is not None else None
        if found is None:
            return None
        resolved = self.resolve(definition.file, found)
        name = self.rule_of(resolved)
        if name is None or resolved.parts != name:
            return None
        return None if any(one.rule.kind == "function" for one in self.definitions[name]) else name

    def variables(self, definition: Definition) -> frozenset[str]:
        """The names in a body that are variables of it."""
        own = {*_ROOTS, *definition.file.imports}
        names = {name for one in definition.conditions for name in one.names}
        return frozenset(
            name for name in names if name not in own and (*definition.file.package, name) not in self.definitions
        )

    @cached_property
    def _passed_on_by(self) -> Mapping[Name, Definition]:
        """For each rule that holds findings, the rule that hands them on."""
        found: dict[Name, Definition] = {}
        for definitions in self.definitions.values():
            for one in definitions:
                if not holds_findings(one.rule.name) or one.rule.kind != "set":
                    continue
                for name in {name for condition in one.conditions for name in self.targets(one, condition)}:
                    if name != one.name and holds_findings(name[-1]):
                        found.setdefault(name, one)
        return found


def finding_field(definition: Definition, name: str) -> Any:
    """The expression that a finding has for one of its fields; `None` when it has none."""
    fields = (definition.head.get("key") or {}).get("Object", {}).get("fields", ())
    return next((value for _, key, value in fields if literal(key) == name), None)


def _definitions(file: RegoFile, rule: Rule) -> Iterator[Definition]:
    bodies = rule.node.get("Spec", {}).get("bodies", [])
    if not bodies:
        yield Definition(file, rule, ())
    for body in bodies:
        yield Definition(file, rule, conditions(file, body["query"]), is_else=bool(body["is_else"]))
