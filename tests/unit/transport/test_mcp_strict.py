"""What is let through to MCP's SDK is read alike by every reader there is (SEC-1)."""

import json
from typing import Any

import pydantic_core
import pytest
from hypothesis import given
from hypothesis import strategies as st
from interlock_gateway.transport.mcp.strict import BadMessageError, read_message

INTEGERS = st.integers(-(2**53) + 1, 2**53 - 1)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | INTEGERS | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)
DAMAGE = (b'"', b"\\", b"0", b"e9", b"{", b",", b"\x00", b"\xed\xa0\x80", b"-", b"\\ud800", b" ")
MESSAGES = st.dictionaries(TEXTS, VALUES, max_size=4)


@pytest.mark.req("SEC-1", "MCP-1")
@given(MESSAGES, st.booleans())
def test_what_is_strict_json_is_read_as_it_is(message: dict[str, Any], ascii_only: bool) -> None:
    assert read_message(json.dumps(message, ensure_ascii=ascii_only).encode(), max_depth=64) == message


@pytest.mark.req("SEC-1", "MCP-1")
@given(MESSAGES, st.data())
def test_what_is_let_through_is_read_alike_by_others(message: dict[str, Any], data: st.DataObject) -> None:
    raw = bytearray(json.dumps(message).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at : at + data.draw(st.integers(0, 2))] = data.draw(st.sampled_from(DAMAGE))
    try:
        read = read_message(bytes(raw), max_depth=64)
    except BadMessageError:
        return
    assert read == json.loads(raw) == pydantic_core.from_json(bytes(raw))


@pytest.mark.req("SEC-1")
@pytest.mark.parametrize(
    ("raw", "request_id"),
    [(b'{"id":7,"a":NaN}', 7), (b'{"id":"x","a":1,"a":2}', "x"), (b'{"id":true,"a":NaN}', None), (b"[1", None)],
)
def test_a_refusal_is_answered_to_whoever_waits_for_it(raw: bytes, request_id: object) -> None:
    with pytest.raises(BadMessageError) as refused:
        read_message(raw, max_depth=64)
    answer = json.loads(refused.value.answer())
    assert (answer["id"], answer["error"]["code"]) == (request_id, -32700)
