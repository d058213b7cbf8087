"""The values in docs/kubernetes.md render, and its manifests are valid."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from manifest_schemas import validator
from rendering import ROOT, Helm, RefusedError, Values
from snippets import snippets_in

DOCUMENT = "docs/kubernetes.md"
TITLE = re.compile(r"# (?P<file>[\w-]+\.yaml)(?P<besides>, besides)?\n")


def yaml_blocks() -> Iterator[tuple[int, str]]:
    text = (ROOT / DOCUMENT).read_text(encoding="utf-8")
    yield from ((one.line, one.body) for one in snippets_in(DOCUMENT, text) if one.language == "yaml")


def values_shown() -> Iterator[tuple[str, list[Values]]]:
    """Give each values file, and each with what is shown besides."""
    files: dict[str, Values] = {}
    for line, body in yaml_blocks():
        if titled := TITLE.match(body):
            values = yaml.safe_load(body)
            if titled["besides"]:
                yield f"{titled['file']} and line {line}", [files[titled["file"]], values]
            else:
                files[titled["file"]] = values
                yield titled["file"], [values]


@pytest.mark.req("K8S-1")
@pytest.mark.parametrize(("name", "values"), [pytest.param(*one, id=one[0]) for one in values_shown()])
def test_the_values_of_the_document_render(helm: Helm, name: str, values: list[Values]) -> None:
    assert helm.manifests(*values), name


def test_the_manifests_of_the_document_are_valid() -> None:
    manifests: list[Any] = [yaml.safe_load(body) for _, body in yaml_blocks() if not TITLE.match(body)]
    assert manifests
    for one in manifests:
        validator("1.37", one["apiVersion"], one["kind"]).validate(one)


def test_what_the_chart_says_without_values_is_what_the_document_shows(helm: Helm) -> None:
    with pytest.raises(RefusedError) as caught:
        helm.text()
    text = (ROOT / DOCUMENT).read_text(encoding="utf-8")
    assert "\n".join(f"- {one}" for one in caught.value.sentences) in text
