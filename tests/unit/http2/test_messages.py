"""Messages as gRPC frames them: whatever way they are cut, the same messages come out, and nothing large is held."""

import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from interlock_gateway.http2.messages import Assembler, CompressedMessageError, LargeMessageError, framed


@given(st.lists(st.binary(max_size=300), max_size=8), st.lists(st.integers(0, 2600), max_size=12))
def test_however_the_bytes_are_cut_the_same_messages_come_out(messages: list[bytes], cuts: list[int]) -> None:
    sent = b"".join(framed(message) for message in messages)
    places = sorted({0, len(sent), *(min(cut, len(sent)) for cut in cuts)})
    for large in (50, 100_000):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("interlock_gateway.http2.messages.LARGE_BYTES", large)
            assembler = Assembler(300)
            found = [m for start, end in pairwise(places) for m in assembler.feed(sent[start:end])]
        assert found == messages
        assert assembler.held == 0


def test_what_is_left_of_a_message_counts_as_held() -> None:
    assembler = Assembler(100)
    assert assembler.feed(framed(b"whole") + framed(b"half of it")[:9]) == [b"whole"]
    assert assembler.held == 9
    assert assembler.feed(framed(b"half of it")[9:]) == [b"half of it"]


def test_what_there_is_of_a_large_message_counts_as_held_and_what_comes_behind_it_is_another() -> None:
    assembler = Assembler(200_000)
    large = framed(b"x" * 200_000)
    assert assembler.feed(large[:150_000]) == []
    assert assembler.held == 150_000
    assert assembler.feed(large[150_000:] + framed(b"next") + b"\0") == [b"x" * 200_000, b"next"]
    assert assembler.held == 1


@pytest.mark.parametrize("before", [b"", framed(b"first")])
def test_a_message_that_is_too_large_is_refused_by_its_length_alone(before: bytes) -> None:
    with pytest.raises(LargeMessageError, match="a message has 101 bytes; at most 100 are accepted"):
        Assembler(100).feed(before + framed(b"x" * 101)[:5])


@pytest.mark.parametrize("flags", [1, 2, 255])
def test_a_compressed_message_is_refused(flags: int) -> None:
    with pytest.raises(CompressedMessageError):
        Assembler(100).feed(bytes([flags]) + framed(b"x")[1:])


@pytest.mark.parametrize("size", [40_000, 140_000])
def test_a_message_in_pieces_of_two_bytes_takes_little_more_than_its_size(size: int) -> None:
    assembler = Assembler(size)
    tracemalloc.start()
    try:
        assembler.feed(framed(b"x" * size)[:5])
        for n in range(size // 2 - 1):
            assembler.feed(b"%02d" % (n % 100))
        assert tracemalloc.get_traced_memory()[0] < 2 * size
    finally:
        tracemalloc.stop()
