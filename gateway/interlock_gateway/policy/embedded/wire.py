"""What goes over the socket between the gateway and a worker: frames of a four-byte length and a payload."""

from collections.abc import Iterable
from enum import IntEnum

LENGTH_BYTES = 4
MAX_FRAME = 2**32 - 1
LARGE_BYTES = 64 * 1024


class Reply(IntEnum):
    """The first byte of a worker's reply. `worker.py` holds the same numbers, because it imports nothing of ours."""

    OK = 0
    UNDEFINED = 1
    ERROR = 2
    PANIC = 3


def frame(payload: bytes) -> bytes:
    """`payload` as one frame. Its length is below 4 GiB."""
    return payload_length(payload) + payload


def frame_parts(payload: bytes) -> tuple[bytes, ...]:
    """The same to be written one after the other: what is large is not copied for its four bytes."""
    if len(payload) <= LARGE_BYTES:
        return (frame(payload),)
    return payload_length(payload), payload


def payload_length(payload: bytes) -> bytes:
    """What stands before a payload."""
    return len(payload).to_bytes(LENGTH_BYTES, "little")


def pack(parts: Iterable[str]) -> bytes:
    """Texts as one payload, each behind its length: what a worker is loaded with."""
    return b"".join(frame(part.encode()) for part in parts)
