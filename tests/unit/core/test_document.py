"""Input read strictly, and cut without touching what stays (PIPE-3, CONF-5)."""

import gc
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from interlock_gateway.core.document import InvalidDocumentError, parse
from interlock_gateway.core.jsonvalue import JsonValue

TEXT = st.text(st.characters(codec="utf-8"))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
)
OBJECTS = st.dictionaries(TEXT, VALUES)


@pytest.mark.req("PIPE-3")
@given(OBJECTS, st.sampled_from([None, 1, "\t"]))
def test_what_is_parsed_is_what_was_sent(value: dict[str, object], indent: int | str | None) -> None:
    raw = json.dumps(value, indent=indent).encode()
    document = parse(raw, max_depth=64)
    assert document.raw == raw
    assert document.value == value


@pytest.mark.req("CONF-5", "PIPE-3")
@given(OBJECTS, st.data())
def test_cutting_a_field_leaves_every_other_byte(value: dict[str, object], data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(value)) if value else st.just("absent"))
    document = parse(json.dumps(value, indent=2).encode(), max_depth=64)
    cut = document.without(frozenset({name}))
    rest = {key: item for key, item in value.items() if key != name}
    assert json.loads(cut.raw) == rest == cut.value
    for key, item in rest.items():
        assert f"{json.dumps(key)}: " in cut.raw.decode()
        if not isinstance(item, dict | list):
            assert f"{json.dumps(key)}: {json.dumps(item)}" in cut.raw.decode()


@given(OBJECTS, OBJECTS)
def test_setting_fields_replaces_or_adds_them(value: dict[str, JsonValue], more: dict[str, JsonValue]) -> None:
    document = parse(json.dumps(value).encode(), max_depth=64).with_fields(more)
    assert json.loads(document.raw) == {**value, **more} == document.value


@pytest.mark.req("PIPE-3")
@given(st.binary(max_size=200))
def test_any_bytes_are_a_document_or_a_refusal(raw: bytes) -> None:
    try:
        document = parse(raw, max_depth=64)
    except InvalidDocumentError:
        return
    assert json.loads(raw) == document.value


@pytest.mark.parametrize(("depth", "fits"), [(64, True), (65, False)])
def test_nesting_is_counted_from_the_outermost_object(depth: int, *, fits: bool) -> None:
    raw = (b'{"a":' * (depth - 1)) + b"{}" + b"}" * (depth - 1)
    if fits:
        assert parse(raw, max_depth=64).raw == raw
    else:
        with pytest.raises(InvalidDocumentError, match="deeper than 64"):
            parse(raw, max_depth=64)


@pytest.mark.req("PERF-3")
def test_reading_leaves_nothing_to_collect() -> None:
    gc.collect()
    gc.disable()
    try:
        for _ in range(100):
            parse(b'{"text":"x","n":[1,2.5]}', max_depth=64)
        assert gc.collect() < 100
    finally:
        gc.enable()
