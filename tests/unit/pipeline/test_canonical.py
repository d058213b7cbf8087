"""The quick canonical encoder writes what the reference library writes."""

import json

import pytest
import rfc8785
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from interlock_gateway.core.document import parse
from interlock_gateway.core.jsonvalue import JsonValue
from interlock_gateway.pipeline.canonical import canonical, canonical_pieces, canonical_without_floats

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


LONG = st.text(min_size=1, max_size=4).map(lambda text: text * 40_000)


@pytest.mark.req("CHK-3")
@given(
    st.dictionaries(
        st.text(),
        LONG
        | st.recursive(
            WITHOUT_FLOATS | st.floats(allow_nan=False, allow_infinity=False) | LONG,
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
            max_leaves=8,
        ),
        max_size=3,
    )
)
@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None)
def test_the_pieces_of_a_large_value_are_what_the_reference_library_writes(value: dict[str, JsonValue]) -> None:
    document = parse(json.dumps(value).encode(), max_depth=64)
    pieces = b"".join(canonical_pieces(document.value, exact_integers_only=document.exact_integers_only))
    assert pieces == rfc8785.dumps(document.value)
