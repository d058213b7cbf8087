"""Values as JSON: the SDK's dataclasses and the contract's messages, in one style."""

import base64
import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from enum import Enum
from pathlib import PurePath
from typing import Any

_NANOS = 1_000_000_000


def to_json(value: Any, *, indent: int | None = 2) -> str:
    """`value` as JSON text in ASCII alone, so that nothing in it can act on a terminal."""
    text = json.dumps(jsonable(value), ensure_ascii=True, indent=indent)
    # The one control character that JSON leaves as it is.
    return text.replace("\x7f", "\\u007f")


def jsonable(value: Any) -> Any:
    """`value` as JSON values: enums in lower case, times in RFC 3339, spans in seconds, bytes as text or base64."""
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): jsonable(item) for key, item in value.items()}
    if hasattr(value, "DESCRIPTOR"):
        return _message(value)
    if is_dataclass(value):
        return {field.name: jsonable(getattr(value, field.name)) for field in fields(value)}
    return _leaf(value)


def _leaf(value: Any) -> Any:
    match value:
        case datetime():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case bytes():
            return _bytes(value)
        case PurePath():
            return str(value)
        case Iterable():
            return [jsonable(item) for item in value]
    raise TypeError(f"a {type(value).__name__} has no JSON form")


def _bytes(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return base64.b64encode(data).decode()


def _message(message: Any) -> Any:
    """A message of the contract: every field by its name, absent messages as null."""
    name = message.DESCRIPTOR.full_name
    if name == "google.protobuf.Timestamp":
        return message.ToJsonString()
    if name == "google.protobuf.Duration":
        return message.seconds + message.nanos / _NANOS
    return {field.name: _field(message, field) for field in message.DESCRIPTOR.fields}


def _field(message: Any, field: Any) -> Any:
    if field.has_presence and not message.HasField(field.name):
        return None
    value = getattr(message, field.name)
    if field.is_repeated and field.message_type is not None and field.message_type.GetOptions().map_entry:
        return {str(key): jsonable(item) for key, item in value.items()}
    if field.is_repeated:
        return [_single(item, field) for item in value]
    return _single(value, field)


def _single(value: Any, field: Any) -> Any:
    if field.enum_type is not None:
        return enum_word(field.enum_type, value)
    if isinstance(value, bytes):
        return _json_field(value)
    return jsonable(value)


def enum_word(enum: Any, number: int) -> str:
    """A value of one of the contract's enums as its word: `SESSION_STATE_OPEN` is `open`."""
    known = enum.values_by_number.get(number)
    if known is None:
        return str(number)
    prefix = "".join(f"_{letter}" if letter.isupper() else letter.upper() for letter in enum.name)[1:].upper()
    return str(known.name.removeprefix(f"{prefix}_").lower())


def _json_field(data: bytes) -> Any:
    """The contract's bytes are JSON nearly everywhere: shown as such, when they are."""
    if not data:
        return None
    try:
        return json.loads(data)
    except ValueError:
        return _bytes(data)
