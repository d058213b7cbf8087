"""Write a tool provider: `@tool` makes a tool of a function, `serve_tools` serves, `attach_tools` offers in place.

>>> from interlock.provider import tool
>>> @tool(read_only=True, concurrency_safe=True)
... def word_count(text: str) -> str:
...     "Count the words of a text."
...     return str(len(text.split()))
>>> word_count("to be or not")
'4'
"""

from interlock.provider._attach import attach_tools
from interlock.provider._context import ToolContext
from interlock.provider._provider import ToolProvider
from interlock.provider._schema import Arg
from interlock.provider._server import ToolServer, serve_tools
from interlock.provider._tool import Tool, tool
from interlock.provider._values import (
    DryRunResult,
    Image,
    PendingAction,
    StateChangedError,
    ToolError,
    ToolResult,
    UndoInfo,
)

__all__ = [
    "Arg",
    "DryRunResult",
    "Image",
    "PendingAction",
    "StateChangedError",
    "Tool",
    "ToolContext",
    "ToolError",
    "ToolProvider",
    "ToolResult",
    "ToolServer",
    "UndoInfo",
    "attach_tools",
    "serve_tools",
    "tool",
]
