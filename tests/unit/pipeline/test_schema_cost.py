"""What a schema takes is bounded beforehand, for whatever input (PIPE-4, REL-7)."""

import json
from collections import Counter
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interlock_gateway.pipeline.input_schema import most_values
from interlock_gateway.pipeline.schema_cost import cost_of
from interlock_gateway.pipeline.schema_graph import UnclearSchemaError
from tool_schemas import DEAR, ORDINARY, JsonSchema, doubling, looking_again

HERE = ("allOf", "anyOf", "oneOf")
KEYS = st.sampled_from(["a", "b", "args"])
REFERENCES = st.sampled_from(["#/$defs/d0", "#/$defs/d1", "#/properties/a", "#"]).map(lambda to: {"$ref": to})
LEAVES = st.sampled_from(
    [{}, {"type": "string"}, {"const": {"a": 1}}, {"enum": [1, 2]}, {"uniqueItems": True}, {"required": ["a"]}]
)


def _keywords(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    some, named = st.lists(inner, min_size=1, max_size=3), st.dictionaries(KEYS, inner, min_size=1, max_size=3)
    keywords: dict[str, st.SearchStrategy[Any]] = {
        **dict.fromkeys((*HERE, "prefixItems"), some),
        **dict.fromkeys(("not", "if", "then", "items", "contains", "additionalProperties", "propertyNames"), inner),
        **dict.fromkeys(("properties", "patternProperties", "dependentSchemas"), named),
        "uniqueItems": st.just(value=True),
        "$ref": REFERENCES.map(lambda one: one["$ref"]),
    }
    # Few keywords at a time, or hardly any schema would be one that has a bound.
    return st.sets(st.sampled_from(sorted(keywords)), min_size=1, max_size=3).flatmap(
        lambda chosen: st.fixed_dictionaries({keyword: keywords[keyword] for keyword in sorted(chosen)})
    )


SCHEMAS: st.SearchStrategy[Any] = st.recursive(LEAVES | REFERENCES, _keywords, max_leaves=6)
WHOLE = st.builds(
    lambda schema, first, second: {**schema, "$defs": {"d0": first, "d1": second}}, SCHEMAS, SCHEMAS, SCHEMAS
)
INPUTS = st.recursive(
    st.none() | st.integers(0, 2) | st.just("a"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


def _full(kinds: tuple[str, ...]) -> object:
    """An input with every member, or three items, at each level."""
    if not kinds:
        return 1
    inner = _full(kinds[1:])
    return {"a": inner, "b": inner, "args": inner} if kinds[0] == "object" else [inner] * 3


FULL = [_full(kinds) for kinds in product(("object", "array"), repeat=4)]


class Visits:
    """Goes by a schema as nobody would: everything is looked at, at every place, however it stands by then."""

    def __init__(self, whole: JsonSchema) -> None:
        self.whole = whole
        self.of: Counter[tuple[object, ...]] = Counter()

    def visit(self, schema: object, value: object, at: tuple[object, ...] = ()) -> None:
        """Look at a value, and at all inside."""
        if not isinstance(schema, dict):
            return
        self.of[at] += 1
        assert self.of.total() < 10**6, "it is no bound"
        if "$ref" in schema:
            self.visit(self._referred(schema["$ref"]), value, at)
        for one in (schema.get("not"), schema.get("if"), schema.get("then"), *self._several(schema)):
            self.visit(one, value, at)
        if isinstance(value, dict):
            self._members(schema, value, at)
        elif isinstance(value, list):
            self._items(schema, value, at)

    def _several(self, schema: JsonSchema) -> list[object]:
        return [
            *(one for keyword in HERE for one in schema.get(keyword, ())),
            *schema.get("dependentSchemas", {}).values(),
        ]

    def _members(self, schema: JsonSchema, value: dict[str, object], at: tuple[object, ...]) -> None:
        named = schema.get("properties", {})
        for name, member in value.items():
            other = None if name in named else schema.get("additionalProperties")
            patterns = [one for text, one in schema.get("patternProperties", {}).items() if text in name]
            for one in (named.get(name), other, *patterns):
                self.visit(one, member, (*at, name))
            self.visit(schema.get("propertyNames"), name, (*at, name, "its name"))

    def _items(self, schema: JsonSchema, value: list[object], at: tuple[object, ...]) -> None:
        first = schema.get("prefixItems", [])
        for number, item in enumerate(value):
            one = first[number] if number < len(first) else schema.get("items")
            self.visit(one, item, (*at, number))
            self.visit(schema.get("contains"), item, (*at, number))
            if "uniqueItems" in schema:
                self._hashed(item, (*at, number))

    def _hashed(self, value: object, at: tuple[object, ...]) -> None:
        self.of[at] += 1
        pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, inner in pairs:
            self._hashed(inner, (*at, key))

    def _referred(self, reference: str) -> object:
        found: Any = self.whole
        for part in reference.split("/")[1:]:
            found = found.get(part)
        return found


@pytest.mark.req("PIPE-4", "REL-7", "SEC-2")
@settings(max_examples=600, deadline=None)
@given(WHOLE)
def test_no_value_of_any_input_is_looked_at_more_often_than_was_said(schema: JsonSchema) -> None:
    try:
        cost = cost_of(schema)
    except UnclearSchemaError:
        return
    for value in FULL:
        visits = Visits(schema)
        visits.visit(schema, value)
        assert max(visits.of.values()) <= cost.steps


FOUR: JsonSchema = {"allOf": [{}, {}, {}]}


@pytest.mark.req("PIPE-4", "REL-7")
@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": FOUR}, "patternProperties": {"a": FOUR}},
        {"patternProperties": {"a": FOUR, "g": FOUR}, "additionalProperties": FOUR},
        {"allOf": [{"properties": {"a": FOUR}}, {"properties": {"a": FOUR}}]},
        {"oneOf": [{"properties": {"a": FOUR}}, {"additionalProperties": FOUR}]},
        {"anyOf": [{"additionalProperties": FOUR}, {"properties": {"b": FOUR}, "additionalProperties": FOUR}]},
        {"items": FOUR, "contains": FOUR},
        {"prefixItems": [{}, FOUR], "contains": FOUR},
        {"allOf": [{"prefixItems": [{}, FOUR]}, {"items": FOUR}]},
        {"if": {"items": FOUR}, "then": {"items": FOUR}, "not": {"contains": FOUR}},
        {"propertyNames": FOUR, "properties": {"a": {"propertyNames": FOUR, "$ref": "#"}}},
        {"properties": {"a": {"dependentSchemas": {"a": FOUR, "b": FOUR}}}},
        {"properties": {"a": {"$ref": "#"}, "b": {"items": {"$ref": "#"}}}, "allOf": [FOUR, {"$ref": "#/$defs/x"}]},
        {"uniqueItems": True, "items": FOUR},
    ],
)
def test_what_is_said_is_what_is_reached(schema: JsonSchema) -> None:
    reached = 0
    for value in FULL:
        visits = Visits(schema := {"$defs": {"x": FOUR}, **schema})
        visits.visit(schema, value)
        reached = max(reached, *visits.of.values())
    assert cost_of(schema).steps == reached


@pytest.mark.req("PIPE-4")
@pytest.mark.parametrize("name", ORDINARY)
def test_a_usual_schema_takes_few_steps_for_each_value(name: str) -> None:
    assert cost_of(ORDINARY[name]).steps <= 60


@pytest.mark.req("PIPE-4", "REL-7")
@pytest.mark.parametrize("name", [name for name in DEAR if "pattern" not in name])
def test_a_schema_without_a_bound_that_is_of_use_is_seen_as_that(name: str) -> None:
    with pytest.raises(UnclearSchemaError):
        cost_of(DEAR[name])


@pytest.mark.req("PIPE-4")
def test_each_way_to_a_value_is_counted() -> None:
    assert cost_of({"type": "object"}).steps == 1
    assert [cost_of(doubling(levels)).steps for levels in (1, 2, 5)] == [6, 14, 126]
    assert cost_of({"properties": {"a": {"pattern": "a"}, "b": {"pattern": "b"}}}) == (1, 1, 2)
    assert cost_of({"items": {"anyOf": [{"pattern": "a"}, {"pattern": "b"}]}}) == (3, 2, 2)
    assert cost_of({"enum": ["a"] * 1000}).steps == 2
    assert cost_of({"enum": [1.5] * 100}).steps > 1000
    assert cost_of(looking_again(1)).steps > cost_of(looking_again(0)).steps * 3


@pytest.mark.req("PIPE-4")
@settings(deadline=None)
@given(INPUTS)
def test_there_are_never_more_values_than_a_text_seems_to_have(value: object) -> None:
    def count(one: object) -> int:
        inner = one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
        return 1 + sum(map(count, inner))

    raw = json.dumps(value, separators=(",", ":")).encode()
    assert count(value) <= most_values(raw)
    assert most_values(b"[" + b",".join([b"1"] * 40_000) + b"]") > 40_000, "also when they are not counted"
