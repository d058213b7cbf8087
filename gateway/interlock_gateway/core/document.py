"""Strict JSON: one object, no duplicate keys, nothing that two parsers could read differently (PIPE-3, SEC-1)."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import chain
from typing import NoReturn, TypeVar

from interlock_gateway.core.digest import Hashed
from interlock_gateway.core.document_place import (
    LONE_SURROGATE,
    SURROGATE,
    Fault,
    byte_at,
    first_fault,
    first_too_deep,
    too_deep,
)
from interlock_gateway.core.jsonvalue import JsonObject, JsonValue

T = TypeVar("T")
R = TypeVar("R")

MAX_EXACT_INTEGER = 2**53 - 1
_WHITESPACE = " \t\n\r"


class InvalidDocumentError(Exception):
    """The text is not acceptable; `message` names the problem and the place, in words a model can act on."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


@dataclass(frozen=True, slots=True)
class Document:
    """One JSON object: its bytes as sent, and the same as values.

    `exact_integers_only` says that no number in it has a fraction or an exponent. When they have been computed already:
    `hashed` is the beginning of its call's digest, as far as the input goes, `problems` is empty when it is known to
    fit its tool's schema, `sha256` is the digest of its bytes, in hex.
    """

    raw: bytes
    value: JsonObject
    exact_integers_only: bool
    hashed: "Hashed | None" = field(default=None, compare=False, repr=False)
    problems: tuple[str, ...] | None = field(default=None, compare=False, repr=False)
    sha256: str = field(default="", compare=False, repr=False)

    def without(self, fields: frozenset[str]) -> "Document":
        """The document with top-level `fields` cut out; every other member keeps its bytes."""
        kept = [member for name, member in _members(self.raw.decode()) if name not in fields]
        value = {name: item for name, item in self.value.items() if name not in fields}
        return Document(("{" + ",".join(kept) + "}").encode(), value, self.exact_integers_only)

    def with_fields(self, fields: JsonObject) -> "Document":
        """The document with top-level `fields` replaced or added; every other member keeps its bytes."""
        kept = [member for name, member in _members(self.raw.decode()) if name not in fields]
        added = [f"{json.dumps(name)}:{json.dumps(item, ensure_ascii=False)}" for name, item in fields.items()]
        raw = ("{" + ",".join(chain(kept, added)) + "}").encode()
        return Document(raw, {**self.value, **fields}, exact_integers_only=False)


def parse(raw: bytes, *, max_depth: int) -> Document:
    """Parse `raw` as one strict JSON object.

    Raises `InvalidDocumentError` for anything that is not UTF-8, not an object, has duplicate keys, NaN, Infinity,
    numbers out of range, integers beyond 2^53-1, lone surrogates, or nests deeper than `max_depth`.
    """
    text = _decode(raw)
    floats: list[bool] = []
    try:
        value = _read(text, raw, floats, max_depth)
    except (InvalidDocumentError, json.JSONDecodeError, RecursionError) as error:
        raise InvalidDocumentError(_what_and_where(text, max_depth) or str(error)) from None
    return Document(raw, value, exact_integers_only=not floats)


def _read(text: str, raw: bytes, floats: list[bool], max_depth: int) -> JsonObject:
    value = _decoder(floats).decode(text)
    if not isinstance(value, dict):
        raise InvalidDocumentError(f"input must be a JSON object, not {_kind(value)}")
    _check_depth(raw, value, max_depth)
    _check_surrogates(text, value)
    return value


def _what_and_where(text: str, max_depth: int) -> str | None:
    """What is wrong first in a text that was refused, and where; `None` when it is the whole of it."""
    # Once more from the beginning, because what the first reading stumbled over did not know where it was.
    marking = json.JSONDecoder(
        object_pairs_hook=_marked_pairs,
        parse_constant=_marked(_refuse_constant),
        parse_int=_marked(_exact_integer),
        parse_float=_marked(_finite),
    )
    try:
        return first_fault(marking.decode(text), max_depth)
    except json.JSONDecodeError as error:
        return f"input is not valid JSON: {error.msg} (byte {byte_at(text, error.pos)})"
    except RecursionError:
        return first_too_deep(text, max_depth)


