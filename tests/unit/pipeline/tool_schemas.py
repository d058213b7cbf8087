"""Schemas as tools declare them, and ones that take long, for the tests beside this module."""

from typing import Any

JsonSchema = dict[str, Any]
TEXT: JsonSchema = {"type": "string"}


def optional(one: JsonSchema) -> JsonSchema:
    """As pydantic writes a field that may be `None`."""
    return {"anyOf": [one, {"type": "null"}], "default": None, "title": "Field"}


FILTERS: JsonSchema = {
    "type": "object",
    "properties": {"filter": {"$ref": "#/$defs/Filter"}, "page_size": {"type": "integer", "minimum": 1}},
    "$defs": {
        "Condition": {
            "type": "object",
            "properties": {"property": TEXT, "equals": {"anyOf": [TEXT, {"type": "number"}, {"type": "boolean"}]}},
            "required": ["property"],
        },
        "Filter": {
            "anyOf": [
                {"$ref": "#/$defs/Condition"},
                {"type": "object", "properties": {"and": {"type": "array", "items": {"$ref": "#/$defs/Filter"}}}},
                {"type": "object", "properties": {"or": {"type": "array", "items": {"$ref": "#/$defs/Filter"}}}},
            ]
        },
    },
}
ROWS: JsonSchema = {
    "type": "object",
    "properties": {
        "rows": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {f"field_{number}": optional(TEXT) for number in range(40)},
                "required": [f"field_{number}" for number in range(20)],
                "additionalProperties": False,
            },
        }
    },
    "required": ["rows"],
}
DISCRIMINATED: JsonSchema = {
    "type": "object",
    "properties": {
        "steps": {
            "type": "array",
            "items": {
                "discriminator": {"propertyName": "kind", "mapping": {}},
                "oneOf": [{"$ref": f"#/$defs/Step{number}"} for number in range(8)],
            },
        }
    },
    "$defs": {
        f"Step{number}": {
            "type": "object",
            "title": f"Step{number}",
            "properties": {
                "kind": {"const": f"step_{number}", "default": f"step_{number}", "type": "string"},
                "selector": optional({"type": "string", "minLength": 1, "maxLength": 500}),
                "timeout_ms": {"type": "integer", "minimum": 0, "maximum": 9007199254740991},
                "point": {"prefixItems": [{"type": "number"}] * 2, "minItems": 2, "maxItems": 2, "type": "array"},
            },
            "required": ["kind", "selector"],
        }
        for number in range(8)
    },
}
TREE: JsonSchema = {
    "type": "object",
    "properties": {"root": {"$ref": "#/$defs/Node"}},
    "$defs": {
        "Node": {
            "type": "object",
            "properties": {
                "value": {"type": "number"},
                "left": optional({"$ref": "#/$defs/Node"}),
                "right": optional({"$ref": "#/$defs/Node"}),
                "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
            },
            "required": ["value"],
        }
    },
}
ANY_JSON: JsonSchema = {
    "type": "object",
    "properties": {"value": {"$ref": "#/$defs/JsonValue"}, "labels": {"additionalProperties": TEXT, "type": "object"}},
    "$defs": {
        "JsonValue": {
            "anyOf": [
                *({"type": kind} for kind in ("string", "number", "boolean", "null")),
                {"type": "array", "items": {"$ref": "#/$defs/JsonValue"}},
                {"type": "object", "additionalProperties": {"$ref": "#/$defs/JsonValue"}},
            ]
        }
    },
}
PATTERNS: JsonSchema = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {
        "id": {"type": "string", "format": "uuid", "pattern": "^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"},
        "email": {"type": "string", "pattern": "^[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\\.[a-zA-Z]{2,}$"},
        "since": {"type": "string", "pattern": "^\\d{4}-\\d{2}-\\d{2}(?:T\\d{2}:\\d{2}:\\d{2}(?:\\.\\d+)?Z)?$"},
        "state": {"type": "string", "enum": ["open", "closed", "all"], "default": "open"},
        "labels": {"type": "array", "items": {"type": "string", "pattern": "^[\\w.-]+$"}, "uniqueItems": True},
    },
    "required": ["id"],
    "additionalProperties": False,
}
OPENAPI: JsonSchema = {
    "type": "object",
    "properties": {
        "body": {
            "allOf": [
                {"type": "object", "properties": {"id": TEXT}, "required": ["id"]},
                {"type": "object", "properties": {"tags": {"type": "array", "items": TEXT}}},
            ],
            "unevaluatedProperties": False,
            "if": {"properties": {"kind": {"const": "a"}}},
            "then": {"required": ["tags"]},
        }
    },
}
ORDINARY: dict[str, JsonSchema] = {
    "anything": {"type": "object"},
    "nothing": {"type": "object", "properties": {}, "additionalProperties": False},
    "filters": FILTERS,
    "rows": ROWS,
    "discriminated": DISCRIMINATED,
    "tree": TREE,
    "any json": ANY_JSON,
    "patterns": PATTERNS,
    "openapi": OPENAPI,
}
"""As generated by pydantic, zod and OpenAPI, and as MCP servers in use declare them."""


