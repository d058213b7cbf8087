"""What a handler takes: the tool's arguments by name, and by type the context and the result."""

import asyncio
import contextvars
import inspect
import typing
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

from interlock.provider._context import ToolContext
from interlock.provider._docstring import Docstring
from interlock.provider._schema import Member, Shape, object_shape, shape_of
from interlock.provider._values import ToolResult


@dataclass(frozen=True, slots=True)
class Handler:
    """A function, and how to call it. `takes` are the arguments it wants, None meaning all."""

    function: Callable[..., Any]
    is_async: bool
    blocking: bool
    takes: frozenset[str] | None
    context_name: str
    result_name: str

    async def call(
        self,
        executor: Callable[[], Executor],
        arguments: Mapping[str, Any],
        context: Callable[[], ToolContext],
        result: ToolResult | None = None,
    ) -> Any:
        """Call the function; one that is not async runs in a thread, unless it said that it does not block."""
        given = dict(arguments) if self.takes is None else {k: v for k, v in arguments.items() if k in self.takes}
        asked = context() if self.context_name else None
        if asked is not None:
            given[self.context_name] = asked
        if self.result_name:
            given[self.result_name] = result
        if self.is_async:
            return await self.function(**given)
        if not self.blocking:
            return self.function(**given)
        variables = contextvars.copy_context()
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(executor(), lambda: variables.run(self.function, **given))
        except asyncio.CancelledError:
            if asked is not None:
                asked._cancelled.set()  # noqa: SLF001 -- only the machinery that runs a handler says that its caller has gone
            raise


@dataclass(frozen=True, slots=True)
class Signature:
    """A tool function: how to call it and the shape of its input."""

    handler: Handler
    names: tuple[str, ...]
    shape: Shape


@dataclass(frozen=True, slots=True)
class _Parameters:
    plain: tuple[inspect.Parameter, ...]
    hints: Mapping[str, Any]
    context_name: str
    result_name: str


def _parameters(function: Callable[..., Any]) -> _Parameters:
    hints = typing.get_type_hints(function, include_extras=True)
    plain: list[inspect.Parameter] = []
    injected = {ToolContext: "", ToolResult: ""}
    for parameter in inspect.signature(function).parameters.values():
        hint = hints.get(parameter.name)
        if isinstance(hint, type) and hint in injected:
            injected[hint] = parameter.name
            continue
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"{function.__name__}: {parameter} cannot be passed by name")
        plain.append(parameter)
    return _Parameters(tuple(plain), hints, injected[ToolContext], injected[ToolResult])


def tool_signature(function: Callable[..., Any], docstring: Docstring, *, blocking: bool) -> Signature:
    """Read a tool's function.

    Raises TypeError for a parameter without a type hint, with one that JSON cannot hold, or not passable by name.
    """
    found = _parameters(function)
    members = [
        _member(function.__name__, parameter, found.hints, docstring.arguments.get(parameter.name, ""))
        for parameter in found.plain
    ]
    handler = Handler(
        function, inspect.iscoroutinefunction(function), blocking, None, found.context_name, found.result_name
    )
    return Signature(handler, tuple(member.name for member in members), object_shape(members, _unchanged))


def attached_handler(function: Callable[..., Any], known: tuple[str, ...], *, blocking: bool) -> Handler:
    """Read a function attached to a tool; it may take any of the `known` names.

    Raises TypeError when it wants something else.
    """
    found = _parameters(function)
    takes = frozenset(parameter.name for parameter in found.plain)
    required = {parameter.name for parameter in found.plain if parameter.default is parameter.empty}
    unknown = sorted(required - set(known))
    if unknown:
        raise TypeError(f"{function.__name__} takes {', '.join(unknown)}; it can take {', '.join(known) or 'nothing'}")
    return Handler(
        function, inspect.iscoroutinefunction(function), blocking, takes, found.context_name, found.result_name
    )


def _unchanged(got: dict[str, Any]) -> dict[str, Any]:
    return got


def _member(owner: str, parameter: inspect.Parameter, hints: Mapping[str, Any], described: str) -> Member:
    if parameter.name not in hints:
        raise TypeError(f"{owner}: the parameter {parameter.name} needs a type hint")
    try:
        shape = shape_of(hints[parameter.name])
    except TypeError as error:
        raise TypeError(f"{owner}: the parameter {parameter.name}: {error}") from None
    schema = dict(shape.schema)
    if described:
        schema.setdefault("description", described)
    required = parameter.default is parameter.empty
    if isinstance(parameter.default, (bool, int, float, str)):
        schema["default"] = parameter.default
    return Member(parameter.name, Shape(schema, shape.read), required)
