"""The toolbox as a provider process of its own."""

import logging
import os
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from interlock.provider import Tool, ToolProvider, serve_tools
from interlock.tls import ServerTls
from interlock.toolbox.binding import Workbench
from interlock.toolbox.errors import OperationError
from interlock.toolbox.local import local_operations
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

NAME = "toolbox"
KEEP_DAYS = 30.0
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


def default_state_dir(environment: Mapping[str, str]) -> Path:
    """Where undo keeps what it needs unless told otherwise, after the XDG base directories."""
    home = Path(environment.get("HOME") or Path.home())
    return Path(environment.get("XDG_STATE_HOME") or home / ".local" / "state") / "interlock" / NAME


def serve_toolbox(
    roots: Sequence[Path],
    address: str,
    state_dir: Path | None = None,
    token: str | None = None,
    *,
    keep_environment: Sequence[str] = (),
    keep_days: float = KEEP_DAYS,
    tls: ServerTls | None = None,
) -> None:
    """Serve the toolbox on an address (`unix:/path` or `host:port`) until SIGINT or SIGTERM.

    Undo records and trash older than `keep_days` are forgotten first. `keep_environment` names variables that commands
    get beside the allowed ones. Raises ValueError when a root is no directory or overlaps with the state directory, or
    certificates cannot be used, OSError when the address cannot be bound.
    """
    operations = local_operations(roots, state_dir or default_state_dir(os.environ), keep_environment=keep_environment)
    provider = toolbox_provider(operations)
    operations.vault.sweep(keep_days * _DAY_S)
    serve_tools(provider, address, token=token, tls=tls)
