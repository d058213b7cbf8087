"""Rego files as their syntax trees: rules, references and calls, each with its line."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import regorus

from interlock_gateway.policy.checks.problems import Problem

_ERROR = re.compile(r"--> (?P<file>.*?):(?P<line>\d+):\d+.*?\nerror: (?P<words>[^\n]*)", re.DOTALL)
LONGEST_LINE = 1024
_NAMES = {"Var", "RefDot", "RefBrack"}
FLAT = frozenset({"span", "field"})
"""What has no nodes in it: where a node stands, and the name behind a dot."""


@dataclass(frozen=True, slots=True)
class Reference:
    """`base` and what follows it; a part is None where it is only known at run time."""

    base: str
    parts: tuple[str | None, ...]
    line: int

    @property
    def literal(self) -> tuple[str, ...]:
        """The parts up to the first that is not known."""
        known: list[str] = []
        for part in self.parts:
            if part is None:
                break
            known.append(part)
        return tuple(known)

    def __str__(self) -> str:
        return self.base + "".join(f".{part}" if part is not None else "[_]" for part in self.parts)


@dataclass(frozen=True)
class Rule:
    """One definition in a file: `kind` is `set`, `function`, `value` or `default`; `head` is its reference."""

    name: str
    kind: str
    line: int
    head: Reference
    node: Any

    def nodes(self, kind: str) -> list[Any]:
        """Every node of one kind in the rule, outermost first."""
        return self._by_kind.get(kind, [])

    @cached_property
    def _by_kind(self) -> dict[str, list[Any]]:
        # Walked through once: a dozen checks ask, each for another kind.
        found: dict[str, list[Any]] = {}
        _sort(self.node, found)
        return found


@dataclass(frozen=True)
class RegoFile:
    """One file: its package, its imports by name, and its rules in order."""

    path: str
    source: str
    package: tuple[str, ...]
    imports: dict[str, Reference]
    rules: tuple[Rule, ...]

    @property
    def package_name(self) -> str:
        """The package as it is written."""
        return ".".join(self.package)

    @cached_property
    def references(self) -> tuple[Reference, ...]:
        """Every reference in the rules, imports resolved; the heads' own names left out."""
        found = (reference for rule in self.rules for reference in references(rule.node))
        return tuple(self._resolved(reference) for reference in found)

    @cached_property
    def calls(self) -> tuple[Reference, ...]:
        """Every function that the rules call, imports resolved."""
        found = (_reference(call["fcn"]) for rule in self.rules for call in rule.nodes("Call"))
        return tuple(self._resolved(reference) for reference in found if reference)

    def read_by(self, rule: Rule) -> Iterator[Reference]:
        """What one of the rules refers to and calls, imports resolved."""
        called = (_reference(call["fcn"]) for call in rule.nodes("Call"))
        yield from (self._resolved(one) for one in (*references(rule.node), *called) if one)

    def _resolved(self, reference: Reference) -> Reference:
        target = self.imports.get(reference.base)
        if target is None:
            return reference
        return Reference(target.base, (*target.parts, *reference.parts), reference.line)


@lru_cache(maxsize=512)
def parse(path: str, source: str) -> RegoFile | Problem:
    """The file, or what keeps it from being read."""
    engine = regorus.Engine()
    if problem := _added(engine, path, source):
        return problem
    try:
        tree = json.loads(engine.get_ast_as_json())[0]["ast"]
    except RuntimeError as error:
        return _unreadable(path, str(error))
    package = _reference(tree["package"]["refr"])
    assert package is not None
    return RegoFile(
        path=path,
        source=source,
        package=(package.base, *package.literal),
        imports=dict(_imports(tree["imports"], source)),
        rules=tuple(_rule(node) for node in tree["rules"]),
    )


def unreadable(path: str, source: str) -> Problem | None:
    """What keeps a file from being read, in a fifth of the time that reading it takes."""
    return _added(regorus.Engine(), path, source)


def _added(engine: "regorus.Engine", path: str, source: str) -> Problem | None:
    # The engine refuses such lines too, but only after reading what is in them, which may take forever.
    for number, line in enumerate(source.split("\n"), 1):
        if len(line) > LONGEST_LINE:
            return Problem(path, number, "parse_error", f"is not valid Rego: line exceeds {LONGEST_LINE} columns")
    try:
        engine.add_policy(path, source)
    except RuntimeError as error:
        return _unreadable(path, str(error))
    return None


