"""`interlock toolbox`."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Annotated

import typer
from interlock.provider import ToolServer
from interlock.toolbox import local_operations, toolbox_provider
from interlock.toolbox.server import KEEP_DAYS, default_state_dir

from interlock_gateway.cli.exit_codes import ExitCode
from interlock_gateway.cli.failures import CommandError
from interlock_gateway.cli.options import examples, group
from interlock_gateway.cli.reaching import configured

app = group("Serve the tools that ship with Interlock.", "")
TOOLBOX_ADDRESS = "unix:{state}/toolbox.sock"
_DAY_S = 86_400.0


@app.command(
    epilog=examples(
        "interlock toolbox --root .",
        "interlock toolbox --root /srv/app --root /srv/data --listen unix:/run/interlock/toolbox.sock",
    )
)
def toolbox(
    *,
    root: Annotated[
        list[Path], typer.Option(help="A directory that the tools may work in. Can be given several times.")
    ],
    listen: Annotated[
        str, typer.Option(help="`unix:PATH` or `HOST:PORT`; `{state}` is the gateway's state directory.")
    ] = TOOLBOX_ADDRESS,
    state: Annotated[
        Path | None, typer.Option(help="Where undo and trash are kept, outside the roots; not the gateway's own.")
    ] = None,
    token: Annotated[
        str,
        typer.Option(
            envvar="INTERLOCK_TOOLBOX_TOKEN", show_envvar=True, help="A token that the gateway has to present."
        ),
    ] = "",
    keep_env: Annotated[
        list[str] | None, typer.Option(help="A variable that commands get too. Can be given several times.")
    ] = None,
    keep_days: Annotated[float, typer.Option(min=0.0, help="How long changes can be undone, in days.")] = KEEP_DAYS,
) -> None:
    """Serve read, write, edit, delete, bash, glob, grep and list inside the given directories, until Ctrl-C.

    It is a process of its own: the gateway reaches it as a provider and never touches files itself.
    """
    address = configured().at_state(listen)
    _make_room(address)
    try:
        operations = local_operations(root, state or default_state_dir(os.environ), keep_environment=keep_env or ())
    except ValueError as error:
        raise CommandError(str(error), ExitCode.USAGE) from None
    operations.vault.sweep(keep_days * _DAY_S)
    server = ToolServer(toolbox_provider(operations), address, token=token or None)
    try:
        asyncio.run(_serve(server, root))
    except OSError as error:
        raise CommandError(str(error), ExitCode.USAGE) from None


async def _serve(server: ToolServer, roots: list[Path]) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with server:
        served = ", ".join(str(root.absolute()) for root in roots)
        typer.echo(f"toolbox is ready: {server.address}; tools work in {served}")
        await stopped.wait()


def _make_room(address: str) -> None:
    if address.startswith("unix:"):
        Path(address.removeprefix("unix:")).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
