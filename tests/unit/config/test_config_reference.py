"""The documentation and the schema say what the models say."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from interlock_gateway.config import Config
from interlock_gateway.config_loader.reference import config_schema, reference_markdown, schema_text
from interlock_gateway.config_loader.shape import Kind, Shape, config_shape
from jsonschema_rs import validator_for

DOCS = Path(__file__).parents[3] / "docs"
AGAIN = "run python -m interlock_gateway.config_loader.reference"


def test_the_committed_documentation_is_fresh() -> None:
    assert (DOCS / "configuration.md").read_text(encoding="utf-8") == reference_markdown(), AGAIN


def test_the_committed_schema_is_fresh() -> None:
    assert (DOCS / "config.schema.json").read_text(encoding="utf-8") == schema_text(), AGAIN


def undescribed(shape: Shape, above: str = "") -> list[str]:
    missing = []
    for name, inner in shape.fields.items():
        if not shape.infos[name].description and inner.kind is not Kind.SECTION:
            missing.append(f"{above}{name}")
        missing += undescribed(inner.item or inner, f"{above}{name}.")
    return missing


def test_every_key_has_a_description_and_stands_in_the_documentation() -> None:
    assert undescribed(config_shape()) == []
    text = reference_markdown()
    assert [
        path
        for path in config_shape().names()
        if f"`{path[-1]}`" not in text and f"## {'.'.join(map(str, path))}\n" not in text
    ] == []


@pytest.mark.parametrize(
    ("text", "accepted"),
    [
        ("{}", True),
        ("server: {listen: ['unix:/a'], socket_mode: '0660'}", True),
        ("tools: {bash: {min_confidence: 70}}", True),
        ("server: {socket_mode: 600}", False),
        ("sever: {}", False),
        ("providers: [{name: a}]", False),
        ("policy: {workers: 65}", False),
    ],
)
def test_the_schema_accepts_what_the_gateway_accepts(text: str, accepted: bool) -> None:
    document: Any = yaml.safe_load(text)
    assert validator_for(config_schema()).is_valid(document) is accepted


def test_the_defaults_are_a_valid_document() -> None:
    document = json.loads(Config().model_dump_json(exclude_none=True))
    validator_for(config_schema()).validate(document)
