"""Frames and heads as they are written (RFC 9113, section 4.1; RFC 7541, section 6.2.2)."""

from struct import Struct

from interlock_gateway.http2.fields import Fields

HEAD_BYTES = 9
PREFACE_BYTES = 24
"""What a client says before its first frame."""
HEADERS, PUSH_PROMISE, WINDOW_UPDATE, CONTINUATION = 0x1, 0x5, 0x8, 0x9
END_STREAM, END_HEADERS = 0x1, 0x4
FRAME = Struct(">IBi")
"""How a frame begins: its length and, in the last byte, its type; its flags; its stream,
which is less than 0 when the bit that has no meaning is set."""
ID = Struct(">I")
_LONG = 0x7F
_MORE = 0x80


def frame(kind: int, flags: int, stream_id: int, payload: bytes) -> bytes:
    """One frame."""
    return FRAME.pack(len(payload) << 8 | kind, flags, stream_id) + payload


def window_update(count: int) -> bytes:
    """Says that so many more bytes may come on the connection."""
    return frame(WINDOW_UPDATE, 0, 0, ID.pack(count))


def written_out(fields: Fields) -> bytes:
    """A head that adds nothing to the table that both ends keep, and stands for the same whatever is in it."""
    return b"".join(b"\0" + _text(name) + _text(value) for name, value in fields)


def _text(said: bytes) -> bytes:
    length = len(said)
    if length < _LONG:
        return bytes((length,)) + said
    begin, length = bytearray((_LONG,)), length - _LONG
    while length >= _MORE:
        begin.append(_MORE | length & 0x7F)
        length >>= 7
    begin.append(length)
    return bytes(begin) + said