def _marked(read: Callable[[T], R]) -> Callable[[T], "R | Fault"]:
    """`read`, with a fault in the place of what it refuses."""

    def marked(given: T) -> "R | Fault":
        try:
            return read(given)
        except InvalidDocumentError as error:
            return Fault(error.message)

    return marked


def _marked_pairs(pairs: list[tuple[str, JsonValue]]) -> "JsonObject | Fault":
    key = _repeated(pairs) if len(dict(pairs)) != len(pairs) else None
    return dict(pairs) if key is None else Fault(_more_than_once(key), (key,))


def _decoder(floats: list[bool]) -> json.JSONDecoder:
    """A decoder that refuses what the standard one lets pass, and notes that it saw a fraction or an exponent.

    Nothing that it holds knows it: what goes in a circle stays until garbage is collected, and each text has its own.
    """

    def finite(text: str) -> float:
        if not floats:
            floats.append(True)
        return _finite(text)

    return json.JSONDecoder(
        object_pairs_hook=_unique_pairs, parse_constant=_refuse_constant, parse_int=_exact_integer, parse_float=finite
    )


def _decode(raw: bytes) -> str:
    if raw.startswith(b"\xef\xbb\xbf"):
        raise InvalidDocumentError("input starts with a byte order mark; send plain UTF-8")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidDocumentError(f"input is not valid UTF-8 at byte {error.start}") from None


def _unique_pairs(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise InvalidDocumentError(_more_than_once(_repeated(pairs)))
    return value


def _repeated(pairs: list[tuple[str, JsonValue]]) -> str:
    """The first key that was there before."""
    counted: set[str] = set()
    for key, _ in pairs:
        if key in counted:
            return key
        counted.add(key)
    raise ValueError("no key is there twice")


def _more_than_once(key: str) -> str:
    return f"input has the key {json.dumps(key)[:80]} more than once"


def _finite(text: str) -> float:
    number = float(text)
    if number in {float("inf"), float("-inf")}:
        raise InvalidDocumentError(f"number {text[:40]} is out of range")
    return number


def _refuse_constant(name: str) -> NoReturn:
    raise InvalidDocumentError(f"{name} is not a JSON number")


def _exact_integer(text: str) -> int:
    digits = len(text) - text.startswith("-")
    if digits > 16 or abs(number := int(text)) > MAX_EXACT_INTEGER:  # noqa: PLR2004 - 2^53 has 16 digits
        raise InvalidDocumentError(f"integer {text[:40]} is beyond 2^53-1 and would lose digits; send it as a string")
    return number


def _kind(value: object) -> str:
    if value is None:
        return "null"
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "an array"}
    return names.get(type(value), "something else")


def _check_depth(raw: bytes, value: JsonObject, max_depth: int) -> None:
    if raw.count(b"{") + raw.count(b"[") <= max_depth:
        return
    level: list[JsonValue] = [value]
    depth = 0
    while level:
        depth += 1
        if depth > max_depth:
            raise InvalidDocumentError(too_deep(max_depth))
        level = [child for item in level for child in _containers(item)]


def _containers(item: JsonValue) -> list[JsonValue]:
    children = item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
    return [child for child in children if isinstance(child, dict | list)]


def _check_surrogates(text: str, value: JsonObject) -> None:
    # Only an escape can bring a surrogate in: UTF-8 itself cannot hold one. To look for one character is much faster.
    if "\\" in text and "\\u" in text and SURROGATE.search(json.dumps(value, ensure_ascii=False)):
        raise InvalidDocumentError(LONE_SURROGATE)


def _members(text: str) -> list[tuple[str, str]]:
    """Each top-level member of an already validated object: its name, and its text as sent."""
    decoder = json.JSONDecoder()
    members: list[tuple[str, str]] = []
    at = _skip(text, text.index("{") + 1)
    while text[at] != "}":
        start = at
        name, at = decoder.raw_decode(text, at)
        at = _skip(text, _skip(text, at) + 1)
        _, at = decoder.raw_decode(text, at)
        members.append((name, text[start:at]))
        at = _skip(text, at)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return members


def _skip(text: str, at: int) -> int:
    while text[at] in _WHITESPACE:
        at += 1
    return at
