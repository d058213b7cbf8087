"""Every configuration that docs/identity.md shows is accepted as it stands there."""

from pathlib import Path

import pytest
from interlock_gateway.config_loader import load_config
from interlock_gateway.identity.refusals import Refusal
from snippets import Snippet, snippets_in

DOCUMENT = "docs/identity.md"
TEXT = (Path(__file__).resolve().parents[3] / DOCUMENT).read_text(encoding="utf-8")
SNIPPETS = [one for one in snippets_in(DOCUMENT, TEXT) if one.language == "yaml"]


@pytest.mark.parametrize("snippet", SNIPPETS, ids=[one.place for one in SNIPPETS])
def test_a_configuration_of_the_document_is_accepted(snippet: Snippet, tmp_path: Path) -> None:
    file = tmp_path / "interlock.yaml"
    file.write_text(snippet.body)
    load_config(file, {})


def test_there_are_some() -> None:
    assert len(SNIPPETS) >= 6


def test_reasons_that_the_document_names_exist() -> None:
    named = {"certificate_unknown", "jwt_expired", "jwt_audience", "no_role", "jwt_issuer", "keys_unavailable"}
    assert named <= {reason.value for reason in Refusal}
    assert all(f"`{reason}`" in TEXT for reason in named)
