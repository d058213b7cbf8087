"""The toolbox as a provider process of its own."""

import logging
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from interlock.provider import Tool, ToolProvider, serve_tools
from interlock.tls import ServerTls
from interlock.toolbox.binding import Workbench
from interlock.toolbox.errors import OperationError
from interlock.toolbox.operations import Operations
from interlock.toolbox.tools.bash import bash_tool
from interlock.toolbox.tools.batch_rename import batch_rename_tool
from interlock.toolbox.tools.delete import delete_tool
from interlock.toolbox.tools.edit import edit_tool
from interlock.toolbox.tools.find import glob_tool, list_tool
from interlock.toolbox.tools.grep import grep_tool
from interlock.toolbox.tools.read import read_tool
from interlock.toolbox.tools.restore import restore_tool
from interlock.toolbox.tools.write import write_tool
from interlock.toolbox.undo import Undo
from interlock.toolbox.working import Workplace, working

NAME = "toolbox"
KEEP_DAYS = 30.0
DRAIN_S = 5.0
_LOGGER = logging.getLogger("interlock.toolbox")
_DAY_S = 24 * 60 * 60.0

_TOOLS = (
    read_tool,
    write_tool,
    edit_tool,
    delete_tool,
    batch_rename_tool,
    bash_tool,
    glob_tool,
    grep_tool,
    list_tool,
    restore_tool,
)


def toolbox_tools(operations: Operations) -> list[Tool[..., Any]]:
    """All tools of the toolbox, working through these operations.

    What an earlier toolbox was killed in the middle of is taken back first, if it can be.
    """
    bench = Workbench(operations, Undo(operations))
    try:
        bench.undo.renaming.recover()
    except OperationError as error:
        _LOGGER.warning("an unfinished batch rename could not be taken back yet: %s", error)
    return [make(bench) for make in _TOOLS]


def toolbox_provider(operations: Operations) -> ToolProvider:
    """The toolbox as a provider, ready to be served or attached."""
    try:
        number = version("interlock-sdk")
    except PackageNotFoundError:
        number = ""
    return ToolProvider(toolbox_tools(operations), name=NAME, version=number)


def serve_toolbox(
    place: Workplace,
    address: str,
    token: str | None = None,
    *,
    keep_days: float = KEEP_DAYS,
    tls: ServerTls | None = None,
    drain_s: float = DRAIN_S,
    health_address: str = "",
) -> None:
    """Serve the toolbox on an address (`unix:/path` or `host:port`) until SIGINT or SIGTERM.

    `drain_s` and `health_address` are those of `ToolServer`. Undo records and trash older than `keep_days` are
    forgotten first. Raises what `working` raises, ValueError when certificates cannot be used, OSError when an address
    cannot be bound.
    """
    with working(place) as operations:
        operations.vault.sweep(keep_days * _DAY_S)
        serve_tools(
            toolbox_provider(operations), address, token=token, tls=tls, drain_s=drain_s, health_address=health_address
        )
