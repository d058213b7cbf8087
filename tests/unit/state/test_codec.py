from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from types import NoneType
from typing import Any, get_args, get_origin

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interlock_gateway.core.call import CallResult, CallStatus
from interlock_gateway.core.content import Text
from interlock_gateway.core.jsonvalue import JsonValue
from interlock_gateway.core.operation import Operation
from interlock_gateway.core.outcome import StandingHandler
from interlock_gateway.core.pending import PendingAction
from interlock_gateway.core.session import Session
from interlock_gateway.pipeline.ports import StoredFormatError
from interlock_gateway.state.codec import decode_result, encode_result
from interlock_gateway.state.record_codec import RecordCodec

SCALARS: dict[Any, st.SearchStrategy[Any]] = {
    str: st.text(),
    bytes: st.binary(max_size=40),
    bool: st.booleans(),
    int: st.integers(),
    float: st.floats(allow_nan=False),
}
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


def values_of(hint: Any) -> st.SearchStrategy[Any]:
    """Every value that a field of the type `hint` may have, so that a new field is tried as soon as it is there."""
    if hint == JsonValue or hint in SCALARS:
        return SCALARS.get(hint, JSON)
    if isinstance(hint, type) and is_dataclass(hint):
        return st.builds(hint, **{field.name: values_of(field.type) for field in fields(hint)})
    if isinstance(hint, type) and issubclass(hint, Enum):
        return st.sampled_from(hint)
    if get_origin(hint) is Mapping:
        return st.dictionaries(st.text(), JSON, max_size=3)
    if get_origin(hint) is tuple:
        return st.lists(values_of(get_args(hint)[0]), max_size=3).map(tuple)
    return st.one_of(*(st.none() if member is NoneType else values_of(member) for member in get_args(hint)))


@settings(deadline=None)
@given(values_of(CallResult))
@pytest.mark.req("PIPE-10")
def test_a_result_comes_back_exactly(result: CallResult) -> None:
    assert decode_result(encode_result(result)) == result


@pytest.mark.parametrize("kind", [Session, Operation, PendingAction, StandingHandler])
def test_every_other_record_comes_back_exactly(kind: type[Any]) -> None:
    codec = RecordCodec(kind)

    @settings(deadline=None)
    @given(values_of(kind))
    def check(record: Any) -> None:
        assert codec.decode(codec.encode(record)) == record

    check()


def test_a_document_is_plain_ascii_json_without_what_says_nothing() -> None:
    document = encode_result(CallResult("c", CallStatus.COMPLETED, content=(Text("é"),)))

    assert document == (
        b'{"version":1,"result":{"call_id":"c","status":"completed","content":[{"kind":"Text","text":"\\u00e9"}]}}'
    )


def test_a_number_that_json_does_not_know_does_not_lose_the_result() -> None:
    decoded = decode_result(encode_result(CallResult("c", CallStatus.COMPLETED, data=float("inf"), has_data=True)))

    assert decoded.data == float("inf")


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"[]",
        b"{}",
        b'{"version":2,"result":{"call_id":"c","status":"completed"}}',
        b'{"version":1,"result":{"call_id":"c","status":"excellent"}}',
        b'{"version":1,"result":{"call_id":"c"}}',
        b'{"version":1,"result":{"call_id":"c","status":"completed","content":[{"kind":"Video"}]}}',
        b'{"version":1,"result":{"call_id":"c","status":"completed","content":[{"kind":"Image","data":"%"}]}}',
    ],
)
def test_a_document_of_another_format_is_refused(document: bytes) -> None:
    with pytest.raises(StoredFormatError):
        decode_result(document)


def test_a_document_of_before_is_read_with_the_defaults_of_what_came_later() -> None:
    @dataclass(frozen=True)
    class Before:
        name: str

    @dataclass(frozen=True)
    class Now:
        name: str
        colour: str = "red"

    assert RecordCodec(Now).decode(RecordCodec(Before).encode(Before("x"))) == Now("x", "red")


def test_a_record_that_cannot_be_kept_is_refused_when_it_is_declared() -> None:
    @dataclass(frozen=True)
    class Odd:
        things: set[int]

    with pytest.raises(TypeError, match="no way to keep"):
        RecordCodec(Odd)
