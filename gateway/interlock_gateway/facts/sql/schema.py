"""The shape of the `sql` part of a facts document, as JSON Schema (draft 2020-12)."""

from interlock_gateway.facts.sql.structure import CONDITIONS
from interlock_gateway.facts.sql.verbs import EFFECTS

_STRING: dict[str, object] = {"type": "string"}
_BOOLEAN: dict[str, object] = {"type": "boolean"}
_STRINGS: dict[str, object] = {"type": "array", "items": _STRING}


def _object(properties: dict[str, object]) -> dict[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_TABLES: dict[str, object] = {"type": "array", "items": _object({"name": _STRING, "qualified": _STRING})}
_STATEMENT = _object(
    {
        "argument": _STRING,
        "kind": _STRING,
        "object": _STRING,
        "effect": {"enum": list(EFFECTS)},
        "text": _STRING,
        "dialects": _STRINGS,
        "verbs": _STRINGS,
        "reads": _TABLES,
        "writes": _TABLES,
        "condition": {"enum": [*CONDITIONS, None]},
        "functions": _STRINGS,
        "files": _BOOLEAN,
        "programs": _BOOLEAN,
        "problem": {"type": ["string", "null"]},
    }
)
SQL_SCHEMA = _object(
    {
        "parse_error": _BOOLEAN,
        "errors": _STRINGS,
        "read_only": _BOOLEAN,
        "dynamic": _BOOLEAN,
        "several": _BOOLEAN,
        "dialect": {"type": ["string", "null"]},
        "kinds": _STRINGS,
        "effects": _STRINGS,
        "functions": _STRINGS,
        "calls": _STRINGS,
        "statements": {"type": "array", "items": _STATEMENT},
    }
)
