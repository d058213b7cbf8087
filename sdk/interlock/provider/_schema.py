"""From a type hint to JSON Schema (draft 2020-12), and from a JSON value to what the hint promised.

Both come from one walk over the hint, so what a schema accepts and what a handler is given cannot drift apart.
"""

import dataclasses
import enum
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired, Required, TypeAlias, Union, get_args, get_origin

Schema: TypeAlias = dict[str, Any]
Reader: TypeAlias = Callable[[Any, str], Any]

MAX_PROBLEMS = 5


class BadArguments(Exception):  # noqa: N818 -- it is a list of problems for the model, not an error of a program
    """What is wrong with a JSON value, as sentences that begin with the place."""

    def __init__(self, *problems: str) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


@dataclass(frozen=True, slots=True, kw_only=True)
class Arg:
    """What a type cannot say about an argument; put it in `Annotated`.

    `min`, `max` bound a number, `min_length`, `max_length` a string or a list; all are inclusive. `pattern` is the JSON
    Schema keyword, for the model and the gateway to read. `fact` names what the argument holds for policies
    (`x-interlock-fact`): `path`, `glob`, `url`, `command`, `sql`.

    >>> from interlock.provider import tool
    >>> @tool(read_only=True)
    ... def head(lines: Annotated[int, Arg(description="How many lines", min=1, max=2000)]) -> str:
    ...     "The first lines."
    ...     return f"{lines} lines"
    >>> head.input_schema["properties"]["lines"]
    {'type': 'integer', 'description': 'How many lines', 'minimum': 1, 'maximum': 2000}
    """

    description: str = ""
    min: float | None = None
    max: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str = ""
    fact: str = ""

    def keywords(self) -> Schema:
        """The JSON Schema keywords that are set; lengths are spelled for strings."""
        words = {
            "description": self.description or None,
            "minimum": self.min,
            "maximum": self.max,
            "minLength": self.min_length,
            "maxLength": self.max_length,
            "pattern": self.pattern or None,
            "x-interlock-fact": self.fact or None,
        }
        return {word: value for word, value in words.items() if value is not None}

    def problem(self, value: Any) -> str | None:
        """What is wrong with a value of the right type, or nothing."""
        if isinstance(value, (int, float)):
            if self.min is not None and value < self.min:
                return f"must be at least {self.min}"
            if self.max is not None and value > self.max:
                return f"must be at most {self.max}"
        if isinstance(value, (str, list)):
            unit = "characters" if isinstance(value, str) else "items"
            if self.min_length is not None and len(value) < self.min_length:
                return f"must have at least {self.min_length} {unit}"
            if self.max_length is not None and len(value) > self.max_length:
                return f"must have at most {self.max_length} {unit}"
        return None


@dataclass(frozen=True, slots=True)
class Shape:
    """A JSON Schema, and the function that reads a JSON value of it."""

    schema: Schema
    read: Reader


@dataclass(frozen=True, slots=True)
class Member:
    """One member of an object: its name, shape, and whether it must be there."""

    name: str
    shape: Shape
    required: bool


def json_kind(value: Any) -> str:
    """The word for a JSON value's kind, with its article."""
    kinds = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "a list", dict: "an object"}
    return kinds.get(type(value), "null" if value is None else type(value).__name__)


def shape_of(hint: Any, within: tuple[Any, ...] = ()) -> Shape:
    """The shape of a type hint.

    Raises TypeError for a hint that JSON cannot hold or that contains itself (`within` is what it lies in).
    """
    if hint in within:
        raise TypeError(f"{hint!r} contains itself; use dict for a recursive argument")
    if hint in _SIMPLE:
        return _SIMPLE[hint]
    origin = get_origin(hint) or hint
    make = _BY_ORIGIN.get(origin)
    if make is not None:
        return make(hint, within)
    if isinstance(hint, type):
        if issubclass(hint, enum.Enum):
            return _choice([member.value for member in hint], hint)
        if dataclasses.is_dataclass(hint):
            return _dataclass(hint, (*within, hint))
        if typing.is_typeddict(hint):
            return _typed_dict(hint, (*within, hint))
    raise TypeError(f"cannot make a JSON Schema from {hint!r}")


def object_shape(members: Sequence[Member], build: Callable[[dict[str, Any]], Any]) -> Shape:
    """The shape of a closed object: unknown members are refused, and what is there is handed to `build`."""
    schema: Schema = {
        "type": "object",
        "properties": {member.name: member.shape.schema for member in members},
        "required": [member.name for member in members if member.required],
        "additionalProperties": False,
    }
    known = {member.name: member for member in members}

    def read(value: Any, where: str) -> Any:
        if type(value) is not dict:
            raise BadArguments(f"{where or 'the input'} must be an object, not {json_kind(value)}")
        prefix = f"{where}." if where else ""
        got: dict[str, Any] = {}
        problems: list[str] = []
        for name, item in value.items():
            member = known.get(name)
            if member is None:
                problems.append(f"{prefix}{name} is not known (known: {', '.join(known) or 'none'})")
                continue
            try:
                got[name] = member.shape.read(item, prefix + name)
            except BadArguments as error:
                problems += error.problems
        problems += [f"{prefix}{name} is required" for name, one in known.items() if one.required and name not in value]
        if problems:
            raise BadArguments(*problems[:MAX_PROBLEMS])
        return build(got)

    return Shape(schema, read)


def _plain(schema_type: str, expected: str, *accepted: type) -> Shape:
    def read(value: Any, where: str) -> Any:
        if type(value) in accepted:
            return value
        raise BadArguments(f"{where} must be {expected}, not {json_kind(value)}")

    return Shape({"type": schema_type}, read)