def doubling(levels: int, keyword: str = "anyOf") -> JsonSchema:
    """A schema with two ways through each of so many levels to the last, which asks for a member."""
    made: JsonSchema = {f"a{level}": {keyword: [{"$ref": f"#/$defs/a{level + 1}"}] * 2} for level in range(levels)}
    return {"$defs": {**made, f"a{levels}": {"required": ["z"]}}, "$ref": "#/$defs/a0"}


def expressions(kinds: int) -> JsonSchema:
    """Expressions whose operators all have the same member for what they apply to: each level may be any of them."""
    each: list[JsonSchema] = [
        {
            "type": "object",
            "properties": {"kind": {"const": f"k{number}"}, "args": {"items": {"$ref": "#/$defs/Expression"}}},
            "required": ["kind", "args"],
        }
        for number in range(kinds)
    ]
    return {
        "properties": {"expression": {"$ref": "#/$defs/Expression"}},
        "$defs": {"Expression": {"anyOf": [*each, {"type": "integer"}]}},
    }


def expression(levels: int, last: Any) -> dict[str, Any]:
    """An input for `expressions`."""
    for _ in range(levels):
        last = {"kind": "k1", "args": [last]}
    return {"expression": last}


def deep_chain(length: int) -> JsonSchema:
    """A recursive schema that asks so many others, one because of the other, about each level of an input."""
    made: JsonSchema = {
        f"a{at}": {"anyOf": [TEXT, {"allOf": [{"$ref": f"#/$defs/a{at + 1}"}, {"minProperties": 1}]}]}
        for at in range(length)
    }
    last = {"properties": {"a": {"$ref": "#/$defs/a0"}}, "required": ["b"]}
    return {"$defs": {**made, f"a{length}": last}, "$ref": "#/$defs/a0"}


def looking_again(levels: int) -> JsonSchema:
    """Each level finds out what the one inside has looked at."""
    made: JsonSchema = {"properties": {"a": {}}}
    for _ in range(levels):
        made = {"anyOf": [made, {"required": ["z"]}], "unevaluatedProperties": False}
    return made


DEAR: dict[str, JsonSchema] = {
    "two ways at each level": doubling(30),
    "all of it at each level": doubling(30, "allOf"),
    "one member, many kinds": expressions(2),
    "a chain of references": deep_chain(100),
    "looked at again": looking_again(10),
    "itself": {"$ref": "#"},
    "itself, by another": {"properties": {"a": {"not": {"$ref": "#/properties/a"}}}},
    "items twice": {
        "$defs": {"x": {"items": {"$ref": "#/$defs/x"}, "contains": {"$ref": "#/$defs/x"}}},
        "$ref": "#/$defs/x",
    },
    "dynamic": {"$dynamicAnchor": "node", "properties": {"a": {"$dynamicRef": "#node"}}},
    "a name of its own": {"properties": {"a": {"$id": "http://else.where/x", "$ref": "#"}}},
    "a name": {"$defs": {"x": {"$anchor": "name"}}, "properties": {"a": {"$ref": "#name"}}},
    "large": {"properties": {f"p{number}": {"type": "string"} for number in range(3000)}},
    "a long list": {"enum": [{"number": number} for number in range(9000)]},
    "a large pattern": {"properties": {"a": {"pattern": "^(?:a|b)*a(?:a|b){9000}c"}}},
    "many patterns": {"properties": {f"p{number}": {"pattern": f"^a{{{number}}}$"} for number in range(600)}},
}
"""What nothing is known to bound, or too little."""
