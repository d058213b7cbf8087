"""`interlock`: the table of its commands."""

import os
import sys
from typing import Annotated

import typer

from interlock_gateway.cli.lazy import LazyCommand, LazyGroup

COMPLETE_VARIABLE = "_INTERLOCK_COMPLETE"
_RUN, _AGENT, _SHELL = "Run", "As an agent", "For your shell"
_APPROVER, _OPERATOR = "As an approver", "As an operator"

COMMANDS = {
    "demo": LazyCommand("demo", "Show a gateway in front of an agent.", _RUN),
    "init": LazyCommand("init", "Write a configuration and policies to start from.", _RUN),
    "serve": LazyCommand("serve", "Run the gateway.", _RUN),
    "toolbox": LazyCommand("toolbox", "Serve the tools that ship with Interlock.", _RUN),
    "mcp": LazyCommand("mcp", "Speak MCP over standard input and output; wrap one server.", _RUN),
    "webhook": LazyCommand("webhook", "Put the gateway into pods that ask for it, on Kubernetes.", _RUN),
    "check": LazyCommand("check", "Check configuration, policies and connections, without serving.", _RUN),
    "config": LazyCommand("config", "Show the configuration in force, or its schema.", _RUN),
    "token": LazyCommand("new_token", "Make a token, and what the configuration holds of it.", _RUN),
    "tools": LazyCommand("tools", "List tools; confirm or approve what providers declare.", _AGENT),
    "call": LazyCommand("call", "Call a tool.", _AGENT),
    "batch": LazyCommand("batch", "Call several tools in one request.", _AGENT),
    "resolve": LazyCommand("resolve", "Apply or discard what was previewed.", _AGENT),
    "pending": LazyCommand("pending", "List what waits to be resolved.", _AGENT),
    "operations": LazyCommand("operations", "List what a session did, or settle what is unknown of it.", _AGENT),
    "rollback": LazyCommand("rollback", "Undo what a session did, newest first.", _AGENT),
    "artifact": LazyCommand("artifact", "Read, search and describe stored results.", _AGENT),
    "checkpoints": LazyCommand("checkpoints", "Look at calls that wait for a person; answer them.", _APPROVER),
    "status": LazyCommand("status", "Show how the gateway is doing.", _OPERATOR),
    "providers": LazyCommand("providers", "List the providers; add or remove one.", _OPERATOR),
    "sessions": LazyCommand("sessions", "List sessions, or report on one.", _OPERATOR),
    "policy": LazyCommand("policy", "Check, test, evaluate and reload policies.", _OPERATOR),
    "audit": LazyCommand("audit", "Verify, read and follow the receipts.", _OPERATOR),
    "completion": LazyCommand("completion", "Print the completion script for a shell.", _SHELL),
}


class Interlock(LazyGroup):
    """The root command."""

    lazy = COMMANDS


app = typer.Typer(
    cls=Interlock,
    name="interlock",
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="\b\nExample:\n  interlock init && interlock serve --config interlock.yaml",
)


def _version(wanted: bool) -> None:  # noqa: FBT001 -- typer hands a callback the flag's value
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415 -- needed for this one option

        typer.echo(f"interlock {version('interlock-gateway')}")
        raise typer.Exit


@app.callback()
def root(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which version this is.")
    ] = False,
) -> None:
    """A policy-as-code safety gateway between AI agents and their tools."""
    del version


def main() -> None:
    """Run `interlock` with the arguments of the process."""
    if COMPLETE_VARIABLE in os.environ:
        from typer._completion_classes import completion_init  # noqa: PLC0415 -- only a completing shell needs it

        completion_init()
    typer.main.get_command(app)(prog_name="interlock")
    sys.exit(0)


if __name__ == "__main__":
    main()
