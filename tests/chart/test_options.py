"""Every value of the chart does something, and that is what its comment says."""

import json
import sys
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml
from rendering import CHART, ROOT, Helm, Manifest, at, example, gateway_config, one_of

sys.path.append(str(ROOT / "tools" / "chart"))  # the generator of the chart's documents is no package

from values_document import values_in
from write_documents import written

CASES: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("options.yaml").read_text())
# What a case of its own shows elsewhere.
SHOWN_ELSEWHERE = {
    "persistence.lossAccepted": "only lets others be: refusals.yaml",
    "injector.imageMirrors": "is in what the webhook reads: test_sidecar_is_injected.py",
    "sidecar.agent.stopSeconds": "counts in what leaving may take: refusals.yaml",
}


@pytest.mark.req("K8S-1", "K8S-2")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["from"])
def test_every_value_does_what_it_says(helm: Helm, case: dict[str, Any]) -> None:
    manifests = helm.manifests(example(case["from"]), case["with"])
    wrong = [
        f"{value}: {place} of {where} is {found!r}, not {wanted!r}"
        for value, where, place, wanted in case["shows"]
        if (found := shown(manifests, where, place)) != wanted
    ]
    assert not wrong


@pytest.mark.req("K8S-2")
def test_every_value_has_a_case() -> None:
    shown_here = {value for case in CASES for value, *_ in case["shows"]}
    values = [one for one in values_in((CHART / "values.yaml").read_text()) if not one.is_section]
    missing = [one.path for one in values if one.path not in shown_here | SHOWN_ELSEWHERE.keys()]
    assert not missing


@pytest.mark.req("K8S-2")
def test_readme_and_schema_are_what_values_and_settings_make_them() -> None:
    stale = [name for name, text in written().items() if (CHART / name).read_text() != text]
    assert not stale, "`make chart` writes them anew"


@pytest.mark.req("K8S-2")
def test_every_mapping_of_the_schema_is_closed() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    own = {key: value for key, value in schema.items() if key != "$defs"}
    open_ones = [place for place, node in objects(own, "") if "additionalProperties" not in node]
    assert not open_ones
    jsonschema_rs.validator_for(schema).validate(yaml.safe_load((CHART / "values.yaml").read_text()))


def objects(node: Any, place: str) -> list[tuple[str, Any]]:
    """The schemas of mappings in a schema."""
    found = [(place, node)] if isinstance(node, dict) and node.get("type") == "object" else []
    below = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return found + [one for key, value in below for one in objects(value, f"{place}/{key}")]


def shown(manifests: list[Manifest], where: str, place: str) -> Any:
    """What stands at a place; `None` when there is nothing."""
    if where == "config":
        return at(gateway_config(manifests), place)
    kind, _, name = where.partition("/")
    if place == "none":
        return [one["metadata"]["name"] for one in manifests if one["kind"] == kind] or None
    return at(one_of(manifests, kind, name), place)
