"""What a process does that reads large inputs and nothing else (REL-7; decision 0121).

`aside_worker` has how it is asked: with the depth that is allowed, the schema of the input's tool, and the input. First
come the pieces of the canonical form, then those from which the value is put together again, then one if the schema
finds it unfit, and last whether all numbers were integers, with the digest of the input's bytes; or what is wrong with
the input's text, and nothing else.
"""

import hashlib
import marshal
import struct
from collections.abc import Iterator
from typing import Any

from interlock_gateway.core.document import InvalidDocumentError, parse
from interlock_gateway.core.jsonvalue import JsonValue
from interlock_gateway.pipeline.canonical import canonical_pieces, canonical_without_floats

REQUEST = struct.Struct("<HII")
WRONG, CANONICAL, UNFIT, EXACT, INEXACT = b"w", b"c", b"u", b"e", b"i"
VALUE, KEY, MEMBERS, ITEMS = b"v", b"k", b"m", b"l"
OBJECT, ARRAY, TEXT, CLOSE = b"o", b"a", b"t", b"z"
PIECE_BYTES = 64 * 1024
"""About how large a piece of a value is: what the gateway makes of it in one step takes well below a millisecond."""
CANONICAL_BYTES = 256 * 1024


def pieces_of(value: JsonValue) -> Iterator[tuple[bytes, bytes]]:
    """What a value is put together from again, in order. Texts and containers come in parts."""
    if isinstance(value, str) and len(value) > PIECE_BYTES:
        yield TEXT, b""
        for at in range(0, len(value), PIECE_BYTES):
            yield VALUE, marshal.dumps(value[at : at + PIECE_BYTES])
        yield CLOSE, b""
    elif isinstance(value, dict):
        yield OBJECT, b""
        yield from _parts(list(value.items()), MEMBERS, dict)
        yield CLOSE, b""
    elif isinstance(value, list):
        yield ARRAY, b""
        yield from _parts(value, ITEMS, list)
        yield CLOSE, b""
    else:
        yield VALUE, marshal.dumps(value)


def _parts(items: list[Any], kind: bytes, together: type[dict[str, Any] | list[Any]]) -> Iterator[tuple[bytes, bytes]]:
    """The parts of a container: as many items as fit into a piece, and what fits into none by itself."""
    at, count = 0, 1
    while at < len(items):
        some = marshal.dumps(together(items[at : at + count]))
        if len(some) <= PIECE_BYTES:
            yield kind, some
            at += count
            # As far as it can be told: that it is too much is found out by writing it.
            count *= 2 if 2 * len(some) <= PIECE_BYTES else 1
        elif count > 1:
            yield from _one_by_one(items[at : at + count], kind, together)
            at, count = at + count, 1
        else:
            yield from _large(items[at], kind)
            at += 1


def _one_by_one(
    items: list[Any], kind: bytes, together: type[dict[str, Any] | list[Any]]
) -> Iterator[tuple[bytes, bytes]]:
    """The parts of items that fit into no piece together.

    Each is written out once to see how large it is: one that is large may hold another, and so on.
    """
    few: list[Any] = []
    room = PIECE_BYTES
    for item in items:
        size = len(marshal.dumps(together([item])))
        if few and size > room:
            yield kind, marshal.dumps(together(few))
            few, room = [], PIECE_BYTES
        if size > PIECE_BYTES:
            yield from _large(item, kind)
        else:
            few.append(item)
            room -= size
    if few:
        yield kind, marshal.dumps(together(few))


def _large(item: Any, kind: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The parts of an item that fits into no piece by itself."""
    if kind == MEMBERS:
        key, item = item
        yield KEY, marshal.dumps(key)
    yield from pieces_of(item)


def answers(max_depth: int, schema: bytes, raw: bytes) -> Iterator[tuple[bytes, bytes | memoryview]]:
    """The pieces of the answer to one request."""
    try:
        document = parse(raw, max_depth=max_depth)
    except InvalidDocumentError as error:
        yield WRONG, error.message.encode("utf-8", "surrogatepass")
        return
    exact = document.exact_integers_only
    for piece in _canonical(document.value, exact=exact):
        yield CANONICAL, piece
    yield from pieces_of(document.value)
    if schema and not _fits(schema, document.value):
        yield UNFIT, b""
    yield EXACT if exact else INEXACT, hashlib.sha256(raw).hexdigest().encode()


def _canonical(value: JsonValue, *, exact: bool) -> Iterator[bytes | memoryview]:
    """The canonical form in pieces. With fractions in it making it takes long; the gateway hears of it meanwhile."""
    if exact:
        text = memoryview(canonical_without_floats(value))
        for at in range(0, len(text), CANONICAL_BYTES):
            yield text[at : at + CANONICAL_BYTES]
        return
    gathered = bytearray()
    for piece in canonical_pieces(value, exact_integers_only=False):
        gathered += piece
        if len(gathered) >= CANONICAL_BYTES:
            yield bytes(gathered)
            gathered.clear()
    yield bytes(gathered)


def _fits(schema: bytes, value: JsonValue) -> bool:
    from interlock_gateway.pipeline.schema import compiled_schema  # noqa: PLC0415 - 5 MiB, and not every tool needs it

    return compiled_schema(schema).is_valid(value)
