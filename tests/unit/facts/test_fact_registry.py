"""Facts are there for every class, and say so when they are not."""

import jsonschema_rs
import pytest
from facts_calls import Facts
from interlock_gateway.facts import FACTS_SCHEMA
from interlock_gateway.facts.registry import EXTRACTORS

pytestmark = pytest.mark.req("PIPE-5")


@pytest.mark.parametrize("permission_class", ["generic", "readonly", "", "no such class", "error", "extracted"])
def test_a_class_without_an_extractor_says_so(facts: Facts, permission_class: str) -> None:
    assert facts(permission_class, {"command": "zap", "path": "x"}) == {
        "class": permission_class,
        "extracted": False,
        "error": "no extractor for this class",
    }


def test_the_schema_has_a_section_for_each_extractor() -> None:
    jsonschema_rs.meta.validate(FACTS_SCHEMA)
    properties = FACTS_SCHEMA["properties"]
    assert isinstance(properties, dict)
    assert set(properties) == {"class", "extracted", "error", *EXTRACTORS}
    assert {"bash", "file"} <= set(EXTRACTORS)


def test_every_object_in_the_schema_is_closed_and_says_what_it_must_have() -> None:
    waiting: list[object] = list(FACTS_SCHEMA.values())
    objects = [FACTS_SCHEMA]
    while waiting:
        current = waiting.pop()
        if isinstance(current, dict):
            waiting += current.values()
            objects += [current] if "properties" in current else []
    assert len(objects) >= 10
    for schema in objects:
        assert schema["additionalProperties"] is False
        required, properties = schema["required"], schema["properties"]
        assert isinstance(required, list)
        assert isinstance(properties, dict)
        assert schema is FACTS_SCHEMA or set(required) == set(properties)
