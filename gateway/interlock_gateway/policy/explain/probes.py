"""Rules made up to ask which condition of a rule fails: its body whole, and without each condition in turn.

Each probe belongs to the package of the rule that it asks about, so that every name in it means what it means there.
Nothing is guessed: that a condition is the only one to fail is what evaluating the probes says.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.checks.syntax import unreadable
from interlock_gateway.policy.explain.bodies import Condition, conditions
from interlock_gateway.policy.explain.rulebook import Definition, Rulebook

PREFIX = "explained_"
_EVERY = re.compile(r"every\s+(?:(?P<key>\w+)\s*,\s*)?(?P<value>\w+)\s+in\s+(?P<domain>.+)", re.DOTALL)


@dataclass(frozen=True)
class Probes:
    """The probes about one definition; each method gives the name of a rule in the definition's package."""

    definition: Definition
    number: int
    variables: frozenset[str]

    def whole(self) -> str:
        """Holds when the body does."""
        return f"{PREFIX}{self.number}"

    def without(self, index: int) -> str:
        """Holds when everything does that can be told without condition `index`."""
        return f"{PREFIX}{self.number}_without_{index}"

    def up_to(self, index: int) -> str:
        """Holds when the same does, and condition `index` too, whatever is said about its variables elsewhere."""
        return f"{PREFIX}{self.number}_up_to_{index}"

    def alone(self, index: int) -> str:
        """Holds when condition `index` does, whatever else the body says but what binds its variables."""
        return f"{PREFIX}{self.number}_alone_{index}"

    def bound(self, index: int) -> str:
        """What the variables in condition `index` are when everything else holds: a set of objects."""
        return f"{PREFIX}{self.number}_bound_{index}"

    def elements(self, index: int) -> str:
        """The elements for which condition `index`, an `every`, does not hold: a set."""
        return f"{PREFIX}{self.number}_elements_{index}"

    @cached_property
    def source(self) -> str:
        """The probes as Rego, without a package."""
        every = self.definition.conditions
        rules = [_rule(self.whole(), every)]
        for index, condition in enumerate(every):
            others = self._others(index)
            rules.append(_rule(self.without(index), others))
            if self.binds(index):
                rules.append(_rule(self.up_to(index), self._others(index, itself=True)))
            rules.append(_rule(self.alone(index), self._with_what_binds(index)))
            shown = sorted(condition.names & self.variables & {name for one in others for name in one.names})
            if shown:
                members = ", ".join(f'"{name}": {name}' for name in shown)
                rules.append(_rule(f"{self.bound(index)} contains {{{members}}}", others))
            rules += self._every(index, condition, others)
        return "\n".join(rules)

    def binds(self, index: int) -> bool:
        """Whether condition `index` is the first to name a variable that others use."""
        return bool(self._bound_by(index) & {name for one in self._behind(index) for name in one.names})

    def _every(self, index: int, condition: Condition, others: Sequence[Condition]) -> Iterator[str]:
        every = condition.every
        if every is None:
            return
        start = condition.node["span"]["start"]
        header = condition.text.encode()[: every["query"]["span"]["start"] - start].decode("utf-8", "replace")
        found = _EVERY.fullmatch(header.strip())
        if found is None:
            return
        inner = f"{PREFIX}{self.number}_each_{index}"
        outside = {name for one in others for name in one.names} & self.variables & condition.names
        given = [found["value"], *([found["key"]] if found["key"] else []), *sorted(outside - {found["value"]})]
        body = conditions(self.definition.file, every["query"])
        yield _rule(f"{inner}({', '.join(given)})", body)
        key = f"{found['key']}, " if found["key"] else ""
        some = f"\tsome {key}{found['value']} in {found['domain']}"
        texts = [*(f"\t{one.text}" for one in others), some, f"\tnot {inner}({', '.join(given)})"]
        yield f"{self.elements(index)} contains {found['value']} if {{\n" + "\n".join(texts) + "\n}\n"

    def _others(self, index: int, *, itself: bool = False) -> list[Condition]:
        """The body without a condition, and without those that need the variables it binds."""
        gone = set(self._bound_by(index))
        kept: list[Condition] = []
        for place, condition in enumerate(self.definition.conditions):
            if place == index:
                kept += [condition] if itself else []
            elif place > index and condition.names & gone:
                gone |= self._bound_by(place)
            else:
                kept.append(condition)
        return kept

    def _with_what_binds(self, index: int) -> list[Condition]:
        """The condition, and those before it that its variables come from."""
        found = [self.definition.conditions[index]]
        wanted = set(found[0].names & self.variables)
        for condition in reversed(self.definition.conditions[:index]):
            if condition.names & wanted:
                found.insert(0, condition)
                wanted |= condition.names & self.variables
        return found

    def _behind(self, index: int) -> tuple[Condition, ...]:
        return self.definition.conditions[index + 1 :]

    def _bound_by(self, index: int) -> frozenset[str]:
        before = {name for one in self.definition.conditions[:index] for name in one.names}
        return (self.definition.conditions[index].names & self.variables) - before


def probes_for(book: Rulebook, definitions: Sequence[Definition]) -> dict[int, Probes]:
    """The probes about each definition, by the identity of the definition; without those that are not valid Rego."""
    made = (Probes(one, number, book.variables(one)) for number, one in enumerate(definitions) if one.conditions)
    return {id(one.definition): one for one in made if _is_valid(one)}


def with_probes(bundle: PolicyBundle, probes: Sequence[Probes]) -> PolicyBundle:
    """The bundle with the probes in it."""
    packages: dict[str, list[str]] = {}
    for one in probes:
        packages.setdefault(one.definition.file.package_name, []).append(one.source)
    added = tuple(
        (f"{PREFIX}{number}.rego", f"package {package}\n\n" + "\n".join(sources))
        for number, (package, sources) in enumerate(packages.items())
    )
    return replace(bundle, modules=(*bundle.modules, *added))


def _is_valid(probes: Probes) -> bool:
    return unreadable(f"{PREFIX}{probes.number}.rego", f"package explained\n\n{probes.source}") is None


def _rule(head: str, body: Sequence[Condition]) -> str:
    return f"{head} if {{\n" + "\n".join(f"\t{one.text}" for one in body or ()) + ("" if body else "\ttrue") + "\n}\n"
