"""``values.schema.json`` of the chart: ``values_schema.yaml``, with Kubernetes' definitions and those of the gateway.

Every mapping is closed. Kubernetes' definitions are the newest that ``kubernetes-validate`` brings, and the gateway's
are ``docs/config.schema.json``; of both only what is used, without prose.
"""

import json
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias

import yaml

Json: TypeAlias = Any
HERE = Path(__file__).resolve().parent
SOURCE = HERE / "values_schema.yaml"
GATEWAY = HERE.parents[1] / "docs" / "config.schema.json"
KUBERNETES = "1.37"
KUBE, OWN = "kube:", "gateway."
PROSE = frozenset({"title", "description", "default", "$schema", "$id"})
NO_WORDS: dict[str, Json] = {
    "string": {"type": "string"},
    "filled": {"type": "string", "minLength": 1},
    "name": {"type": "string", "pattern": "^([a-z0-9]([a-z0-9-]*[a-z0-9])?)?$"},
    "flag": {"type": "boolean"},
    "count": {"type": "integer", "minimum": 1},
    "seconds": {"type": "integer", "minimum": 1},
    "quantity": {"type": "string", "pattern": "^[0-9]+(\\.[0-9]+)?([KMGTPE]i?|m|k)?$"},
    "anything": {},
}


def values_schema() -> dict[str, Json]:
    """The whole schema."""
    source = yaml.safe_load(SOURCE.read_text(encoding="utf-8"))
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **compiled(source)}
    return {**schema, "$defs": used(schema)}


UNNAMED = {"volume": "Volume", "container": "Container"}
"""Definitions of which the name may be missing: the chart gives a volume its name, and no agent is `{}`."""


def definition(name: str) -> Json:
    """One of the definitions that a schema may refer to."""
    if name.startswith(OWN):
        gateway = own()
        below = name.removeprefix(OWN)
        whole = {key: value for key, value in gateway.items() if key != "$defs"}
        return bare(whole if below == "Config" else gateway["$defs"][below], "", OWN)
    if name in UNNAMED:
        named_one = definition(f"api.core.v1.{UNNAMED[name]}")
        return {**named_one, "required": [one for one in named_one.get("required", []) if one != "name"]}
    return bare(kubernetes()[f"io.k8s.{name}"], "io.k8s.", "")


@cache
def own() -> Json:
    """The schema of the gateway's configuration."""
    return json.loads(GATEWAY.read_text(encoding="utf-8"))


@cache
def kubernetes() -> Json:
    """Kubernetes' definitions by their names."""
    folder = files("kubernetes_validate") / "kubernetes-json-schema" / f"v{KUBERNETES}.0-local-strict"
    return json.loads((folder / "_definitions.json").read_text(encoding="utf-8"))["$defs"]


def compiled(node: Json) -> dict[str, Json]:
    """The JSON Schema of one node of the source."""
    if isinstance(node, str):
        return named(node)
    words = {key.removeprefix("$"): value for key, value in node.items() if key.startswith("$")}
    if "list" in words:
        return {"type": "array", "items": compiled(words.pop("list")), **words}
    if "map" in words:
        closed = {"type": "object", "additionalProperties": compiled(words["map"])}
        return closed | ({"propertyNames": {"pattern": words["names"]}} if "names" in words else {})
    if "need" not in words and words:
        return words
    below = {key: compiled(value) for key, value in node.items() if not key.startswith("$")}
    need = {"required": words["need"]} if "need" in words else {}
    return {"type": "object", "additionalProperties": False, "properties": below, **need}


def named(word: str) -> dict[str, Json]:
    """What one word of the source stands for."""
    if word == "gateway":
        return {"$ref": f"#/$defs/{OWN}Config"}
    if word == "selector":
        return {"$ref": "#/$defs/apimachinery.pkg.apis.meta.v1.LabelSelector"}
    if word in UNNAMED:
        return {"$ref": f"#/$defs/{word}"}
    if word.startswith(KUBE):
        return {"$ref": f"#/$defs/{word.removeprefix(KUBE)}"}
    return dict(NO_WORDS[word])


def bare(node: Json, without: str, prefix: str) -> Json:
    """A schema without prose, whose references begin otherwise. Properties that have a name of prose stay."""
    if isinstance(node, list):
        return [bare(one, without, prefix) for one in node]
    if not isinstance(node, dict):
        return node
    kept: dict[str, Json] = {}
    for key, value in node.items():
        if key == "$ref":
            kept[key] = f"#/$defs/{prefix}{value.rpartition('/')[2].removeprefix(without)}"
        elif key == "properties":
            kept[key] = {name: bare(one, without, prefix) for name, one in value.items()}
        elif key not in PROSE and not key.startswith("x-"):
            kept[key] = bare(value, without, prefix)
    return kept


def used(schema: Json) -> dict[str, Json]:
    """What a schema refers to, and what that does."""
    found: dict[str, Json] = {}
    waiting = list(references(schema))
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = definition(name)
            waiting += references(found[name])
    return dict(sorted(found.items()))


def references(node: Json) -> Iterator[str]:
    """Give the names of the definitions that a schema refers to."""
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"].removeprefix("#/$defs/")
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for one in node:
            yield from references(one)
