"""The quick canonical encoder writes what the reference library writes."""

import json

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st
from interlock_gateway.core.document import parse
from interlock_gateway.core.jsonvalue import JsonValue
from interlock_gateway.pipeline.canonical import canonical, canonical_without_floats

WITHOUT_FLOATS = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.req("CHK-3")
@given(st.dictionaries(st.text(), WITHOUT_FLOATS))
def test_both_encoders_agree_on_values_without_floats(value: dict[str, JsonValue]) -> None:
    assert canonical_without_floats(value) == rfc8785.dumps(value)


def test_keys_beyond_the_basic_plane_are_sorted_by_utf_16_unit() -> None:
    value: JsonValue = {"\U00010000": 1, "\ue000": 2, "a": 3}
    assert canonical_without_floats(value) == canonical(value)


@given(st.dictionaries(st.text(), WITHOUT_FLOATS | st.floats(allow_nan=False, allow_infinity=False)))
def test_a_document_says_rightly_whether_it_holds_floats(value: dict[str, object]) -> None:
    document = parse(json.dumps(value).encode(), max_depth=64)
    if document.exact_integers_only:
        assert canonical_without_floats(document.value) == rfc8785.dumps(document.value)
