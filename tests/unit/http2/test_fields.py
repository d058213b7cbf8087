"""Header fields as gRPC uses them, read strictly and written so that every client understands them."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st
from interlock_gateway.http2.fields import (
    LONGEST_S,
    Metadata,
    binary,
    escaped,
    first_of,
    is_grpc,
    seconds_of,
    timeout_of,
    unescaped,
)


@pytest.mark.parametrize(
    ("timeout", "seconds"),
    [(b"2H", 7200.0), (b"3M", 180.0), (b"4S", 4.0), (b"500m", 0.5), (b"6u", 6e-6), (b"7n", 7e-9), (b"0S", 0.0)],
)
def test_a_timeout_is_read_in_every_unit(timeout: bytes, seconds: float) -> None:
    assert seconds_of(timeout) == pytest.approx(seconds)


def test_a_timeout_beyond_a_year_is_a_year() -> None:
    assert seconds_of(b"99999999H") == LONGEST_S


@pytest.mark.parametrize("timeout", [b"", b"5", b"S", b"-1S", b"1.5S", b"123456789S", b"5s", b"5 S", b"\xd9\xa3S"])
def test_a_malformed_timeout_is_refused(timeout: bytes) -> None:
    with pytest.raises(ValueError, match="grpc-timeout"):
        seconds_of(timeout)


@given(st.floats(0.001, 90_000.0))
def test_a_timeout_that_is_written_is_read_as_the_same_milliseconds(seconds: float) -> None:
    assert -1e-9 <= seconds - seconds_of(timeout_of(seconds)) < 0.0011


@given(st.text())
def test_a_message_goes_over_the_wire_as_printable_ascii_and_comes_back(message: str) -> None:
    sent = escaped(message)
    assert all(0x20 <= code < 0x7F for code in sent)
    assert unescaped(sent) == message.encode(errors="replace").decode()


@given(st.binary(max_size=40))
def test_a_status_of_other_hands_never_fails_to_be_read(message: bytes) -> None:
    assert isinstance(unescaped(message), str)


@given(st.binary(max_size=40))
def test_binary_metadata_comes_as_bytes(value: bytes) -> None:
    assert list(Metadata([(b":path", b"/x"), (b"trace-bin", binary(value)), (b"a", b"b")])) == [
        ("trace-bin", value),
        ("a", "b"),
    ]


def test_metadata_that_is_neither_text_nor_base64_is_left_out() -> None:
    padded = base64.b64encode(b"x")
    fields = [(b"a", b"\xff"), (b"b-bin", b"?!"), (b"c-bin", padded + b"," + padded)]
    assert list(Metadata(fields)) == [("c-bin", b"x"), ("c-bin", b"x")]


def test_of_a_field_that_came_twice_the_first_counts() -> None:
    assert first_of([(b"a", b"1"), (b"a", b"2")]) == {b"a": b"1"}


@pytest.mark.parametrize("kind", [b"application/grpc", b"application/grpc+proto", b"application/grpc;x=y"])
def test_the_content_types_of_grpc_are_known(kind: bytes) -> None:
    assert is_grpc(kind)


@pytest.mark.parametrize("kind", [b"", b"application/json", b"application/grpc-web", b"text/application/grpc"])
def test_other_content_types_are_not(kind: bytes) -> None:
    assert not is_grpc(kind)
