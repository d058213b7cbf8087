"""The reference of the SDK says what the docstrings say, of every public name."""

import pytest
from reference_document import DOCUMENT, MODULES, document
from test_sdk_public_surface import PUBLIC


@pytest.mark.req("SDK-1")
def test_the_reference_is_what_the_docstrings_say() -> None:
    assert DOCUMENT.read_text() == document(), "run make reference"


@pytest.mark.req("SDK-1")
def test_the_reference_has_every_public_module() -> None:
    assert {name for name in MODULES if not name.startswith("interlock.adapters")} == set(PUBLIC)


@pytest.mark.req("SDK-1")
def test_a_client_s_method_is_shown_as_it_is_called() -> None:
    text = document()
    assert "- `await call(tool: str, input: Json | None = None, *, " in text
    assert "-> CallResult`" in text
    assert "- `async for … in stream(tool: str, " in text
