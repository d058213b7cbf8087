"""Options that several commands share, and the form of their examples."""

from pathlib import Path
from typing import Annotated

import typer

from interlock_gateway.cli.screen import OutputFormat


def group(summary: str, example: str) -> typer.Typer:
    """A module's app; with several commands, `summary` is its help, and it shows that when it is given no word."""
    return typer.Typer(
        help=summary,
        epilog=example,
        rich_markup_mode=None,
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def examples(*lines: str) -> str:
    """The end of a command's help: lines to copy."""
    return "\n".join(("\b", "Example:" if len(lines) == 1 else "Examples:", *(f"  {line}" for line in lines)))


def log_level_of(text: str) -> str:
    """The level that `text` names, in any case. Raises `typer.BadParameter` for another word."""
    level = text.upper()
    if level not in _LEVELS:
        raise typer.BadParameter(f"{text} is not one of {', '.join(_LEVELS)}", param_hint="--log-level")
    return level


_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
LogLevel = Annotated[str, typer.Option(help="The least level of the log lines on standard error.", metavar="LEVEL")]
Output = Annotated[
    OutputFormat, typer.Option("--output", "-o", help="`json` for programs, `table` for people.", show_choices=True)
]
ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config", "-c", envvar="INTERLOCK_CONFIG", help="The configuration file; without one the defaults hold."
    ),
]
AgentAddress = Annotated[
    str,
    typer.Option(
        "--address",
        envvar="INTERLOCK_ADDRESS",
        help="Where agents reach the gateway; without it the socket of the configuration.",
    ),
]
OperatorAddress = Annotated[
    str,
    typer.Option(
        "--address",
        envvar="INTERLOCK_OPERATOR_ADDRESS",
        help="Where operators reach the gateway; without it the socket of the configuration.",
    ),
]
Session = Annotated[
    str, typer.Option("--session", "-s", envvar="INTERLOCK_SESSION", help="The session's id; without it a new one.")
]
GivenSession = Annotated[str, typer.Option("--session", "-s", envvar="INTERLOCK_SESSION", help="The session's id.")]
Timeout = Annotated[float, typer.Option("--timeout", min=0.1, help="How long to wait for the answer, in seconds.")]
Reason = Annotated[str, typer.Option("--reason", help="Why; it is kept in the receipt.")]
