"""A JSON Schema as a graph: which parts of it say something of one value, and which of the values inside (PIPE-4).

All that any draft applies is in it: a validator may go by less, and then does less.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote

from interlock_gateway.core.jsonvalue import FrozenJsonObject, JsonValue

MAX_NODES = 2000
MAX_LITERALS = 10_000
"""How many parts, and values in `enum` and the like, are looked at: to compile more takes tens of milliseconds."""
SLOW_LITERAL = 10
"""How many steps it takes to compare with one value of `enum` that is no text: numbers are compared exactly."""
_ONE_HERE = ("if", "then", "else", "not")
_SOME_HERE = ("allOf", "anyOf", "oneOf")
_NAMED_HERE = ("dependentSchemas", "dependencies")
_ANY_ITEM = ("items", "additionalItems", "contains", "unevaluatedItems")
_OTHER_MEMBER = ("additionalProperties", "unevaluatedProperties")
_LOOKS_AGAIN = ("unevaluatedItems", "unevaluatedProperties")
_ELSEWHERE = ("$dynamicRef", "$recursiveRef")
_OF_ITS_OWN = ("$id", "$schema")
_LISTS = ("enum", "const", "required", "dependentRequired")
_INSIDE = ("properties", "patternProperties", "propertyNames", "prefixItems")
_DEARER = ("$ref", "pattern", "multipleOf", "uniqueItems")
_WORDS = frozenset(
    (
        *_OF_ITS_OWN,
        *_ONE_HERE,
        *_SOME_HERE,
        *_NAMED_HERE,
        *_ANY_ITEM,
        *_OTHER_MEMBER,
        *_ELSEWHERE,
        *_LISTS,
        *_INSIDE,
        *_DEARER,
    )
)
"""What makes a schema more than a leaf that takes a step."""
_NOTHING: dict[str, JsonValue] = {}


class UnclearSchemaError(Exception):
    """What a schema takes cannot be told beforehand; the message says why, as the end of a sentence about it."""


@dataclass(slots=True)
class Part:
    """One schema of a schema. `own` is how many steps its own keywords take, `patterns` how many of them are patterns.

    `here` are parts that say something of the same value. Those of its members: `members` by name, `other_members` for
    the names that are not among these, `any_member` for all; `names` for the names themselves. In the same way `items`
    by number, `other_items`, `any_item`. `again` says that parts are asked several times about the same value.
    """

    own: int = 1
    patterns: int = 0
    again: bool = False
    here: list[int] = field(default_factory=list)
    members: dict[str, int] = field(default_factory=dict)
    other_members: list[int] = field(default_factory=list)
    any_member: list[int] = field(default_factory=list)
    names: list[int] = field(default_factory=list)
    items: dict[int, int] = field(default_factory=dict)
    any_item: list[int] = field(default_factory=list)

    def targets(self) -> Iterator[int]:
        """Every part that this one leads to."""
        yield from self.here
        yield from self.members.values()
        yield from self.items.values()
        for others in (self.other_members, self.any_member, self.names, self.any_item):
            yield from others


def graph_of(schema: FrozenJsonObject) -> list[Part]:
    """The parts that are reached from a schema, which is the first. Raises `UnclearSchemaError`."""
    return _Graph(schema).parts


HASHED: Final = 1
"""The part that stands for what `uniqueItems` looks at: every value inside, once."""


class _Graph:
    def __init__(self, schema: FrozenJsonObject) -> None:
        self._root = schema
        self._numbers: dict[int, int] = {}
        self._leaves: dict[int, int] = {}
        self._count_of_parts = 0
        self._waiting: deque[tuple[int, FrozenJsonObject]] = deque()
        self._literals = 0
        self.parts: list[Part] = []
        self._number(schema)
        self.parts.append(Part(any_member=[HASHED], any_item=[HASHED]))
        while self._waiting:
            number, waiting = self._waiting.popleft()
            if number and any(word in waiting for word in _OF_ITS_OWN):
                raise UnclearSchemaError("has a schema with a name or a dialect of its own inside")
            self._fill(self.parts[number], waiting)

    def _number(self, schema: FrozenJsonObject) -> int:
        known = self._numbers.get(id(schema))
        if known is not None:
            return known
        self._count_of_parts += 1
        if self._count_of_parts > MAX_NODES:
            raise UnclearSchemaError(f"has more than {MAX_NODES} parts")
        if self.parts and _WORDS.isdisjoint(schema):
            return self._leaf(1 + len(schema) // 4)
        number = self._numbers[id(schema)] = len(self.parts)
        self.parts.append(Part())
        self._waiting.append((number, schema))
        return number

    def _leaf(self, own: int) -> int:
        """The one part for all schemas that lead nowhere and take so many steps: most are such."""
        if own not in self._leaves:
            self._leaves[own] = len(self.parts)
            self.parts.append(Part(own))
        return self._leaves[own]

    def _fill(self, part: Part, schema: FrozenJsonObject) -> None:
        part.own += len(schema) // 4
        for keyword in _ELSEWHERE:
            if keyword in schema:
                raise UnclearSchemaError(f"uses {keyword}")
        self._own(part, schema)
        self._here(part, schema)
        self._members(part, schema)
        self._items(part, schema)
        part.again = any(keyword in schema for keyword in _LOOKS_AGAIN)

    def _own(self, part: Part, schema: FrozenJsonObject) -> None:
        part.patterns += "pattern" in schema
        for keyword in _LISTS[:2]:
            if keyword in schema:
                part.own += self._compared(schema[keyword])
        for keyword in _LISTS[2:]:
            part.own += self._counted(schema.get(keyword)) // 4
        if "multipleOf" in schema:
            part.own += SLOW_LITERAL
        if "uniqueItems" in schema:
            part.any_item.append(HASHED)

    def _here(self, part: Part, schema: FrozenJsonObject) -> None:
        if "$ref" in schema:
            part.here += self._one(self._referred(schema["$ref"]))
        for keyword in _ONE_HERE:
            part.here += self._one(schema.get(keyword))
        for keyword in _SOME_HERE:
            some = schema.get(keyword)
            for one in some if isinstance(some, list | tuple) else ():
                part.here += self._one(one)
        for keyword in _NAMED_HERE:
            named = schema.get(keyword)
            for one in named.values() if isinstance(named, dict) else ():
                part.here += self._one(one)
                part.own += self._counted(one) // 4 if isinstance(one, list) else 0

    def _members(self, part: Part, schema: FrozenJsonObject) -> None:
        named, patterns = schema.get("properties"), schema.get("patternProperties")
        for name, one in named.items() if isinstance(named, dict) else ():
            for number in self._one(one) or self._one(_NOTHING):
                part.members[name] = number
        for one in patterns.values() if isinstance(patterns, dict) else ():
            part.patterns += 1
            part.any_member += self._one(one)
        for keyword in _OTHER_MEMBER:
            part.other_members += self._one(schema.get(keyword))
        part.names += self._one(schema.get("propertyNames"))

    def _items(self, part: Part, schema: FrozenJsonObject) -> None:
        for keyword in ("prefixItems", "items"):
            some = schema.get(keyword)
            for at, one in enumerate(some if isinstance(some, list | tuple) else ()):
                for number in self._one(one):
                    part.items[at] = number
        for keyword in _ANY_ITEM:
            part.any_item += self._one(schema.get(keyword))

    def _one(self, schema: object) -> list[int]:
        """The part that this is; none for what is no schema or says nothing of its own."""
        return [self._number(schema)] if isinstance(schema, dict) else []

    def _referred(self, reference: object) -> object:
        if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
            raise UnclearSchemaError("refers to what has a name")
        at: object = self._root
        for part in unquote(reference).split("/")[1:]:
            if at is not self._root and isinstance(at, dict) and "$id" in at:
                raise UnclearSchemaError("refers into a schema with a name of its own")
            name = part.replace("~1", "/").replace("~0", "~")
            at = _inside(at, name)
        return at

    def _compared(self, value: JsonValue) -> int:
        values = value if isinstance(value, list) else [value]
        slow = sum(self._counted(one) for one in values if not isinstance(one, str | bool | None))
        self._count(len(values))
        return 1 + (SLOW_LITERAL * slow + len(values) if slow else 0)

    def _counted(self, value: JsonValue) -> int:
        """How many values there are in a value, with itself."""
        waiting: list[JsonValue] = [value]
        count = 0
        while waiting:
            count += 1
            self._count(1)
            one = waiting.pop()
            if isinstance(one, dict):
                waiting += one.values()
            elif isinstance(one, list):
                waiting += one
        return count

    def _count(self, more: int) -> None:
        self._literals += more
        if self._literals > MAX_LITERALS:
            raise UnclearSchemaError(f"lists more than {MAX_LITERALS} values")


def _inside(value: object, name: str) -> object:
    if isinstance(value, dict) and name in value:
        return value[name]
    if isinstance(value, list) and name.isdecimal() and int(name) < len(value):
        return value[int(name)]
    raise UnclearSchemaError("refers to what is not there")
