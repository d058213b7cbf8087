"""A tool definition's hash, and what changed between two (TOOL-5)."""

import hashlib
import json
from dataclasses import asdict, dataclass

from interlock_gateway.core.jsonvalue import JsonObject, JsonValue
from interlock_gateway.core.tool import ToolDefinition
from interlock_gateway.pipeline.canonical import canonical


def definition_document(definition: ToolDefinition) -> JsonObject:
    """The whole definition as JSON values: what is hashed, pinned and shown."""
    document: JsonObject = json.loads(json.dumps(asdict(definition)))
    return document


def fingerprint(definition: ToolDefinition) -> str:
    """SHA-256, in hex, over the canonical JSON of every field of the definition."""
    return hashlib.sha256(canonical(definition_document(definition))).hexdigest()


@dataclass(frozen=True, slots=True)
class Difference:
    """One field that is not what it was, by its path in the definition."""

    field: str
    before: JsonValue
    after: JsonValue


def differences(before: JsonValue, after: JsonValue, at: str = "") -> tuple[Difference, ...]:
    """What changed from `before` to `after`, field by field."""
    if isinstance(before, dict) and isinstance(after, dict):
        found: list[Difference] = []
        for key in sorted(before.keys() | after.keys()):
            found.extend(differences(before.get(key), after.get(key), f"{at}.{key}" if at else key))
        return tuple(found)
    return () if before == after else (Difference(at, before, after),)
