"""Records as JSON documents and back, by the fields that their dataclasses declare.

A field that a record gets later is kept without a change here; a document from before is read with its default. Fields
that hold their default are left out. Bytes are base64; one of several record types is marked with its name.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Generic, TypeVar, cast, get_args, get_origin

from interlock_gateway.core.jsonvalue import JsonValue
from interlock_gateway.pipeline.ports import StoredFormatError

T = TypeVar("T")

_KIND = "kind"


class RecordCodec(Generic[T]):
    """Documents of `kind`, a frozen dataclass; without the fields in `columns`, which are kept beside the document."""

    def __init__(self, kind: type[T], *, columns: frozenset[str] = frozenset()) -> None:
        self._shape = _RecordShape(kind, columns)

    def encode(self, record: T) -> bytes:
        """`record` as compact JSON in ASCII. NaN and Infinity pass, as Python writes them."""
        return json.dumps(self._shape.encode(record), separators=(",", ":")).encode("ascii")

    def decode(self, document: bytes, **columns: Any) -> T:
        """The record that was encoded, with what its columns hold; raises `StoredFormatError`."""
        try:
            record: T = self._shape.decode(json.loads(document), columns)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise StoredFormatError(f"a stored document cannot be read: {type(error).__name__}: {error}") from error
        return record


@dataclass(frozen=True, slots=True)
class _Shape:
    """How values of one declared type go to JSON values and back."""

    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]


class _RecordShape:
    def __init__(self, kind: type[Any], columns: frozenset[str] = frozenset()) -> None:
        declared = [field for field in fields(kind) if field.name not in columns]
        self._kind = kind
        self._fields = [(field.name, _default(field), _shape_of(cast("Any", field.type))) for field in declared]

    def encode(self, record: Any) -> dict[str, Any]:
        values = ((name, default, shape, getattr(record, name)) for name, default, shape in self._fields)
        return {name: shape.encode(value) for name, default, shape, value in values if value != default}

    def decode(self, value: Any, columns: Mapping[str, Any] | None = None) -> Any:
        read = {name: shape.decode(value[name]) for name, _, shape in self._fields if name in value}
        return self._kind(**read, **(columns or {}))


def _default(field: Field[Any]) -> Any:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return field.default


def _as_it_is(value: Any) -> Any:
    return value


_AS_IT_IS = _Shape(_as_it_is, _as_it_is)
_BYTES = _Shape(lambda value: b64encode(value).decode("ascii"), lambda value: b64decode(value, validate=True))


@cache
def _shape_of(hint: Any) -> _Shape:
    if hint == JsonValue or hint in {str, int, float, bool}:
        return _AS_IT_IS
    if hint is bytes:
        return _BYTES
    if is_dataclass(hint):
        shape = _RecordShape(hint)  # type: ignore[arg-type]  # a field's type is a type, not an instance
        return _Shape(shape.encode, shape.decode)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _Shape(lambda value: value.value, hint)
    return _shape_of_generic(hint)


def _shape_of_generic(hint: Any) -> _Shape:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Mapping:
        return _Shape(dict, _as_it_is)
    if origin is tuple and arguments[1:] == (Ellipsis,):
        item = _shape_of(arguments[0])
        return _Shape(
            lambda values: [item.encode(value) for value in values],
            lambda values: tuple([item.decode(value) for value in values]),
        )
    if origin is UnionType:
        return _shape_of_union(tuple(member for member in arguments if member is not NoneType))
    raise TypeError(f"no way to keep a {hint}")


def _shape_of_union(members: tuple[Any, ...]) -> _Shape:
    if len(members) == 1:
        one = _shape_of(members[0])
        return _Shape(
            lambda value: None if value is None else one.encode(value),
            lambda value: None if value is None else one.decode(value),
        )
    shapes = {member.__name__: _shape_of(member) for member in members}
    return _Shape(
        lambda value: {_KIND: type(value).__name__, **shapes[type(value).__name__].encode(value)},
        lambda value: shapes[value[_KIND]].decode(value),
    )
