"""Which fields of the contract's messages the gateway's own source sets somewhere, found by reading it."""

import ast
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import interlock.v1
import interlock_gateway
from google.protobuf.descriptor import Descriptor, FieldDescriptor, FileDescriptor, MethodDescriptor

GATEWAY = Path(interlock_gateway.__file__).parent
PACKAGE = "interlock.v1"
FILLS = frozenset({"CopyFrom", "MergeFrom", "extend", "append", "add", "update", "FromNanoseconds", "FromSeconds"})
Field = tuple[str, str]


def files() -> Iterator[FileDescriptor]:
    """Every file of the contract."""
    for found in iter_modules(interlock.v1.__path__):
        if found.name.endswith("_pb2"):
            yield import_module(f"interlock.v1.{found.name}").DESCRIPTOR


def messages() -> dict[str, Descriptor]:
    """Every message of the contract, by its name."""
    return {name: message for file in files() for name, message in file.message_types_by_name.items()}


def reachable(roots: Iterable[Descriptor]) -> set[Field]:
    """Every field of these messages and of those inside them, as message and name."""
    waiting, seen = list(roots), set[str]()
    found: set[Field] = set()
    while waiting:
        message = waiting.pop()
        if message.full_name in seen or message.file.package != PACKAGE:
            continue
        seen.add(message.full_name)
        for field in message.fields:
            found.add((message.name, field.name))
            if field.message_type is not None and not field.message_type.GetOptions().map_entry:
                waiting.append(field.message_type)
    return found


def filled() -> set[Field]:
    """Every field that some function of the gateway sets."""
    known = messages()
    found: set[Field] = set()
    for file in GATEWAY.rglob("*.py"):
        source = file.read_text(encoding="utf-8")
        if "interlock.v1" in source:
            found |= set_in(ast.parse(source), known)
    return found


def set_in(module: ast.Module, known: dict[str, Descriptor]) -> set[Field]:
    """Every field that some function of a module sets."""
    called = known | dict(_aliases(module, known))
    functions = (node for node in ast.walk(module) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return {field for function in functions for field in _Reading(called).of(function)}


def left_out(module: ast.Module, known: dict[str, Descriptor]) -> Iterator[str]:
    """Each field that a function of a module leaves out of a message that it makes, as `function: Message.field`.

    What a function of the module sets that is called with such a message to be filled counts, too.
    """
    called = known | dict(_aliases(module, known))
    functions = {node.name: node for node in module.body if isinstance(node, ast.FunctionDef)}
    sets = {name: _Reading(called).of(function) for name, function in functions.items()}
    for name, function in functions.items():
        calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
        helpers = [one.id for one in calls if isinstance(one, ast.Name) and one.id in functions and one.id[0] == "_"]
        found = sets[name].union(*(sets[helper] for helper in helpers))
        made = {called[one.attr].name for one in calls if isinstance(one, ast.Attribute) and one.attr in called}
        for message in sorted(made):
            missing = (field.name for field in known[message].fields if (message, field.name) not in found)
            yield from (f"{name}: {message}.{field}" for field in missing)


def _aliases(module: ast.Module, known: dict[str, Descriptor]) -> Iterator[tuple[str, Descriptor]]:
    """Messages that a module calls by names of its own."""
    for node in ast.walk(module):
        match node:
            case ast.ImportFrom(names=names):
                yield from ((one.asname, known[one.name]) for one in names if one.asname and one.name in known)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Attribute(attr=message)) if message in known:
                yield name, known[message]


class _Reading:
    """What one function sets of messages: those that it makes, and those that it is given to fill."""

    def __init__(self, known: dict[str, Descriptor]) -> None:
        self._known = known
        self._types: dict[str, Descriptor] = {}
        self._set: set[Field] = set()

    def of(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[Field]:
        """The fields."""
        for argument in (*function.args.args, *function.args.kwonlyargs):
            named = argument.annotation
            if isinstance(named, ast.Attribute) and named.attr in self._known:
                self._types[argument.arg] = self._known[named.attr]
        # Twice, because a name may be used in front of where it is given in the order of this walk.
        for _ in range(2):
            for node in ast.walk(function):
                self._read(node)
        return self._set

    def _read(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._assigned(target, node.value)
        elif isinstance(node, ast.Call):
            self._called(node)

    def _assigned(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple):
            values = value.elts if isinstance(value, ast.Tuple) else [value] * len(target.elts)
            for one, other in zip(target.elts, values, strict=True):
                self._assigned(one, other)
        elif isinstance(target, ast.Name):
            if (kind := self._type_of(value)) is not None:
                self._types[target.id] = kind
                self._touch(value)
        elif isinstance(target, ast.Subscript):
            self._touch(target.value)
        else:
            self._touch(target)

    def _called(self, call: ast.Call) -> None:
        function = call.func
        made = self._type_of(call)
        if made is not None:
            self._set |= {(made.name, keyword.arg) for keyword in call.keywords if keyword.arg is not None}
        if isinstance(function, ast.Attribute) and function.attr in FILLS:
            self._touch(function.value)
        for argument in call.args:  # whoever is handed a part of a message fills it
            self._touch(argument)

    def _touch(self, place: ast.expr) -> None:
        """Note every field on the way to this place."""
        while isinstance(place, ast.Attribute):
            inside = self._type_of(place.value)
            if inside is not None and place.attr in inside.fields_by_name:
                self._set.add((inside.name, place.attr))
            place = place.value

    def _type_of(self, value: ast.expr) -> Descriptor | None:
        """The message that an expression is, or whose repeated field it adds to."""
        match value:
            case ast.Name():
                return self._types.get(value.id)
            case ast.Attribute():
                return _inside(self._type_of(value.value), value.attr)
            case ast.Call(func=ast.Attribute(attr="add", value=repeated)):
                return self._type_of(repeated)
            case ast.Call(func=ast.Attribute(attr=name)) | ast.Call(func=ast.Name(id=name)):
                return self._known.get(name)
        return None


def _inside(message: Descriptor | None, name: str) -> Descriptor | None:
    field: FieldDescriptor | None = message.fields_by_name.get(name) if message is not None else None
    return field.message_type if field is not None else None


def answers(*services: str) -> Iterator[Descriptor]:
    """What these services answer."""
    return (method.output_type for method in _methods(services))


def requests(*services: str) -> Iterator[Descriptor]:
    """What these services are asked."""
    return (method.input_type for method in _methods(services))


def _methods(services: tuple[str, ...]) -> Iterator[MethodDescriptor]:
    for file in files():
        for name in services:
            if name in file.services_by_name:
                yield from file.services_by_name[name].methods
