"""Where a reference into the input leads by the input's JSON Schema."""

from collections.abc import Mapping, Sequence
from typing import Any


class NoSuchFieldError(Exception):
    """The schema has no such field; `name` is the part that is not there, `known` the fields that are."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(name)
        self.name = name
        self.known = tuple(known)


def possible_values(schema: Mapping[str, Any], parts: Sequence[str | None]) -> frozenset[Any] | None:
    """The only values that a reference can have, or None when there is no list of them.

    Raises `NoSuchFieldError` when the reference leads to a field that the schema does not have.
    """
    here = [_resolved(schema, schema)]
    for part in parts:
        here = [found for node in here for found in _step(schema, node, part)]
        if not here:
            return None
    values: set[Any] = set()
    for node in here:
        listed = node.get("enum", [node["const"]] if "const" in node else None)
        if listed is None:
            return None
        values.update(listed)
    return frozenset(values)


def _step(schema: Mapping[str, Any], node: Mapping[str, Any], part: str | None) -> list[Mapping[str, Any]]:
    """What one part of a reference leads to; nothing when the schema leaves it open."""
    branches = [branch for branch in _branches(schema, node) if branch.get("type") not in {"null", ("null",)}]
    found: list[Mapping[str, Any]] = []
    missing: list[str] | None = None
    for branch in branches:
        if "items" in branch:
            found.append(_resolved(schema, branch["items"]))
            continue
        properties = branch.get("properties", {})
        if part is None:
            found += [_resolved(schema, inner) for inner in properties.values()] if properties else []
        elif part in properties:
            return [_resolved(schema, properties[part])]
        if not isinstance(branch.get("additionalProperties", True), bool):
            found.append(_resolved(schema, branch["additionalProperties"]))
        elif branch.get("additionalProperties", True):
            return []
        elif part is not None:
            missing = [*(missing or []), *properties]
    if missing is not None and not found and part is not None:
        raise NoSuchFieldError(part, sorted(missing))
    return found


def _branches(schema: Mapping[str, Any], node: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    options = node.get("anyOf") or node.get("oneOf")
    return [_resolved(schema, option) for option in options] if options else [node]


def _resolved(schema: Mapping[str, Any], node: Mapping[str, Any]) -> Mapping[str, Any]:
    while "$ref" in node:
        target: Any = schema
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        node = target
    return node
