"""What both ends of a connection say to each other: frames of a kind, a call's number, JSON and bytes.

A frame is 17 bytes (kind, number, length of the JSON, length of the bytes), then both. Whoever reads looks at the
lengths before it reads on, so that nobody holds more than was agreed on.
"""

import json
import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from interlock.toolbox.operations import Place

HEADER = struct.Struct(">BQII")
PIECE = 256 * 1024
MAX_WORDS = 16 * 1024 * 1024
"""The most bytes of JSON in a frame."""
WINDOW = 1024 * 1024
"""How much of a command's output may be under way before the near end says that it took some."""
IN_FLIGHT = 32
READY = b"\nINTERLOCK-READY\n"
PING_S = 10.0
SILENCE_S = 60.0
"""How long an end waits for any sign of the other, which says something every `PING_S`."""


class Sort(IntEnum):
    """What a frame is. Those below 16 come from the near end, the others from the far one."""

    CALL = 1
    CANCEL = 2
    TOOK = 3
    PING = 4
    ANSWER = 16
    FAILURE = 17
    OUTPUT = 18
    PONG = 19


class BadFrameError(Exception):
    """What came is not what was agreed on; there is no going on with such a peer."""


@dataclass(frozen=True, slots=True)
class Head:
    """The first bytes of a frame."""

    sort: Sort
    number: int
    words: int
    content: int


def head_of(data: bytes) -> Head:
    """The head that these bytes are. Raises BadFrameError."""
    sort, number, words, content = HEADER.unpack(data)
    try:
        return Head(Sort(sort), number, words, content)
    except ValueError:
        raise BadFrameError("a frame of no known kind") from None


def packed(sort: Sort, number: int = 0, words: Any = None, content: bytes = b"") -> bytes:
    """A frame but for its bytes, which follow. Raises BadFrameError when its JSON is larger than frames may be."""
    text = b"" if words is None else json.dumps(words, separators=(",", ":")).encode()
    if len(text) > MAX_WORDS:
        raise BadFrameError("more than fits in one frame")
    return HEADER.pack(sort, number, len(text), len(content)) + text


def words_of(data: bytes) -> Any:
    """The JSON of a frame, None when there is none. Raises BadFrameError."""
    if not data:
        return None
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise BadFrameError("a frame that is no JSON") from None


def place_words(place: Place) -> list[Any]:
    """A place in JSON."""
    return [place.root, place.parts, place.given]


def place_from(words: Any) -> Place:
    """The place that JSON says."""
    root, parts, given = words
    return Place(str(root), tuple(map(str, parts)), str(given))
