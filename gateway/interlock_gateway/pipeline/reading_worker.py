"""A process that reads large inputs and nothing else (REL-7; decision 0121).

It is started as a script in an isolated interpreter. Arguments: the socket's descriptor, then the directories in which
its imports lie. A request is the input's length, the depth that is allowed, the length of its tool's schema, then that
schema and the input. The answer is pieces, each a letter and a length before its bytes. First come the pieces of the
canonical form, then those from which the value is put together again, then one if the schema finds it unfit, and last
whether all numbers were integers, with the digest of the input's bytes; or what is wrong with the input's text,
and nothing else.
"""

import gc
import hashlib
import json
import marshal
import resource
import socket
import struct
import sys
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from interlock_gateway.core.jsonvalue import JsonValue
    from interlock_gateway.pipeline.schema import CompiledSchema

REQUEST = struct.Struct("<IHI")
PIECE = struct.Struct("<cI")
WRONG, CANONICAL, UNFIT, EXACT, INEXACT = b"w", b"c", b"u", b"e", b"i"
VALUE, KEY, MEMBERS, ITEMS = b"v", b"k", b"m", b"l"
OBJECT, ARRAY, TEXT, CLOSE = b"o", b"a", b"t", b"z"
PIECE_BYTES = 64 * 1024
"""About how large a piece of a value is: what the gateway makes of it in one step takes well below a millisecond."""
CANONICAL_BYTES = 256 * 1024


def pieces_of(value: "JsonValue") -> Iterator[tuple[bytes, bytes]]:
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


def _parts(
    items: "list[Any]", kind: bytes, together: "type[dict[str, Any] | list[Any]]"
) -> Iterator[tuple[bytes, bytes]]:
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
    items: "list[Any]", kind: bytes, together: "type[dict[str, Any] | list[Any]]"
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


def _large(item: "Any", kind: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The parts of an item that fits into no piece by itself."""
    if kind == MEMBERS:
        key, item = item
        yield KEY, marshal.dumps(key)
    yield from pieces_of(item)


def answers(raw: bytes, max_depth: int, schema: bytes) -> Iterator[tuple[bytes, "bytes | memoryview"]]:
    """The pieces of the answer to one request."""
    from interlock_gateway.core.document import InvalidDocumentError, parse  # noqa: PLC0415 - once the path is set

    try:
        document = parse(raw, max_depth=max_depth)
    except InvalidDocumentError as error:
        yield WRONG, error.message.encode("utf-8", "surrogatepass")
        return
    exact = document.exact_integers_only
    for piece in _canonical(document.value, exact=exact):
        yield CANONICAL, piece
    yield from pieces_of(document.value)
    if schema and not _compiled(schema).is_valid(document.value):
        yield UNFIT, b""
    yield EXACT if exact else INEXACT, hashlib.sha256(raw).hexdigest().encode()


def _canonical(value: "JsonValue", *, exact: bool) -> "Iterator[bytes | memoryview]":
    """The canonical form in pieces. With fractions in it making it takes long; the gateway hears of it meanwhile."""
    from interlock_gateway.pipeline.canonical import canonical_pieces, canonical_without_floats  # noqa: PLC0415 - as above

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


@lru_cache(maxsize=16)
def _compiled(schema: bytes) -> "CompiledSchema":
    from interlock_gateway.pipeline.schema import CompiledSchema  # noqa: PLC0415 - as above

    return CompiledSchema(json.loads(schema))


def _received(connection: socket.socket, count: int) -> bytes | None:
    """So many bytes; `None` when the gateway is gone."""
    data = connection.recv(count, socket.MSG_WAITALL) if count else b""
    return data if len(data) == count else None


def serve(connection: socket.socket) -> None:
    """Answer until the gateway is gone."""
    while (head := _received(connection, REQUEST.size)) is not None:
        length, max_depth, schema_length = REQUEST.unpack(head)
        schema = _received(connection, schema_length)
        raw = _received(connection, length)
        if raw is None or schema is None:
            return
        for kind, piece in answers(raw, max_depth, schema):
            connection.sendall(PIECE.pack(kind, len(piece)))
            connection.sendall(piece)
        del raw


def main() -> None:
    """Run as a script."""
    descriptor, *directories = sys.argv[1:]
    sys.path += directories
    # No core dump: it would hold what agents sent.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # What is read has no cycles, and there is much of it.
    gc.disable()
    with socket.socket(fileno=int(descriptor)) as connection:
        serve(connection)


if __name__ == "__main__":
    main()
