"""Rules that nothing asks for once the others have their text: the engines that decide need not hold them.

An engine keeps some twenty times the length of a rule in memory, and there is one in each worker.
"""

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from interlock_gateway.policy.embedded.linking import LinkedModule
from interlock_gateway.policy.embedded.rego_text import Definition, Tokens, definitions, is_reference

_IMPORT = re.compile(r"^import[ \t]+(?P<path>[^\s#]+)", re.MULTILINE)
_PATH = re.compile(r"(?:data|input)(?:\.[A-Za-z_][A-Za-z0-9_]*)*")

Key = tuple[str, str]
_Defined = Mapping[str, Mapping[str, Sequence[Definition]]]


class _AnythingError(Exception):
    """Something asks for data under a name that is not written down."""


def without_unreferenced(modules: Sequence[LinkedModule], entry: str) -> tuple[LinkedModule, ...]:
    """The same modules with what the rule `entry` (`data.package.rule`) may ask for, directly or by others.

    A name counts as asked for wherever it stands but behind a dot, whatever it means there. It is to be certain where
    definitions begin (`is_regular`), and packages are to have names of one part. Lines stay in their places.
    """
    read = [_Read.of(module) for module in modules]
    defined: dict[str, dict[str, list[Definition]]] = {}
    for one in read:
        for each in one.definitions:
            defined.setdefault(one.package, {}).setdefault(each.name, []).append(each)
    try:
        kept = _asked_for(defined, [entry, *(path for one in modules for path in _IMPORT.findall(one.source))])
    except _AnythingError:
        return tuple(modules)
    return tuple(one.with_only(kept) for one in read)


@dataclass(frozen=True, slots=True)
class _Read:
    """A module with what it defines."""

    module: LinkedModule
    package: str
    definitions: Sequence[Definition]

    @classmethod
    def of(cls, module: LinkedModule) -> "_Read":
        return cls(module, module.source.partition("\n")[0].removeprefix("package "), definitions(module.source))

    def with_only(self, kept: Container[Key]) -> LinkedModule:
        source, made, at = self.module.source, list[str](), 0
        for each in self.definitions:
            if (self.package, each.name) not in kept:
                made += [source[at : each.start], "\n" * source.count("\n", each.start, each.end)]
                at = each.end
        return replace(self.module, source="".join((*made, source[at:])))


def _asked_for(defined: _Defined, paths: Sequence[str]) -> set[Key]:
    found: set[Key] = set()
    if not all(map(_PATH.fullmatch, paths)):
        raise _AnythingError
    ahead = [key for path in paths for key in _named(path.replace(".", " . ").split(), "", defined)]
    while ahead:
        key = ahead.pop()
        if key in found:
            continue
        found.add(key)
        package, name = key
        ahead += (one for each in defined[package][name] for one in _named(each.tokens, package, defined))
    return found


def _named(tokens: Tokens, package: str, defined: _Defined) -> Iterator[Key]:
    """The rules that tokens in a package may name."""
    own = defined.get(package, {})
    for place, one in enumerate(tokens):
        if not is_reference(tokens, place):
            continue
        if one in own:
            yield package, one
        if one != "data":
            continue
        match tokens[place + 1 : place + 5]:
            case [".", other, ".", name]:
                yield from [(other, name)] if name in defined.get(other, ()) else []
            case [".", other, *_]:
                yield from ((other, name) for name in defined.get(other, ()))
            case _:
                raise _AnythingError
