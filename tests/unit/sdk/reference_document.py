"""`docs/sdk-reference.md`, printed from the SDK's docstrings: run as a script it writes the document anew."""

import ast
import dataclasses
import enum
import importlib
import inspect
import textwrap
import typing
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

DOCUMENT = Path(__file__).parents[3] / "docs" / "sdk-reference.md"
INTRODUCTION = """\
# The Python SDK: every public name

<!-- Printed from the docstrings by tests/unit/sdk/reference_document.py (make reference); do not edit by hand. -->

[sdk/README.md](../sdk/README.md) shows the SDK at work, and [sdk.md](sdk.md) says how its parts behave. This page is
what the docstrings say. Names that are not here are private, and so are modules that begin with `_`. `interlock.v1`
holds the contract's messages, generated from [the protos](../proto/interlock/v1).

Where a method is shown with `await`, it is a coroutine; with `async for` or `for`, something to iterate over.
"""
MODULES = (
    "interlock",
    "interlock.results",
    "interlock.decisions",
    "interlock.calls",
    "interlock.tools",
    "interlock.journal",
    "interlock.artifacts",
    "interlock.references",
    "interlock.errors",
    "interlock.provider",
    "interlock.beneath",
    "interlock.admin",
    "interlock.tls",
    "interlock.tracing",
    "interlock.testing",
    "interlock.extensions",
    "interlock.adapters",
    "interlock.adapters.openai_agents",
    "interlock.adapters.langchain",
    "interlock.adapters.langgraph",
    "interlock.adapters.pydantic_ai",
    "interlock.adapters.raw",
)
# How the clients' methods are made of flows (`interlock._facade`), and how one calls them.
FACADES = {"awaited": "await ", "called": "", "async_items": "async for … in ", "items": "for … in "}
Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


def document() -> str:
    """The document, as it is committed."""
    return "\n".join((INTRODUCTION, *_contents(), "", *(line for name in MODULES for line in _module(name))))


def _contents() -> Iterator[str]:
    yield "| module | |"
    yield "|---|---|"
    for name in MODULES:
        words = (importlib.import_module(name).__doc__ or "").strip().splitlines()[0]
        yield f"| [`{name}`](#{name.replace('.', '')}) | {words} |"


def _module(name: str) -> Iterator[str]:
    module = importlib.import_module(name)
    yield f"## {name}\n"
    yield _words(inspect.getdoc(module))
    yield ""
    elsewhere = [
        f"[`{offered}`](#{_anchor(offered, home)})"
        for offered in module.__all__
        if (home := _home(module, offered)) != name
    ]
    if elsewhere:
        yield f"It also has {', '.join(elsewhere)}.\n"
    for offered in _at_home(module):
        value = getattr(module, offered)
        yield f"### {offered}\n"
        if isinstance(value, type):
            yield from _class(value, module)
        elif inspect.isfunction(value):
            yield from _function(value)
        else:
            yield from _alias(module, offered)


def _home(module: ModuleType, offered: str) -> str:
    """The public module that a name is explained in."""
    home = getattr(getattr(module, offered), "__module__", module.__name__)
    public = home in MODULES and offered in importlib.import_module(home).__all__
    return home if public else module.__name__


def _at_home(module: ModuleType) -> list[str]:
    return [offered for offered in module.__all__ if _home(module, offered) == module.__name__]


def _anchor(offered: str, home: str) -> str:
    """The heading of a name; of one that several modules have it is counted up in the order of the page."""
    earlier = map(importlib.import_module, MODULES[: MODULES.index(home)])
    before = sum(offered.lower() in map(str.lower, _at_home(module)) for module in earlier)
    return f"{offered.lower()}-{before}" if before else offered.lower()


def _function(function: Any) -> Iterator[str]:
    node = _node(function)
    yield _fenced(_prefix(node) + _signature(node))
    yield f"{_words(inspect.getdoc(function))}\n"
    yield from _options(function)


def _alias(module: ModuleType, name: str) -> Iterator[str]:
    tree = ast.parse(inspect.getsource(module))
    for node, after in zip(tree.body, [*tree.body[1:], None], strict=True):
        target = node.target if isinstance(node, ast.AnnAssign) else None
        if isinstance(target, ast.Name) and target.id == name and isinstance(node, ast.AnnAssign) and node.value:
            yield _fenced(f"{name} = {ast.unparse(node.value)}")
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                yield f"{inspect.cleandoc(str(after.value.value))}\n"


def _class(kind: type, module: ModuleType) -> Iterator[str]:
    bases = [base.__name__ for base in kind.__bases__ if not base.__name__.startswith("_") and base is not object]
    yield _fenced("\n".join((f"class {kind.__name__}{_bases(bases)}", *_made(kind), *_fields(kind))))
    yield f"{_words(inspect.getdoc(kind))}\n"
    twin = kind.__name__.removeprefix("Sync")
    if twin != kind.__name__ and twin in module.__all__:
        yield f"Its methods are those of [`{twin}`](#{twin.lower()}), without `await` and `async`.\n"
        return
    methods = [line for part in _ours(kind) for line in _methods(part, kind)]
    if methods:
        yield from (*methods, "")


def _bases(names: list[str]) -> str:
    shown = [name for name in names if name not in {"Generic", "Protocol", "ABC", "SessionCore", "dict"}]
    return f"({', '.join(shown)})" if shown else ""


