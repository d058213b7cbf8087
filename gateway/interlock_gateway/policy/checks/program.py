"""All the files of a set of policies together: which rules there are, and where."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from interlock_gateway.policy.checks.syntax import RegoFile, Rule, literal, references

RULES = ("interlock", "rules")
CUSTOM = ("interlock", "custom")
FINDINGS = "findings"
_NOTHING = object()


@dataclass(frozen=True)
class Program:
    """The files that decide, the paths of their tests, the data they read and the schema of their input."""

    files: tuple[RegoFile, ...]
    tests: frozenset[str]
    data: Mapping[str, Any]
    input_schema: Mapping[str, Any]

    @cached_property
    def packages(self) -> Mapping[tuple[str, ...], frozenset[str]]:
        """The names that each package defines."""
        found: dict[tuple[str, ...], set[str]] = {}
        for file in self.files:
            found.setdefault(file.package, set()).update(rule.name for rule in file.rules)
        return {package: frozenset(names) for package, names in found.items()}

    @cached_property
    def functions(self) -> frozenset[tuple[str, ...]]:
        """The full names of all functions."""
        return frozenset(
            (*file.package, rule.name) for file in self.files for rule in file.rules if rule.kind == "function"
        )

    @cached_property
    def always_defined(self) -> frozenset[tuple[str, ...]]:
        """The full names of rules that have a value for every input: with a default, sets, and constants."""
        return frozenset(
            (*file.package, rule.name) for file in self.files for rule in file.rules if _is_always_defined(rule)
        )

    @cached_property
    def used(self) -> frozenset[tuple[str, ...]]:
        """The full names of all rules that another rule refers to or calls."""
        found: set[tuple[str, ...]] = set()
        for file in self.files:
            for reference in (*file.references, *file.calls):
                parts = reference.literal if reference.base == "data" else (*file.package, reference.base)
                found.update(parts[:length] for length in range(1, len(parts) + 1))
        return frozenset(found)

    def has_data(self, parts: Sequence[str]) -> bool:
        """Whether the data document has a value at `parts`."""
        return self.value_at(parts) is not _NOTHING

    def value_at(self, parts: Sequence[str]) -> Any:
        """The value that the data document has at `parts`; nothing that is JSON where it has none."""
        node: Any = self.data
        for part in parts:
            if not isinstance(node, Mapping) or part not in node:
                return _NOTHING
            node = node[part]
        return node


def holds_findings(name: str) -> bool:
    """Whether a rule of that name holds findings: `findings`, or those of a group, such as `change_findings`."""
    return name == FINDINGS or name.endswith(f"_{FINDINGS}")


def contributes(file: RegoFile, rule: Rule) -> bool:
    """Whether the rule is a finding, of the shipped rules, of one of their groups or classes, or of an operator's."""
    named = holds_findings(rule.name) if file.package[:2] == RULES else rule.name == FINDINGS
    return named and file.package[:2] in {RULES, CUSTOM} and not _passes_on(rule)


def _passes_on(rule: Rule) -> bool:
    """Whether a rule only hands on what other rules found: `findings contains x if some x in change_findings`."""
    key = rule.node.get("Spec", {}).get("head", {}).get("Set", {}).get("key", {})
    return "Var" in key and any(holds_findings((it.base, *it.literal)[-1]) for it in references(rule.node))


def is_collected(file: RegoFile, rule: Rule) -> bool:
    """Whether what the rule finds becomes part of the decision without another rule's help."""
    return rule.name == FINDINGS and file.package in {RULES, CUSTOM}


def _is_always_defined(rule: Rule) -> bool:
    if rule.kind in {"default", "set"}:
        return True
    spec = rule.node.get("Spec", {})
    assigned = spec.get("head", {}).get("Compr", {}).get("assign")
    bare = all(not body["query"]["stmts"] for body in spec.get("bodies", []))
    return bool(assigned) and bare and literal(assigned["value"]) is not NotImplemented
