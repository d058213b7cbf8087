"""A tool definition's hash, and what changed between two (TOOL-5)."""

import hashlib
import json
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from interlock_gateway.core.jsonvalue import JsonObject, JsonValue
from interlock_gateway.core.tool import (
    ResultLimits,
    ToolCapability,
    ToolDefinition,
    ToolMetadata,
    TruncationStrategy,
    UndoMethod,
)
from interlock_gateway.pipeline.canonical import canonical


def definition_document(definition: ToolDefinition) -> JsonObject:
    """The whole definition as JSON values: what is hashed, pinned and shown."""
    document: JsonObject = json.loads(json.dumps(definition, default=_members))
    return document


def _members(value: object) -> dict[str, object]:
    # As `asdict` has them, which copies every schema before that is written.
    if isinstance(value, type) or not is_dataclass(value):
        raise TypeError(f"a definition has no {type(value).__name__} in it")
    return {one.name: getattr(value, one.name) for one in fields(value)}


def definition_of(document: JsonObject) -> ToolDefinition:
    """The definition that `definition_document` gave `document` for. Raises `ValueError` for anything else."""
    try:
        members: dict[str, Any] = dict(document)
        metadata, capability, limits = members["metadata"], members["capability"], members["result_limits"]
        limits = {**limits, "strategy": TruncationStrategy(limits["strategy"])}
        if capability is not None:
            resources = tuple(capability["affected_resources"])
            method = UndoMethod(capability["undo_method"])
            capability = ToolCapability(**{**capability, "affected_resources": resources, "undo_method": method})
        members |= {
            "aliases": tuple(members["aliases"]),
            "prompt_guidelines": tuple(members["prompt_guidelines"]),
            "metadata": ToolMetadata(**metadata) if metadata is not None else None,
            "capability": capability,
            "result_limits": ResultLimits(**limits),
        }
        return ToolDefinition(**members)
    except (KeyError, TypeError) as error:
        raise ValueError("not the document of a tool definition") from error


def fingerprint(definition: ToolDefinition) -> str:
    """SHA-256, in hex, over the canonical JSON of every field of the definition."""
    document = definition_document(definition)
    try:
        encoded = canonical(document)
    except ValueError:
        # RFC 8785 has no form for whole numbers beyond 2^53, which generated schemas like to give as a maximum.
        encoded = json.dumps(document, sort_keys=True).encode()
    return hashlib.sha256(encoded).hexdigest()


def same_definition(before: ToolDefinition, after: ToolDefinition) -> bool:
    """Whether two definitions are surely the same; cheaper than comparing their fingerprints."""
    return before == after and _same(
        [dict(before.input_schema), before.output_schema], [dict(after.input_schema), after.output_schema]
    )


@dataclass(frozen=True, slots=True)
class Difference:
    """One field that is not what it was: a JSON Pointer into the definition, and both values, `null` where absent."""

    field: str
    before: JsonValue
    after: JsonValue


def differences(before: JsonValue, after: JsonValue, at: str = "") -> tuple[Difference, ...]:
    """What changed from `before` to `after`, field by field."""
    if isinstance(before, dict) and isinstance(after, dict):
        found: list[Difference] = []
        for key in sorted(before.keys() | after.keys()):
            pointer = f"{at}/{key.replace('~', '~0').replace('/', '~1')}"
            found.extend(differences(before.get(key), after.get(key), pointer))
        return tuple(found)
    return () if _same(before, after) else (Difference(at, before, after),)


def _same(before: object, after: object) -> bool:
    # In Python 1 equals True and 1.0; in a definition they are not the same.
    return json.dumps(before, sort_keys=True) == json.dumps(after, sort_keys=True)
