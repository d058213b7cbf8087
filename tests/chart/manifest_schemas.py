"""Kubernetes' own schemas of manifests, by its minor versions; fields that it does not know are errors."""

import json
from functools import cache
from importlib.resources import files
from typing import Any

import jsonschema_rs


@cache
def definitions(version: str) -> Any:
    folder = files("kubernetes_validate") / "kubernetes-json-schema" / f"v{version}.0-local-strict"
    return json.loads((folder / "_definitions.json").read_text())["$defs"]


@cache
def kinds(version: str) -> dict[tuple[str, str, str], str]:
    named = definitions(version).items()
    word = "x-kubernetes-group-version-kind"
    return {(one["group"], one["version"], one["kind"]): name for name, all_ in named for one in all_.get(word, [])}


@cache
def validator(version: str, api: str, kind: str) -> Any:
    group, _, number = api.rpartition("/")
    name = kinds(version)[group, number, kind]
    return jsonschema_rs.validator_for({"$ref": f"#/$defs/{name}", "$defs": definitions(version)})
