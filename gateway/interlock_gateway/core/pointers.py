"""Fields that policy wants masked: JSON pointers (RFC 6901) of the obligation `redact` (RES-6, AUD-1).

One addition: the token `*` stands for every element of an array and every member of an object.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from interlock_gateway.core.jsonvalue import JsonValue

EVERY = "*"


class InvalidPointerError(ValueError):
    """The text is not a JSON pointer."""


@dataclass(slots=True)
class Masking:
    """What masking did: how many values were masked, and the scalar ones among them, to be found in text too."""

    count: int = 0
    scalars: set[str] = field(default_factory=set)


def parse_pointer(pointer: str) -> tuple[str, ...]:
    """The pointer's tokens. Raises `InvalidPointerError`."""
    if pointer and not pointer.startswith("/"):
        raise InvalidPointerError(f'"{pointer[:80]}" is not a JSON pointer: it does not begin with "/"')
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:])


def mask(value: JsonValue, pointers: Sequence[tuple[str, ...]], with_mark: str) -> tuple[JsonValue, Masking]:
    """`value` with what each pointer names replaced by `with_mark`; the value given is not changed."""
    masking = Masking()
    for tokens in pointers:
        value = _masked(value, tokens, with_mark, masking)
    return value, masking


def _masked(value: JsonValue, tokens: tuple[str, ...], with_mark: str, masking: Masking) -> JsonValue:
    if not tokens:
        if value != with_mark:
            masking.count += 1
            _collect(value, masking)
        return with_mark
    token, rest = tokens[0], tokens[1:]
    if isinstance(value, dict) and (token == EVERY or token in value):
        return {
            name: _masked(item, rest, with_mark, masking) if token in {name, EVERY} else item
            for name, item in value.items()
        }
    if isinstance(value, list) and (token == EVERY or (token.isdecimal() and token.isascii())):
        return [
            _masked(item, rest, with_mark, masking) if token in {str(index), EVERY} else item
            for index, item in enumerate(value)
        ]
    return value


def _collect(value: JsonValue, masking: Masking) -> None:
    if isinstance(value, dict):
        for item in value.values():
            _collect(item, masking)
    elif isinstance(value, list):
        for item in value:
            _collect(item, masking)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        masking.scalars.add(str(value))
