"""What is known of a value before there is an input: its kinds, and what of the input's schema describes it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from interlock_gateway.policy.checks.input_paths import NoSuchFieldError

_KINDS = {"integer": "number"}
_SCALARS = frozenset({"null", "boolean", "number", "string"})


@dataclass(frozen=True, slots=True)
class Shape:
    """`kinds` of Rego's values, None when it may be any; `nodes` of the schema, None when none describes it."""

    kinds: frozenset[str] | None = None
    nodes: tuple[Mapping[str, Any], ...] | None = None

    def cannot_be(self, kinds: frozenset[str] | None) -> bool:
        """Whether it is known to be of none of these kinds."""
        return self.kinds is not None and kinds is not None and not self.kinds & kinds

    def __str__(self) -> str:
        named = sorted(self.kinds or ())
        return " or ".join(kind if kind == "null" else f"a{'n' * (kind[0] in 'ao')} {kind}" for kind in named)


ANY = Shape()


def of_value(value: Any) -> Shape:
    """The shape of a constant."""
    return Shape(frozenset({kind_of(value)}))


def kind_of(value: Any) -> str:
    """Rego's name for the kind of a JSON value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def of_schema(schema: Mapping[str, Any], nodes: Iterable[Mapping[str, Any]]) -> Shape:
    """The shape of what parts of a schema describe."""
    branches = tuple(branch for node in nodes for branch in _branches(schema, node))
    kinds = [_kinds(branch) for branch in branches]
    if not branches or None in kinds:
        return ANY
    return Shape(frozenset(kind for some in kinds for kind in some or ()), branches)


def step(schema: Mapping[str, Any], shape: Shape, part: str | None) -> Shape:
    """What one part of a reference leads to; `part` is None for an element or a field that nobody knows yet.

    Raises `NoSuchFieldError` when it leads nowhere.
    """
    if shape.nodes is None:
        if shape.kinds is not None and shape.kinds <= _SCALARS:
            raise NoSuchFieldError(part or "parts", ())
        return ANY
    found: list[Mapping[str, Any]] = []
    known: set[str] = set()
    for node in shape.nodes:
        kinds = _kinds(node) or frozenset()
        properties = node.get("properties", {})
        others = node.get("additionalProperties", True)
        if "array" in kinds:
            found.append(node.get("items", {}))
        if "object" not in kinds:
            continue
        known.update(properties)
        if part is None:
            found += properties.values()
        elif part in properties:
            found.append(properties[part])
        if (part is None or part not in properties) and others is not False:
            found.append({} if others is True else others)
    if not found:
        raise NoSuchFieldError(part or "parts", sorted(known))
    return of_schema(schema, found)


def _branches(schema: Mapping[str, Any], node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    while "$ref" in node:
        target: Any = schema
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        node = target
    options = node.get("anyOf") or node.get("oneOf")
    for option in options or ():
        yield from _branches(schema, option)
    if not options:
        yield node


def _kinds(node: Mapping[str, Any]) -> frozenset[str] | None:
    """The kinds that a part of a schema allows; None for any."""
    if "const" in node:
        return frozenset({kind_of(node["const"])})
    if "enum" in node:
        return frozenset(map(kind_of, node["enum"]))
    declared = node.get("type")
    if declared is None:
        return frozenset({"object"}) if "properties" in node else None
    listed = [declared] if isinstance(declared, str) else list(declared)
    return frozenset(_KINDS.get(kind, kind) for kind in listed)
