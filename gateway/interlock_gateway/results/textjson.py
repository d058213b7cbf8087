"""Text that is a JSON document, as tools that also give structured data often write it."""

import json

from interlock_gateway.core.jsonvalue import JsonObject, JsonValue

_LONGEST = 16 * 1024 * 1024


def parse_container(text: str) -> "JsonObject | list[JsonValue] | None":
    """The JSON object or array that `text` is, or `None`."""
    start = text.lstrip()[:1]
    if start not in {"{", "["} or len(text) > _LONGEST:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None
