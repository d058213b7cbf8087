"""A tool definition's hash, and what changed between two (TOOL-5)."""

import hashlib
import json
from dataclasses import asdict

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


def differences(before: JsonValue, after: JsonValue, at: str = "") -> tuple[str, ...]:
    """What changed from `before` to `after`, one line per field: `path: old -> new`."""
    if isinstance(before, dict) and isinstance(after, dict):
        lines: list[str] = []
        for key in sorted(before.keys() | after.keys()):
            lines.extend(differences(before.get(key), after.get(key), f"{at}.{key}" if at else key))
        return tuple(lines)
    if before == after:
        return ()
    return (f"{at}: {_short(before)} -> {_short(after)}",)


def _short(value: JsonValue) -> str:
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= 200 else text[:197] + "..."  # noqa: PLR2004 - one screen line or two