def _made(kind: type) -> Iterator[str]:
    """The constructor of a class that has one of its own, or of a base of ours."""
    for part in _ours(kind):
        for node in part.body:
            if isinstance(node, ast.FunctionDef) and node.name == "__init__":
                yield f"    __init__({_arguments(node)})"
                return


def _fields(kind: type) -> Iterator[str]:
    seen: set[str] = set()
    for part in _ours(kind):
        for node in part.body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and _has_fields(kind):
                name = node.target.id
                if name not in seen and not name.startswith("_") and name != "driver":
                    seen.add(name)
                    yield f"    {name}: {ast.unparse(node.annotation)}{_default(node.value)}"
            elif isinstance(node, ast.Assign) and issubclass(kind, enum.Enum):
                yield f"    {ast.unparse(node)}"


def _has_fields(kind: type) -> bool:
    return dataclasses.is_dataclass(kind) or hasattr(kind, "__total__")


def _default(value: ast.expr | None) -> str:
    if value is None:
        return ""
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "field":
        given = {keyword.arg: ast.unparse(keyword.value) for keyword in value.keywords}
        if "default_factory" in given:
            return f" = {given['default_factory']}()"
        return f" = {given['default']}" if "default" in given else ""
    return f" = {ast.unparse(value)}"


def _methods(part: ast.ClassDef, kind: type) -> Iterator[str]:
    for node in part.body:
        if isinstance(node, Function) and not node.name.startswith("_"):
            yield from _method(node, _prefix(node))
            yield from _options(vars(kind).get(node.name))
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            made = ast.unparse(node.value.func)
            if made in FACADES and isinstance(node.targets[0], ast.Name):
                name = node.targets[0].id
                flow = _node(getattr(kind, name))
                flow.name = name
                yield from _method(flow, FACADES[made], skip=1)


def _prefix(node: Function) -> str:
    decorators = {ast.unparse(one) for one in node.decorator_list}
    if "property" in decorators:
        return "property "
    return "await " if isinstance(node, ast.AsyncFunctionDef) else ""


def _method(node: Function, prefix: str, skip: int = 0) -> Iterator[str]:
    shown = _signature(node, skip) if prefix != "property " else f"{node.name} -> {_returned(node)}"
    yield f"- `{prefix.removeprefix('property ')}{shown}`"
    words = ast.get_docstring(node)
    if words:
        yield textwrap.indent(_words(words), "  ")


def _options(function: Any) -> Iterator[str]:
    """The keywords of a function that takes a `TypedDict` of them which no module offers."""
    for annotation in inspect.unwrap(function).__annotations__.values() if inspect.isfunction(function) else ():
        kind = typing.get_args(annotation)[0] if typing.get_origin(annotation) is typing.Unpack else None
        if isinstance(kind, type) and not any(kind.__name__ in importlib.import_module(one).__all__ for one in MODULES):
            yield "\nIts keywords, each of which may be left out:\n"
            yield _fenced("\n".join(line.strip() for line in _fields(kind)))


def _signature(node: Function, skip: int = 0) -> str:
    returned = _returned(node)
    return f"{node.name}({_arguments(node, skip)})" + (f" -> {returned}" if returned else "")


def _arguments(node: Function, skip: int = 0) -> str:
    given = node.args
    positional = [one for one in (*given.posonlyargs, *given.args)[skip:] if one.arg not in {"self", "cls"}]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(given.defaults)) + [*given.defaults]
    shown = [_argument(one, default) for one, default in zip(positional, defaults, strict=True)]
    if given.vararg is not None:
        shown.append(f"*{_argument(given.vararg, None)}")
    elif given.kwonlyargs:
        shown.append("*")
    shown += [_argument(one, default) for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    if given.kwarg is not None:
        shown.append(f"**{_argument(given.kwarg, None)}")
    return ", ".join(shown)


def _argument(one: ast.arg, default: ast.expr | None) -> str:
    typed = f"{one.arg}: {ast.unparse(one.annotation)}" if one.annotation is not None else one.arg
    return typed if default is None else f"{typed} = {ast.unparse(default)}"


def _returned(node: Function) -> str:
    """What comes back; of a flow, what its client's method gives."""
    if node.returns is None:
        return ""
    if isinstance(node.returns, ast.Subscript) and ast.unparse(node.returns.value) in {"Flow", "Items"}:
        return ast.unparse(node.returns.slice)
    return ast.unparse(node.returns).strip("'")


def _ours(kind: type) -> Iterator[ast.ClassDef]:
    """The class and its bases of ours, as they are written; not what enums and frameworks bring."""
    for part in kind.__mro__:
        if part.__module__.split(".")[0] == "interlock" and part.__name__ != "OperatorCore":
            node = ast.parse(textwrap.dedent(inspect.getsource(part))).body[0]
            assert isinstance(node, ast.ClassDef)
            yield node


def _node(function: Any) -> Function:
    node = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function)))).body[0]
    assert isinstance(node, Function)
    return node


def _words(docstring: str | None) -> str:
    """A docstring as Markdown: examples stand in fences."""
    paragraphs = (docstring or "").split("\n\n")
    return "\n\n".join(f"```pycon\n{one}\n```" if one.startswith(">>>") else one for one in paragraphs)


def _fenced(text: str) -> str:
    return f"```text\n{text}\n```\n"


if __name__ == "__main__":
    DOCUMENT.write_text(document())
