"""What names in a rule stand for, and its text for another place, where names are to mean the same."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count, pairwise

from interlock_gateway.policy.embedded.linking import LinkedModule
from interlock_gateway.policy.embedded.rego_text import Item, Rule, Tokens, is_name, is_reference, items

GIVEN = re.compile(r"\bv_[0-9]+\b")
"""Names that are given here."""
_UNUSUAL = frozenset({"walk", "import"})
# Behind one of the first, a statement may begin; one that begins with one of the others would go on with one before it.
_BEFORE, _TIES = frozenset({"\n", ";", "{", "|"}), frozenset({"-", "("})


@dataclass(slots=True)
class Package:
    """A package and what it defines, by name. With imports, no rule of it is looked into: they are names as well."""

    module: LinkedModule
    name: str = ""
    rules: dict[str, list[Item]] = field(default_factory=dict)
    _bound: dict[int, frozenset[str] | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        header, _, rest = self.module.source.partition("\n")
        self.name = header.removeprefix("package ")
        for item in items(self.module.source):
            known = replace(item, rule=None) if rest.startswith("import ") else item
            self.rules.setdefault(item.name, []).append(known)

    def bound(self, rule: Rule) -> frozenset[str] | None:
        """The names that a rule of it gives to values; `None` when not all of its names are known."""
        if rule.start not in self._bound:
            self._bound[rule.start] = _bound(self, rule)
        return self._bound[rule.start]


@dataclass(frozen=True, slots=True)
class Around:
    """Where text is put: in which package, among which names of values, and whether it is evaluated again and again."""

    package: Package
    bound: frozenset[str]
    often: bool


class Names:
    """Gives names that nothing else has."""

    def __init__(self) -> None:
        self._numbers = count()

    def new(self) -> str:
        """One that was not given before."""
        return f"v_{next(self._numbers)}"

    def moved(
        self, text: Tokens, package: Package, bound: frozenset[str], around: Around, handed: Mapping[str, str]
    ) -> Tokens | None:
        """Text of a package, as it means the same `around`; `None` when a name there means something else.

        Its own names, `bound`, get new ones; what is `handed` to it has its name there.
        """
        own = {name: self.new() for name in sorted(bound - handed.keys())} | dict(handed)
        made: Tokens = []
        for place, one in enumerate(text):
            if not is_name(one) or not is_reference(text, place):
                made.append(one)
            elif one in own:
                made.append(own[one])
            elif GIVEN.fullmatch(one):
                made.append(own.setdefault(one, self.new()))
            elif one in around.bound:
                return None
            elif package is around.package:
                made.append(one)
            elif one in package.rules:
                made += ["data", ".", package.name, ".", one]
            elif one in around.package.rules:
                return None
            else:
                made.append(one)
        return made


def _bound(package: Package, rule: Rule) -> frozenset[str] | None:
    texts = rule.texts
    if any(one in _UNUSUAL or not _is_plain(text, place) for text in texts for place, one in enumerate(text)):
        return None
    if any(text[:1] and text[0] in _TIES for text in rule.bodies) or any(map(_may_be_tied, texts)):
        return None
    found = {one for one in rule.arguments or () if one != "_"}
    found.update(one for text in texts for one in _given(text))
    if found & package.rules.keys() or not all(_are_known(text, found, package) for text in texts):
        return None
    return frozenset(found)


def _is_plain(text: Tokens, place: int) -> bool:
    """Whether no value gets a name there in a way that is not looked for: by `=`, by taking it apart, without `in`."""
    one = text[place]
    if one in {"=", ":="}:
        return place > 0 and (text[place - 1] == "_" or (one == ":=" and is_name(text[place - 1])))
    return one not in {"some", "every"} or "in" in text[place:]


def _may_be_tied(text: Tokens) -> bool:
    """Whether a statement in it may begin with what the engine takes for more of the one that it is put behind."""
    return any(before in _BEFORE and one in _TIES for before, one in pairwise(text))


def _given(text: Tokens) -> Iterator[str]:
    for place, one in enumerate(text):
        if one == ":=" and is_name(text[place - 1]):
            yield text[place - 1]
        elif one in {"some", "every"}:
            yield from (name for name in text[place + 1 : text.index("in", place)] if is_name(name))


def _are_known(text: Tokens, bound: set[str], package: Package) -> bool:
    """Whether each name is of a value, a rule, or a function that Rego has."""
    for place, one in enumerate(text):
        if is_name(one) and is_reference(text, place) and (one in bound or one not in package.rules):
            after = place + 1
            while text[after : after + 1] == ["."]:
                after += 2
            if (one in bound) == (text[after : after + 1] == ["("]):
                return False
    return True
