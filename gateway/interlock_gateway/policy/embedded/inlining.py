"""Rules where their names stand, for the engines that decide.

The embedded engine takes 3 us to evaluate a rule that is referred to, 2 for a function and for each further definition
of a set, and 0.6 for a comprehension, whatever the conditions in them cost. So a condition that is a rule or a function
that holds or does not is put where it is asked for, and the definitions of a set into one. Rules mean the same so, as
long as names mean the same where their text is put. Where that is not certain, they stay as they are.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain

from interlock_gateway.policy.embedded.known_data import KnownData
from interlock_gateway.policy.embedded.linking import LinkedModule
from interlock_gateway.policy.embedded.rego_names import GIVEN, Around, Names, Package
from interlock_gateway.policy.embedded.rego_text import (
    SIGNS,
    Rule,
    Tokens,
    divided,
    is_reference,
    is_regular,
    joined,
    levels,
    matching,
    statements,
    tokens_of,
    with_queries,
)
from interlock_gateway.policy.embedded.unreferenced import without_unreferenced

# Text that is put in several places, or evaluated again where a rule would be remembered, is to be short.
_MOST_TOKENS = 150
_FEW_STATEMENTS = 2
_FEW_PLACES = 3
_DEEPEST = 12
_MOST_IN_A_ROW = 8
# Below what the engine reads of a module at most.
_LONGEST_LINE, _MOST_LINES, _MOST_CHARACTERS = 1000, 15_000, 500_000

# Stands for a name of the place where a value is put.
_INTO = "\0"

Key = tuple[str, str]


def inlined(modules: Sequence[LinkedModule], data_json: str, entry: str = "") -> tuple[LinkedModule, ...]:
    """The same modules, with rules where their names stand; as they were when a package has a name of several parts.

    What the rules compare with `data_json`, the data that they are loaded with, is left out where it is known. With an
    `entry`, the one rule that is evaluated (`data.package.rule`), so are rules that it then does not ask for.
    """
    if any(_is_unusual(module.source) for module in modules):
        return tuple(modules)
    packages = [Package(module) for module in modules]
    if any("with" in item.tokens for one in packages for its in one.rules.values() for item in its):
        # A rule can have another value there than its text says.
        return tuple(modules)
    by_name = {package.name: package for package in packages}
    known = KnownData(data_json, {name: package.rules.keys() for name, package in by_name.items()})
    inliner = _Inliner(by_name, known)
    made = tuple(_fitting(one.module, inliner.rewritten(one)) for one in packages)
    return without_unreferenced(made, entry) if entry else made


@lru_cache(maxsize=64)
def _is_unusual(source: str) -> bool:
    name = source.partition("\n")[0].removeprefix("package ")
    if not name.isidentifier() or GIVEN.search(source):
        return True
    # `$` before a text: it may have names in it.
    return any(text == "$" for _, text, _ in tokens_of(source)) or not is_regular(source)


def _fitting(module: LinkedModule, source: str) -> LinkedModule:
    lines = source.split("\n")
    if len(source) > _MOST_CHARACTERS or len(lines) > _MOST_LINES or max(map(len, lines)) > _LONGEST_LINE:
        return module
    return replace(module, source=source)


@dataclass(frozen=True, slots=True)
class _Site:
    """A rule that is asked for, and what is handed to it."""

    package: Package
    name: str
    given: tuple[Tokens, ...] | None

    @property
    def key(self) -> Key:
        return self.package.name, self.name


class _Inliner:
    def __init__(self, packages: Mapping[str, Package], data: KnownData) -> None:
        self._packages = packages
        self._data = data
        self._names = Names()
        self._asked = _asked_for(packages)
        self._behind: list[Key] = []
        # What conditions become, by rule and whether they are evaluated again and again; where it is too much, nothing.
        self._known: dict[tuple[Key, bool], list[Tokens] | None] = {}

    def rewritten(self, package: Package) -> str:
        """The source of a package's module."""
        changes: list[tuple[int, int, str]] = []
        for name, its in package.rules.items():
            rules = [item.rule for item in its if item.rule is not None]
            if len(its) > 1 and len(rules) == len(its) and (union := self._union(package, rules)) is not None:
                changes += [(rule.start, rule.end, "") for rule in rules[:-1]]
                changes.append((rules[-1].start, rules[-1].end, joined([name, ":=", *union])))
            else:
                changes += [
                    (rule.start, rule.end, self._text(package, rule))
                    for rule in rules
                    if package.bound(rule) is not None
                ]
        return _changed(package.module.source, changes)

    def _text(self, package: Package, rule: Rule) -> str:
        around = Around(package, package.bound(rule) or frozenset(), rule.arguments is not None)
        self._behind.append((package.name, rule.name))
        ways: list[Tokens] = []
        for value, body in zip(rule.values, rule.bodies, strict=True):
            way = [":=", *self._nested(value, around)] if value else []
            head = ["|", *rule.key] if rule.kind == "set" else way
            ways.append(
                way
                + (["if", "{", "\n", *self._data.without(self._query(body, around), head), "\n", "}"] if body else [])
            )
        self._behind.pop()
        head = [rule.name, *(["contains", *rule.key] if rule.kind == "set" else [])]
        if rule.arguments is not None:
            head += ["(", *", ".join(rule.arguments).replace(",", " ,").split(), ")"]
        return joined(chain(head, ways[0], *(["else", *way] for way in ways[1:])))

    def _union(self, package: Package, rules: Sequence[Rule], around: Around | None = None) -> Tokens | None:
        """The members of a set as one expression, for the place `around` or where it stands itself."""
        made: list[Tokens] = []
        for rule in rules:
            bound = package.bound(rule)
            if (
                bound is None
                or rule.kind != "set"
                or any(not level and one in SIGNS for one, level in levels(rule.key))
            ):
                return None
            inner = self._query(rule.bodies[0], Around(package, bound, often=False))
            inner = inner if around is not None else self._data.without(inner, rule.key)
            one: Tokens | None = ["{", *rule.key, "|", "\n", *inner, "\n", "}"]
            if around is not None and one is not None:
                one = self._names.moved(one, package, bound, around, {})
            if one is None:
                return None
            made.append(one)
        return _union_of(made)

    def _query(self, body: Tokens, around: Around) -> Tokens:
        """A body with rules where their names stand."""
        parts = statements(body)
        if parts is None:
            return body
        made: Tokens = []
        for part in parts:
            made += ["\n"] * bool(made) + self._statement(part, around)
            if part[0] == "some":
                around = replace(around, often=True)
        return made

    def _statement(self, part: Tokens, around: Around) -> Tokens:
        put: Tokens | None = None
        is_negated = part[0] == "not"
        if part[0] == "some" and "in" in part:
            at = part.index("in") + 1
            site = self._site(part[at:], around)
            union = None if site is None else self._set(site, around)
            put = None if union is None else [*part[:at], "(", *union, ")"]
        elif part[1:2] == [":="]:
            site = self._site(part[2:], around)
            put = None if site is None else self._condition(site, around, into=part[0])
        elif (site := self._site(part[is_negated:], around)) is not None:
            put = self._condition(site, around, is_negated=is_negated)
        return self._nested(part, around) if put is None else put

    def _nested(self, part: Tokens, around: Around) -> Tokens:
        """A statement with rules put where they are asked for in comprehensions and in the body of `every`."""
        opening = _body_of_every(part)
        if opening is None:
            return with_queries(part, lambda query: self._query(query, around))
        before = with_queries(part[:opening], lambda query: self._query(query, around))
        inner = self._query(part[opening + 1 : -1], replace(around, often=True))
        return [*before, "{", "\n", *inner, "\n", "}"]

    def _site(self, part: Tokens, around: Around) -> _Site | None:
        """The rule that is all that a statement asks for."""
        match part:
            case ["data", ".", package_name, ".", name, *rest]:
                package = self._packages.get(package_name)
            case [name, *rest] if name not in around.bound:
                package = around.package
            case _:
                return None
        if package is None or name not in package.rules:
            return None
        if not rest:
            return _Site(package, name, None)
        is_call = rest[0] == "(" and matching(rest, 0) == len(rest) - 1
        return _Site(package, name, tuple(divided(rest[1:-1]))) if is_call else None

    def _set(self, site: _Site, around: Around) -> Tokens | None:
        """The members of a set that is asked for in one place, and there once."""
        is_once = self._asked[site.key] == 1 and not around.often and site.given is None
        rules = [item.rule for item in site.package.rules[site.name]]
        if not is_once or None in rules or site.package is not around.package or not self._begun(site.key):
            return None
        union = self._union(site.package, [one for one in rules if one is not None], around)
        self._behind.pop()
        return union

    def _condition(self, site: _Site, around: Around, *, is_negated: bool = False, into: str = "") -> Tokens | None:
        """What a rule or function asks for, as conditions; `None` when it is to be referred to.

        The name `into` is to have the function's value.
        """
        its = site.package.rules[site.name]
        rule = its[0].rule
        if len(its) > 1 or rule is None or not _is_handed_all(rule, site):
            return None
        bodies = self._bodies(site, rule, often=around.often or rule.arguments is not None)
        bound = site.package.bound(rule)
        if (
            bodies is None
            or bound is None
            or (len(bodies) > 1 and not is_negated)
            or (rule.kind == "value") != bool(into)
        ):
            return None
        made: Tokens = []
        for body in bodies:
            handed, before = self._handed(rule.arguments or (), site.given or (), around)
            put = self._names.moved(body, site.package, bound, around, handed)
            if put is None:
                return None
            put = [*before, *(into if one == _INTO else one for one in put)]
            made += ["\n"] * bool(made) + (_none(put) if is_negated else put)
        return made

    def _bodies(self, site: _Site, rule: Rule, *, often: bool) -> list[Tokens] | None:
        """The bodies of a rule that is worth being put where its name stands, with rules put in them."""
        found = (site.key, often)
        if found not in self._known:
            if not self._is_worth(site, rule, often=often) or not self._begun(site.key):
                return None
            inside = Around(site.package, site.package.bound(rule) or frozenset(), often)
            bodies = [self._query(body, inside) for body in rule.bodies]
            if rule.kind == "value":
                bodies = [[*bodies[0], *["\n"] * bool(bodies[0]), _INTO, ":=", *self._nested(rule.values[0], inside)]]
            self._behind.pop()
            is_long = sum(map(len, bodies)) > _MOST_TOKENS and (rule.arguments is not None or self._asked[site.key] > 1)
            self._known[found] = None if is_long else bodies
        return self._known[found]

    def _begun(self, key: Key) -> bool:
        if key in self._behind or len(self._behind) > _DEEPEST:
            return False
        self._behind.append(key)
        return True

    def _is_worth(self, site: _Site, rule: Rule, *, often: bool) -> bool:
        """Functions always; a rule where it is asked for once, and one that costs less than to remember it."""
        parts = [statements(body) for body in rule.bodies]
        if rule.kind == "set" or (rule.kind == "value" and len(parts) > 1):
            return False
        if any(one is None or _repeats(one) for one in parts) or any(map(_goes_through, rule.values)):
            return False
        if rule.arguments is not None or (self._asked[site.key] == 1 and not often):
            return True
        refers = any(one in site.package.rules for body in rule.bodies for one in body)
        few = (
            rule.kind == "true"
            and sum(len(one or ()) for one in parts) <= _FEW_STATEMENTS
            and self._asked[site.key] <= _FEW_PLACES
        )
        return few and not refers

    def _handed(
        self, arguments: Sequence[str], given: Sequence[Tokens], around: Around
    ) -> tuple[dict[str, str], Tokens]:
        """What stands for a function's arguments, and the statements that set it."""
        handed: dict[str, str] = {}
        before: Tokens = []
        for argument, value in zip(arguments, given, strict=True):
            if len(value) == 1 and value[0] in around.bound:
                handed[argument] = value[0]
                continue
            handed[argument] = self._names.new()
            before += [handed[argument], ":=", *value, "\n"]
        return handed, before


