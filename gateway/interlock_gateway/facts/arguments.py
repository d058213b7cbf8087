"""Finds the arguments of a call that hold a path, a pattern of paths, a command, a URL or SQL (PIPE-5)."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from interlock_gateway.facts.names import FactKind, holds, may_be
from interlock_gateway.facts.request import FactRequest

_Of = TypeVar("_Of")
_Holds: TypeAlias = Callable[[str, object], bool]
"""Whether what was given under a name is one of those that are looked for."""

ANNOTATION = "x-interlock-fact"
MAX_ARGUMENTS = 256
MAX_DEPTH = 12
MAX_SCHEMAS = 32 * 1024
"""How many schemas are looked at for the arguments of one call. A provider chose them, and what is left out is said."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument: where it stands in the input, as a JSON pointer, the name it goes by, and what was given."""

    pointer: str
    name: str
    value: object


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of one kind. `missing` are pointers of required ones that were not given.

    `declared` says that the configuration or the schema names arguments of this kind at all; `truncated` that there are
    more than are looked at.
    """

    given: tuple[Argument, ...]
    missing: tuple[str, ...]
    declared: bool
    truncated: bool = False


def find(request: FactRequest, kind: FactKind) -> Arguments:
    """The arguments that hold a `kind`: those the operator names, else those annotated, else those so called."""
    search = _Search(kind, request.input_schema)
    configured = request.argument_names.get(kind)
    if configured:
        names = frozenset(configured)
        search.by_name(request.input, lambda name, _: name in names, "", 0)
        if not search.given:
            search.missing += [_pointer("", name) for name in configured[:1]]
        return search.result(declared=True)
    search.by_annotation(request.input_schema, request.input)
    if search.declared:
        return search.result(declared=True)

    def held(name: str, value: object) -> bool:
        holding = holds(kind, name)
        return holding is not None and may_be(kind, holding, value)

    search.by_name(request.input, held, "", 0)
    properties = _mapping(request.input_schema.get("properties"))
    required = request.input_schema.get("required")
    wanted = [name for name in required if isinstance(name, str)] if isinstance(required, list | tuple) else []
    search.missing += [_pointer("", name) for name in wanted if request.input.get(name) is None and held(name, None)]
    return search.result(declared=any(holds(kind, name) in {"sure", "likely"} for name in properties))


class _Search:
    def __init__(self, kind: FactKind, whole: Mapping[str, object]) -> None:
        self._kind = kind
        self._whole = whole
        self._seen_absent: set[int] = set()
        self.given: list[Argument] = []
        self.missing: list[str] = []
        self.declared = False
        self.truncated = False
        self._steps = 16 * MAX_ARGUMENTS
        self._looked_at = 0

    def result(self, *, declared: bool) -> Arguments:
        unique = {argument.pointer: argument for argument in self.given}
        return Arguments(tuple(unique.values()), tuple(dict.fromkeys(self.missing)), declared, self.truncated)

    def add(self, pointer: str, name: str, value: object) -> None:
        if len(self.given) >= MAX_ARGUMENTS:
            self.truncated = True
            return
        self.given.append(Argument(pointer, name, value))

    def by_name(self, value: object, holds_one: _Holds, pointer: str, depth: int) -> None:
        for key, inner, below in self._children(value, pointer, depth):
            before = len(self.given)
            if isinstance(inner, Mapping | list | tuple):
                described = key == "properties" and _describes_objects(value)
                self.by_name(_plain(inner) if described else inner, holds_one, below, depth + 1)
            if inner is not None and holds_one(key, inner):
                self._take(key, inner, below, self.given[before:])

    def _take(self, key: str, value: object, pointer: str, found: Sequence[Argument]) -> None:
        """What stands under such a name. An object may hold it further in; if it does not, it stands for itself."""
        if found and isinstance(value, list | tuple):
            places = {one.pointer[len(pointer) + 1 :].partition("/")[0] for one in found}
            for index, item in enumerate(value):
                if self.truncated:
                    return
                if str(index) not in places or _is_keyed(item):
                    self.add(_pointer(pointer, str(index)), key, item)
        elif not found or _is_keyed(value):
            self.add(pointer, key, value)

    def _children(self, value: object, pointer: str, depth: int) -> Iterator[tuple[str, object, str]]:
        pairs: Iterator[tuple[str, object]] = iter(())
        if isinstance(value, Mapping):
            pairs = ((str(key), inner) for key, inner in value.items())
        elif isinstance(value, list | tuple):
            pairs = (
                (str(index), inner) for index, inner in enumerate(value) if isinstance(inner, Mapping | list | tuple)
            )
        for key, inner in pairs:
            self._steps -= 1
            if self._steps < 0 or depth > MAX_DEPTH:
                self.truncated = True
                return
            yield key if isinstance(value, Mapping) else "", inner, _pointer(pointer, key)

    def by_annotation(self, schema: object, value: object, pointer: str = "", depth: int = 0) -> None:
        """Walk schema and input together. `value` is `_ABSENT` below what was not given: once for each schema."""
        if value is _ABSENT:
            if depth > MAX_DEPTH or id(schema) in self._seen_absent:
                return
            self._seen_absent.add(id(schema))
        self._steps -= 1
        if self._steps < 0 or depth > MAX_DEPTH:
            self.truncated = True
            return
        for branch in self._branches(schema):
            self._in_properties(branch, value, pointer, depth)
            if "items" in branch or "prefixItems" in branch:
                self._in_elements(branch, value, pointer, depth)

    def _in_properties(self, schema: Mapping[str, object], value: object, pointer: str, depth: int) -> None:
        listed, required = _mapping(schema.get("properties")), schema.get("required")
        given = _mapping(value)
        for name, inner in self._until_ended(listed.items()):
            must = value is not _ABSENT and isinstance(required, list | tuple) and name in required
            self._each(inner, [(name, given.get(name, _ABSENT))], pointer, depth, must=must)
        if not _FOR_OTHERS & schema.keys():
            return
        others = [(str(name), one) for name, one in given.items() if name not in listed]
        # Which of them holds for which name is not looked at.
        unlisted = [*_mapping(schema.get("patternProperties")).values(), schema.get("additionalProperties")]
        for inner in self._until_ended(unlisted):
            self._each(inner, others, pointer, depth)

    def _in_elements(self, schema: Mapping[str, object], value: object, pointer: str, depth: int) -> None:
        elements = [(str(index), one) for index, one in enumerate(value)] if isinstance(value, list | tuple) else []
        first, items = schema.get("prefixItems"), schema.get("items")
        for index, inner in self._until_ended(enumerate(first if isinstance(first, list | tuple) else ())):
            self._each(inner, elements[index : index + 1], pointer, depth)
        if isinstance(items, Mapping):
            self._each(items, elements, pointer, depth)

    def _each(
        self, schema: object, values: Sequence[tuple[str, object]], pointer: str, depth: int, *, must: bool = False
    ) -> None:
        """Values for which the same schema holds, each with the name under which it stands, or its place."""
        if not isinstance(schema, Mapping) or not _LEADING_ON & schema.keys():
            return
        annotated = self._annotated(schema)
        self.declared = self.declared or annotated
        for name, value in self._until_ended(values or [("", _ABSENT)]):
            below = _pointer(pointer, name)
            if not annotated:
                self.by_annotation(schema, value, below, depth + 1)
            elif value is not _ABSENT and value is not None:
                self.add(below, name, value)
            elif must:
                self.missing.append(below)

    def _annotated(self, schema: object) -> bool:
        for branch in self._branches(schema):
            items = _mapping(branch.get("items"))
            if self._kind in (branch.get(ANNOTATION), items.get(ANNOTATION)):
                return True
        return False

    def _branches(self, schema: object) -> list[Mapping[str, object]]:
        """A schema and all that its references and combinations bring in, as far as there is time for it."""
        if self._looked_at > MAX_SCHEMAS:
            self.truncated = True
            return []
        found, whether_all = _branches(_mapping(schema), self._whole)
        self._looked_at += len(found)
        self.truncated = self.truncated or not whether_all
        return found

    def _until_ended(self, some: Iterable[_Of]) -> Iterator[_Of]:
        """As many as there is time for."""
        for one in some:
            if self._steps < 0 or self._looked_at > MAX_SCHEMAS:
                self.truncated = True
                return
            yield one


_ABSENT = object()
_PLACED = re.compile(r"[/\\.:~]")
_MAX_BRANCHES = 256
_BRINGS_IN = frozenset({"$ref", "allOf", "anyOf", "oneOf", "if", "then", "else"})
_FOR_OTHERS = frozenset({"patternProperties", "additionalProperties"})
_LEADING_ON = _BRINGS_IN | _FOR_OTHERS | {ANNOTATION, "properties", "items", "prefixItems"}


def _branches(schema: Mapping[str, object], whole: Mapping[str, object]) -> tuple[list[Mapping[str, object]], bool]:
    """A schema and what its references and combinations bring in, and whether that is all of it."""
    if not _BRINGS_IN & schema.keys():
        return [schema], True
    waiting: list[Mapping[str, object]] = [schema]
    found: dict[int, Mapping[str, object]] = {}
    while waiting and len(found) < _MAX_BRANCHES:
        current = waiting.pop()
        if id(current) in found:
            continue
        found[id(current)] = current
        reference = current.get("$ref")
        if isinstance(reference, str) and (reference == "#" or reference.startswith("#/")):
            waiting.append(_referred(reference, whole))
        for combination in ("allOf", "anyOf", "oneOf"):
            branches = current.get(combination)
            # One more than are looked at: then there are some left in the end.
            some = branches[: _MAX_BRANCHES + 1] if isinstance(branches, list | tuple) else ()
            waiting += [_mapping(branch) for branch in some]
        waiting += [_mapping(current[key]) for key in ("if", "then", "else") if key in current]
    return list(found.values()), all(id(one) in found for one in waiting)


def _referred(reference: str, whole: Mapping[str, object]) -> Mapping[str, object]:
    target: object = whole
    for part in reference.split("/")[1:]:
        target = _mapping(target).get(part.replace("~1", "/").replace("~0", "~"))
    return _mapping(target)


def _is_keyed(value: object) -> bool:
    """Whether an object has what is looked for as the names in it: `{"src/a.py": "its text"}`."""
    return isinstance(value, Mapping) and any(_PLACED.search(str(key)) for key in value)


def _describes_objects(value: object) -> bool:
    """Whether it is a JSON Schema, which says what something is called and holds none of it."""
    return isinstance(value, Mapping) and value.get("type") == "object"


def _plain(properties: object) -> dict[object, object]:
    """What is no schema among what a schema lists."""
    return {name: one for name, one in _mapping(properties).items() if not isinstance(one, Mapping | bool)}


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _pointer(parent: str, name: str) -> str:
    return f"{parent}/{name.replace('~', '~0').replace('/', '~1')}"