def _read_integer(value: Any, where: str) -> int:
    if type(value) is int:
        return value
    if type(value) is float and value.is_integer():  # JSON Schema: 3.0 is an integer
        return int(value)
    raise BadArguments(f"{where} must be an integer, not {value!r:.40}")


def _anything(value: Any, _where: str) -> Any:
    return value


_STRING = _plain("string", "a string", str)
_INTEGER = Shape({"type": "integer"}, _read_integer)
_NUMBER = _plain("number", "a number", int, float)
_BOOLEAN = _plain("boolean", "a boolean", bool)
_NULL = _plain("null", "null", type(None))
_OBJECT = _plain("object", "an object", dict)
_ARRAY = _plain("array", "a list", list)
_ANY = Shape({}, _anything)


def _list(hint: Any, within: tuple[Any, ...]) -> Shape:
    (item_hint,) = get_args(hint)
    item = shape_of(item_hint, within)

    def read(value: Any, where: str) -> list[Any]:
        if type(value) is not list:
            raise BadArguments(f"{where} must be a list, not {json_kind(value)}")
        return [item.read(one, f"{where}[{index}]") for index, one in enumerate(value)]

    return Shape({"type": "array", "items": item.schema}, read)


def _mapping(hint: Any, within: tuple[Any, ...]) -> Shape:
    key_hint, item_hint = get_args(hint)
    if key_hint is not str:
        raise TypeError(f"{hint!r}: the keys of a JSON object are strings")
    item = shape_of(item_hint, within)

    def read(value: Any, where: str) -> dict[str, Any]:
        if type(value) is not dict:
            raise BadArguments(f"{where} must be an object, not {json_kind(value)}")
        return {name: item.read(one, f"{where}.{name}") for name, one in value.items()}

    return Shape({"type": "object", "additionalProperties": item.schema}, read)


def _union(hint: Any, within: tuple[Any, ...]) -> Shape:
    shapes = [shape_of(part, within) for part in get_args(hint)]
    schemas = [shape.schema for shape in shapes]
    if all(set(schema) == {"type"} for schema in schemas):
        merged: Schema = {"type": [schema["type"] for schema in schemas]}
    else:
        merged = {"anyOf": schemas}

    def read(value: Any, where: str) -> Any:
        problems: list[str] = []
        for shape in shapes:
            if value is None and shape is _NULL:
                return None
            try:
                return shape.read(value, where)
            except BadArguments as error:
                problems += error.problems if shape is not _NULL else ()
        raise BadArguments(" or ".join(problems))

    return Shape(merged, read)


def _literal(hint: Any, _within: tuple[Any, ...]) -> Shape:
    return _choice(list(get_args(hint)), _same)


def _same(value: Any) -> Any:
    return value


def _choice(values: list[Any], build: Callable[[Any], Any]) -> Shape:
    schema: Schema = {"enum": values}
    if all(isinstance(value, str) for value in values):
        schema = {"type": "string", "enum": values}

    def read(value: Any, where: str) -> Any:
        for one in values:
            # JSON knows one kind of number, and true is not 1.
            if one == value and isinstance(one, bool) == isinstance(value, bool):
                return build(one)
        raise BadArguments(f"{where} must be one of {', '.join(map(repr, values))}, not {value!r:.40}")

    return Shape(schema, read)


def _annotated(hint: Any, within: tuple[Any, ...]) -> Shape:
    inner, *notes = get_args(hint)
    shape = shape_of(inner, within)
    for note in notes:
        if isinstance(note, str):
            shape = Shape({**shape.schema, "description": note}, shape.read)
        elif isinstance(note, Arg):
            shape = _limited(shape, note)
    return shape


def _limited(shape: Shape, arg: Arg) -> Shape:
    words = arg.keywords()
    if shape.schema.get("type") == "array":
        spelled = {"minLength": "minItems", "maxLength": "maxItems"}
        words = {spelled.get(word, word): value for word, value in words.items()}

    def read(value: Any, where: str) -> Any:
        got = shape.read(value, where)
        problem = arg.problem(got)
        if problem:
            raise BadArguments(f"{where} {problem}")
        return got

    return Shape({**shape.schema, **words}, read)


def _unwrapped(hint: Any, within: tuple[Any, ...]) -> Shape:
    return shape_of(get_args(hint)[0], within)


def _dataclass(kind: type, within: tuple[Any, ...]) -> Shape:
    hints = typing.get_type_hints(kind, include_extras=True)
    members = [
        Member(
            field.name,
            shape_of(hints[field.name], within),
            field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING,
        )
        for field in dataclasses.fields(kind)
        if field.init
    ]
    return object_shape(members, lambda got: kind(**got))


def _typed_dict(kind: Any, within: tuple[Any, ...]) -> Shape:
    hints = typing.get_type_hints(kind, include_extras=True)
    members = [Member(name, shape_of(hint, within), name in kind.__required_keys__) for name, hint in hints.items()]
    return object_shape(members, dict)


_SIMPLE: Mapping[Any, Shape] = {
    str: _STRING,
    int: _INTEGER,
    float: _NUMBER,
    bool: _BOOLEAN,
    None: _NULL,
    type(None): _NULL,
    dict: _OBJECT,
    list: _ARRAY,
    Any: _ANY,
    object: _ANY,
}

_BY_ORIGIN: Mapping[Any, Callable[[Any, tuple[Any, ...]], Shape]] = {
    list: _list,
    Sequence: _list,
    dict: _mapping,
    Mapping: _mapping,
    Union: _union,
    types.UnionType: _union,
    Literal: _literal,
    Annotated: _annotated,
    Required: _unwrapped,
    NotRequired: _unwrapped,
}
