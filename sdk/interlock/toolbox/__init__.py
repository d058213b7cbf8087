"""The tools that ship with Interlock, as a provider of its own (toolbox.md).

`serve_toolbox` serves them from this machine's directories, `toolbox_provider` makes a provider of them over any
`Operations`.
"""

from interlock.toolbox.local import local_operations
from interlock.toolbox.memory import memory_operations
from interlock.toolbox.operations import Operations
from interlock.toolbox.server import serve_toolbox, toolbox_provider, toolbox_tools

__all__ = [
    "Operations",
    "local_operations",
    "memory_operations",
    "serve_toolbox",
    "toolbox_provider",
    "toolbox_tools",
]
