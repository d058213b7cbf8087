"""`interlock mcp`: the gateway for MCP clients that start a program and speak over its pipes (MCP-1, MCP-4)."""

import os
import socket
import sys
from pathlib import Path
from typing import Annotated

import typer

from interlock_gateway.cli.options import ConfigFile, LogLevel, examples, group, log_level_of
from interlock_gateway.cli.pump import pump

app = group("Speak MCP over standard input and output; put one server behind a gateway.", "")
UNREACHABLE = 3
_SOCKET = "mcp.sock"


@app.callback(
    invoke_without_command=True,
    no_args_is_help=False,
    epilog=examples("interlock mcp", "interlock mcp --address unix:/run/interlock/mcp.sock"),
)
def mcp(
    ctx: typer.Context,
    *,
    socket_at: Annotated[  # not `address`: those come with the options of TLS
        str,
        typer.Option(
            "--address",
            envvar="INTERLOCK_MCP_ADDRESS",
            help="`unix:PATH` where the gateway speaks MCP; without it the socket of the configuration.",
        ),
    ] = "",
) -> None:
    """Be the gateway for an MCP client that starts a program: its standard input and output are MCP.

    A gateway has to be running; this only carries bytes to its socket and back.
    """
    if ctx.invoked_subcommand is not None:
        return
    path = _path_of(socket_at or _configured())
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        try:
            connection.connect(path)
        except OSError as error:
            words = f"no gateway speaks MCP on unix:{path} ({error.strerror}); start one with `interlock serve`"
            typer.echo(words, err=True)
            raise typer.Exit(UNREACHABLE) from None
        try:
            pump(connection)
        except (BrokenPipeError, ConnectionResetError):
            raise typer.Exit(UNREACHABLE) from None


@app.command(
    epilog=examples(
        "interlock mcp wrap -- npx -y @modelcontextprotocol/server-filesystem ~/notes",
        "interlock mcp wrap --confirm -- npx -y @modelcontextprotocol/server-filesystem ~/notes",
    ),
    context_settings={"allow_interspersed_args": False},
)
def wrap(
    command: Annotated[list[str], typer.Argument(help="The MCP server: a program and its arguments, after `--`.")],
    *,
    name: Annotated[str, typer.Option(help="What the server is called here; without it, by its command.")] = "",
    confirm: Annotated[
        bool, typer.Option("--confirm", help="Show what the server's tools declare, ask for consent to it, and end.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Consent to what the tools declare without a question.")] = False,
    config: ConfigFile = None,
    log_level: LogLevel = "WARNING",
) -> None:
    """Put one MCP server behind a gateway of its own, and speak MCP over standard input and output.

    The server is started with this program's environment and in its directory, and ends with it. Whoever sits at the
    client answers checkpoints there. What the server's tools declare counts once a person consented to it: at the
    client, where that can ask, or with `--confirm` at a terminal. Consent is remembered for this command.
    """
    from interlock_gateway.cli.wrapping import Wrapped, run_wrapped  # noqa: PLC0415 -- the gateway takes a second

    at_terminal = confirm or (sys.stdin.isatty() and sys.stdout.isatty())
    wrapped = Wrapped(tuple(command), name, config, log_level_of(log_level), yes=yes, only_confirm=at_terminal)
    raise typer.Exit(run_wrapped(wrapped))


def _path_of(address: str) -> str:
    """The socket's path. Raises `typer.BadParameter` for what a client connects to by itself."""
    if not address.startswith(("unix:", "/", "./", "../")) and (":" in address or "/" not in address):
        words = (
            f"{address} is no unix:PATH; over HTTP a client connects to the gateway by itself, at http://HOST:PORT/mcp"
        )
        raise typer.BadParameter(words, param_hint="--address")
    return address.removeprefix("unix:").removeprefix("//")


def _configured() -> str:
    """The socket of the configuration, found without loading a gateway's where the defaults hold."""
    if "INTERLOCK_CONFIG" not in os.environ and not any(one.startswith("INTERLOCK__") for one in os.environ):
        return f"unix:{Path('~/.local/state/interlock').expanduser() / _SOCKET}"
    from interlock_gateway.cli.reaching import configured  # noqa: PLC0415 -- as said above

    config = configured()
    found = next((one for one in config.mcp.listen if one.startswith("unix:")), "")
    if not found:
        raise typer.BadParameter("mcp.listen has no Unix socket; say with --address where the gateway speaks MCP")
    return config.at_state(found)
