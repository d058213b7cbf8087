"""JSON text of structured results, made without holding everyone up.

The encoder runs under the interpreter's lock from the first byte to the last; a value of many parts is therefore
encoded part by part.
"""

import json
from collections.abc import Iterator, Mapping

from interlock_gateway.core.jsonvalue import JsonValue

LARGE_NODES = 2000
LARGE_CHARACTERS = 64 * 1024
_PIECE_DEPTH = 3


def _plain(value: object) -> JsonValue:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_plain).encode


def is_large(value: JsonValue) -> bool:
    """Whether encoding `value` would take long enough to be done elsewhere. Looks at `LARGE_NODES` parts at most."""
    nodes, characters = 0, 0
    stack: list[JsonValue] = [value]
    while stack:
        item = stack.pop()
        nodes += 1
        if isinstance(item, str):
            characters += len(item)
        elif isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
        if len(stack) + nodes > LARGE_NODES or characters > LARGE_CHARACTERS:
            return True
    return False


def encode_json(value: JsonValue) -> bytes:
    """Compact UTF-8 JSON. Lone surrogates become question marks."""
    if is_large(value):
        return b"".join(_pieces(value, _PIECE_DEPTH))
    return _encode(value).encode("utf-8", "replace")


def _pieces(value: JsonValue, depth: int) -> Iterator[bytes]:
    if depth and isinstance(value, dict) and value:
        opening = b"{"
        for name, item in value.items():
            yield opening + _encode(name).encode("utf-8", "replace") + b":"
            yield from _pieces(item, depth - 1)
            opening = b","
        yield b"}"
    elif depth and isinstance(value, list) and value:
        opening = b"["
        for item in value:
            yield opening
            yield from _pieces(item, depth - 1)
            opening = b","
        yield b"]"
    else:
        yield _encode(value).encode("utf-8", "replace")
