"""The `@tool` decorator, and the tool that it makes of a function."""

import re
from collections.abc import Callable, Sequence
from typing import Any, Generic, Literal, ParamSpec, TypedDict, TypeVar, Unpack, get_type_hints, overload

from interlock.provider._docstring import read_docstring
from interlock.provider._schema import Schema, Shape, shape_of
from interlock.provider._signature import Handler, attached_handler, tool_signature

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])

NAME = re.compile(r"[A-Za-z0-9_./-]{1,128}")
MAX_ALIASES = 16
_DRAFT = "https://json-schema.org/draft/2020-12/schema"

HandlerKind = Literal["dry_run", "undo", "apply", "reject", "render_call", "render_result"]


class Declared(TypedDict, total=False):
    """What `@tool` takes (contract.md, ToolDefinition); what is left out is not declared.

    A tool that declares none of the flags is treated as destructive and open-world by the shipped policies. `timeout`
    is in seconds. `truncation` says what is kept of a result over `max_result_bytes`. `blocking=False` runs a plain
    function on the event loop: only for those that return at once. `checks_state=True` says that the function compares
    the context's `state_token` itself; otherwise the dry run is repeated and compared before a preview is applied.
    """

    name: str
    aliases: Sequence[str]
    title: str
    description: str
    concurrency_safe: bool
    read_only: bool
    destructive: bool
    open_world: bool
    permission_class: str
    audit_operation: str
    requires_checkpoint: bool
    requires_reverse_thinking: bool
    search_hint: str
    knows_workdir: bool
    reversible: bool
    undo_method: Literal["", "tool", "manual"]
    undo_tool: str
    min_confidence: int
    affected_resources: Sequence[str]
    max_result_bytes: int
    max_result_lines: int
    truncation: Literal["", "head", "head_tail", "table"]
    timeout: float
    prompt_snippet: str
    prompt_guidelines: Sequence[str]
    blocking: bool
    checks_state: bool


class Tool(Generic[P, R]):
    """A function that agents can call; calling it calls the function.

    Its decorators attach what else the tool can do. The functions they attach take any of the tool's arguments by name,
    and a `ToolContext`; those of `undo` and `render_result` may also take the `ToolResult`.
    """

    def __init__(self, function: Callable[P, R], declared: Declared) -> None:
        docstring = read_docstring(function.__doc__)
        self.function = function
        self.declared = declared
        self.name = declared.get("name", function.__name__)
        self.description = declared.get("description", docstring.description)
        self._blocking = declared.get("blocking", True)
        self.signature = tool_signature(function, docstring, blocking=self._blocking)
        self.output = _output_shape(function)
        self.handlers: dict[HandlerKind, Handler] = {}
        self.__doc__ = function.__doc__
        self._check()

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function, as if it had not been decorated."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<Tool {self.name}>"

    @property
    def input_schema(self) -> Schema:
        """The JSON Schema (draft 2020-12) of the input: a closed object."""
        return {"$schema": _DRAFT, **self.signature.shape.schema}

    def dry_run(self, function: F) -> F:
        """Attach what tells what a call would do, and changes nothing; it returns a `DryRunResult` or a `str`."""
        return self._attach("dry_run", function, self.signature.names)

    def undo(self, function: F) -> F:
        """Attach what tells how to take a call back that just ran; it returns an `UndoInfo` or None."""
        return self._attach("undo", function, self.signature.names)

    def apply(self, function: F) -> F:
        """Attach what applies a pending action of this tool; it takes any of `token`, `reason` and `extra`."""
        return self._attach("apply", function, ("token", "reason", "extra"))

    def reject(self, function: F) -> F:
        """Attach what hears of a discard of this tool's pending action; None leaves the words to the gateway."""
        return self._attach("reject", function, ("token", "reason", "extra"))

    def render_call(self, function: F) -> F:
        """Attach what shows people a call: a `str`, or a line and a long form."""
        return self._attach("render_call", function, self.signature.names)

    def render_result(self, function: F) -> F:
        """Attach what shows people a result: a `str`, or a line and a long form."""
        return self._attach("render_result", function, self.signature.names)

    def _attach(self, kind: HandlerKind, function: F, known: tuple[str, ...]) -> F:
        self.handlers[kind] = attached_handler(function, known, blocking=self._blocking)
        return function

    def _check(self) -> None:
        for name in (self.name, *self.declared.get("aliases", ())):
            if not NAME.fullmatch(name):
                raise ValueError(f"{name!r} is not a tool name: 1 to 128 characters of A-Z a-z 0-9 _ . / and -")
        if len(self.declared.get("aliases", ())) > MAX_ALIASES:
            raise ValueError(f"{self.name}: at most {MAX_ALIASES} aliases")
        if not 0 <= self.declared.get("min_confidence", 0) <= 100:  # noqa: PLR2004 -- a percentage
            raise ValueError(f"{self.name}: min_confidence is 0 to 100")


def _output_shape(function: Callable[..., Any]) -> Shape | None:
    """The shape of a structured result: of a dataclass or a TypedDict, and of nothing else."""
    hint = get_type_hints(function, include_extras=True).get("return")
    if not isinstance(hint, type) or hint in (str, bytes, dict, list):
        return None
    try:
        shape = shape_of(hint)
    except TypeError:
        return None
    return shape if "properties" in shape.schema else None


@overload
def tool(function: Callable[P, R], /) -> Tool[P, R]: ...
@overload
def tool(**declared: Unpack[Declared]) -> Callable[[Callable[P, R]], Tool[P, R]]: ...


def tool(
    function: Callable[P, R] | None = None, /, **declared: Unpack[Declared]
) -> Tool[P, R] | Callable[[Callable[P, R]], Tool[P, R]]:
    """Make a tool of a function, sync or async: its schema from the type hints, its description from the docstring.

    The keywords are those of contract.md's ToolDefinition: `name`, `aliases`, `title`, `description`; `read_only`,
    `destructive`, `concurrency_safe`, `open_world`, `requires_checkpoint`, `requires_reverse_thinking`,
    `permission_class`, `audit_operation`, `search_hint`, `knows_workdir`; `reversible`, `undo_method`, `undo_tool`,
    `min_confidence`, `affected_resources`; `max_result_bytes`, `max_result_lines`, `truncation`; `timeout` in seconds;
    `prompt_snippet`, `prompt_guidelines`; `blocking`, `checks_state`.

    Raises TypeError for a parameter that JSON cannot hold, ValueError for a name or number out of range.

    >>> @tool(read_only=True, concurrency_safe=True)
    ... def add(a: int, b: int = 1) -> str:
    ...     "Add two numbers."
    ...     return str(a + b)
    >>> add(2, b=3)
    '5'
    >>> add.input_schema["required"]
    ['a']
    """

    def decorate(decorated: Callable[P, R]) -> Tool[P, R]:
        return Tool(decorated, declared)

    return decorate if function is None else decorate(function)