def _asked_for(packages: Mapping[str, Package]) -> Counter[Key]:
    """How often each rule is named, where it is not defined."""
    found: Counter[Key] = Counter()
    for package in packages.values():
        for tokens in (item.tokens for its in package.rules.values() for item in its):
            for place, one in enumerate(tokens[1:], 1):
                if one in package.rules and is_reference(tokens, place):
                    found[package.name, one] += 1
                elif one == "data":
                    found.update([(tokens[place + 2], tokens[place + 4])] if len(tokens) > place + 4 else [])
    return found


def _is_handed_all(rule: Rule, site: _Site) -> bool:
    if rule.arguments is None or site.given is None:
        return rule.arguments is None and site.given is None
    return len(rule.arguments) == len(site.given)


def _union_of(sets: Sequence[Tokens]) -> Tokens:
    """One expression for all of them, of little depth however many they are."""
    if len(sets) <= _MOST_IN_A_ROW:
        return list(chain.from_iterable(["\n", "|", *one] if place else one for place, one in enumerate(sets)))
    half = len(sets) // 2
    return ["(", *_union_of(sets[:half]), ")", "\n", "|", "(", *_union_of(sets[half:]), ")"]


def _none(put: Tokens) -> Tokens:
    """The condition that what was put does not hold."""
    parts = statements(put)
    if parts is not None and len(parts) == 1 and not {"some", "every", ":=", "="} & set(parts[0]):
        return parts[0][1:] if parts[0][0] == "not" else ["not", *parts[0]]
    return ["[", "1", "|", "\n", *put, "\n", "]", "==", "[", "]"]


def _body_of_every(part: Tokens) -> int | None:
    """Where the body opens of a statement that says `every`."""
    if part[0] != "every" or part[-1] != "}":
        return None
    opening = max(at for at, found in enumerate(levels(part)) if found == ("{", 0))
    return None if part[opening - 1] == "in" else opening


def _repeats(parts: Sequence[Tokens]) -> bool:
    """Whether it may hold in several ways; a rule stops at the first."""
    return any(part[0] == "some" or _goes_through(part) for part in parts)


def _goes_through(part: Tokens) -> bool:
    """Whether something may be looked up under any key."""
    is_pattern = False
    for place, one in enumerate(part):
        is_pattern = one in {"some", "every"} or (is_pattern and one != "in")
        if one == "_" and not is_pattern and part[place + 1 : place + 2] not in ([":="], ["="]):
            return True
    return False


def _changed(source: str, changes: Iterable[tuple[int, int, str]]) -> str:
    made: list[str] = []
    at = 0
    for start, end, text in sorted(changes):
        made += [source[at:start], text]
        at = end
    return "".join((*made, source[at:]))