def unloadable(file: str, words: str) -> Problem:
    """What the engine says when it prepares files that it could read; `file` is where, if it names no place."""
    match = _ERROR.search(words)
    if match is None:
        return Problem(file, 1, "load_error", words.strip().split("\n")[0])
    return Problem(match["file"], max(int(match["line"]), 1), "load_error", f"does not load: {match['words'].strip()}")


def nodes(tree: Any, kind: str) -> list[Any]:
    """Every node of one kind in a tree, outermost first."""
    found: list[Any] = []
    _collect(tree, kind, found)
    return found


def _collect(tree: Any, kind: str, found: list[Any]) -> None:
    if isinstance(tree, dict):
        for key, value in tree.items():
            if key == kind:
                found.append(value)
            if key not in FLAT and isinstance(value, dict | list):
                _collect(value, kind, found)
    elif isinstance(tree, list):
        for item in tree:
            if isinstance(item, dict | list):
                _collect(item, kind, found)


def _sort(tree: Any, found: dict[str, list[Any]]) -> None:
    if isinstance(tree, dict):
        for key, value in tree.items():
            found.setdefault(key, []).append(value)
            if key not in FLAT and isinstance(value, dict | list):
                _sort(value, found)
    elif isinstance(tree, list):
        for item in tree:
            if isinstance(item, dict | list):
                _sort(item, found)


def reference(node: Any) -> Reference | None:
    """The reference that an expression is, or None for anything else."""
    return _reference(node)


def literal(node: Any) -> Any:
    """The constant that an expression is; `NotImplemented` for anything else."""
    if isinstance(node, dict) and len(node) == 1:
        ((kind, value),) = node.items()
        if kind in {"String", "RawString", "Number", "Bool", "Null"}:
            return value["value"]
    return NotImplemented


def _unreadable(path: str, words: str) -> Problem:
    match = _ERROR.search(words)
    if match is None:
        return Problem(path, 1, "parse_error", words.strip().split("\n")[0])
    return Problem(path, int(match["line"]), "parse_error", f"is not valid Rego: {match['words'].strip()}")


def _imports(found: list[Any], source: str) -> Iterator[tuple[str, Reference]]:
    for item in found:
        target = _reference(item["refr"])
        if target is not None:
            alias = item.get("as")
            name = source.encode()[alias["start"] : alias["end"]].decode() if alias else (target.parts or [None])[-1]
            yield name or target.base, target


def _rule(node: Any) -> Rule:
    if "Default" in node:
        inner = node["Default"]
        head = _reference(inner["refr"])
        kind = "default"
    else:
        inner = node["Spec"]
        ((shape, spec),) = inner["head"].items()
        head = _reference(spec["refr"])
        kind = {"Set": "set", "Func": "function"}.get(shape, "value")
    assert head is not None
    return Rule(head.base, kind, inner["span"]["line"], head, node)


def references(tree: Any) -> Iterator[Reference]:
    """References in a tree, each once at its full length, but for what a rule's head and a call's name are."""
    if isinstance(tree, list):
        for item in tree:
            yield from references(item)
        return
    if not isinstance(tree, dict):
        return
    for key, value in tree.items():
        if key in _NAMES:
            yield from _reference_and_inner(key, value)
        elif key == "Call":
            yield from references(value["params"])
        elif key in {"Set", "Compr", "Func", "Default"} and "refr" in value:
            inner = {name: part for name, part in value.items() if name != "refr"}
            yield from references([inner, *_indices(value["refr"])])
        elif key not in FLAT and isinstance(value, dict | list):
            yield from references(value)


def _reference_and_inner(kind: str, value: Any) -> Iterator[Reference]:
    found = _reference({kind: value})
    if found is not None:
        yield found
    else:
        yield from references({"of": value.get("refr")})
    for index in _indices({kind: value}):
        yield from references(index)


def _indices(node: Any) -> list[Any]:
    """The expressions in the brackets of a reference, constants left out."""
    found: list[Any] = []
    while isinstance(node, dict) and (node.keys() & {"RefDot", "RefBrack"}):
        ((kind, value),) = node.items()
        if kind == "RefBrack" and literal(value["index"]) is NotImplemented:
            found.append(value["index"])
        node = value["refr"]
    return found


def _reference(node: Any) -> Reference | None:
    parts: list[str | None] = []
    while isinstance(node, dict) and len(node) == 1:
        ((kind, value),) = node.items()
        if kind == "Var":
            return Reference(value["value"], tuple(reversed(parts)), value["span"]["line"])
        if kind == "RefDot":
            parts.append(value["field"][1])
        elif kind == "RefBrack":
            index = literal(value["index"])
            parts.append(index if isinstance(index, str) else None)
        else:
            return None
        node = value["refr"]
    return None
