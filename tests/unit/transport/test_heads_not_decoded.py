"""What heads cost that are only looked at: no more than those who are served can spare, whatever is in them (SEC-7)."""

import pytest
from interlock_gateway.transport.http2.blocks import Blocks

POST, FIXED, TIMEOUT = b"\x83", b"\x40\x01x\x01y", b"\x40\x0cgrpc-timeout\x021S"


@pytest.fixture
def blocks() -> Blocks:
    return Blocks()


@pytest.mark.req("REL-8", "SEC-7")
def test_a_head_of_thousands_of_fields_is_not_taken_apart(blocks: Blocks) -> None:
    assert blocks.passes(POST * 64)
    assert not blocks.passes(POST * 65)
    assert not blocks.passes(POST * 16_000)


@pytest.mark.req("REL-8", "SEC-7")
def test_nothing_grows_with_what_is_added_to_the_table(blocks: Blocks) -> None:
    assert blocks.passes(POST + FIXED + TIMEOUT)
    head = [(b":method", b"POST"), (b"x", b"y"), (b"grpc-timeout", b"1S")]
    assert blocks.learn(POST + FIXED + TIMEOUT, head, lambda name: name == b"grpc-timeout")
    for _ in range(2000):
        assert blocks.passes(b"\x40\x01z\x00")
    assert all(len(part.longer) <= 256 for part in blocks._parts)


@pytest.mark.req("REL-8", "SEC-7")
def test_another_size_of_the_table_is_no_field_that_varies(blocks: Blocks) -> None:
    assert blocks.passes(POST + TIMEOUT)
    assert blocks.learn(
        POST + TIMEOUT, [(b":method", b"POST"), (b"grpc-timeout", b"1S")], lambda name: name[:1] == b"g"
    )
    assert blocks.matches(POST + b"\x0f\x2f\x021S")
    assert not blocks.matches(POST + b"\x3f\x2f\x021S")
