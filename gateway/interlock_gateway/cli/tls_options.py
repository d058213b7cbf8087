"""The options of TLS: every command that reaches a gateway has them, beside its `--address`."""

from contextvars import ContextVar
from typing import Annotated, Any

import typer

_GIVEN: ContextVar[dict[str, str]] = ContextVar("tls_options")


def _keep(param: typer.CallbackParam, value: str) -> str:
    """Keep what an option says until the command connects; each option comes here for each command, given or not."""
    _GIVEN.set({**_GIVEN.get({}), str(param.name): value})
    return value


def _options(
    *,
    ca_file: Annotated[
        str,
        typer.Option(
            callback=_keep,
            expose_value=False,
            envvar="INTERLOCK_CA_FILE",
            metavar="FILE",
            help="Over TCP: the authorities, in PEM, that the gateway's certificate is checked against.",
        ),
    ] = "",
    cert_file: Annotated[
        str,
        typer.Option(
            callback=_keep,
            expose_value=False,
            envvar="INTERLOCK_CERT_FILE",
            metavar="FILE",
            help="Over TCP: the certificate, in PEM, that proves who calls.",
        ),
    ] = "",
    key_file: Annotated[
        str,
        typer.Option(
            callback=_keep,
            expose_value=False,
            envvar="INTERLOCK_KEY_FILE",
            metavar="FILE",
            help="The key of that certificate, unless the same file holds it.",
        ),
    ] = "",
    server_name: Annotated[
        str,
        typer.Option(
            callback=_keep,
            expose_value=False,
            envvar="INTERLOCK_SERVER_NAME",
            metavar="NAME",
            help="Over TCP: whom the gateway's certificate must be for, when that is not the address's host.",
        ),
    ] = "",
) -> None:
    """What is here becomes the options of other commands; it is never called."""
    del ca_file, cert_file, key_file, server_name


def add_tls_options(command: Any) -> None:
    """Give the options to a command that has an `--address`, and to such commands below it."""
    for below in getattr(command, "commands", {}).values():
        add_tls_options(below)
    at = next((index for index, one in enumerate(command.params) if one.name == "address"), None)
    if at is not None:
        bearer = typer.Typer(add_completion=False)
        bearer.command()(_options)
        made: Any = typer.main.get_command(bearer)
        command.params[at + 1 : at + 1] = made.params


def given_tls() -> dict[str, str]:
    """What the command was given, by the field of `ClientTls`; empty for nothing."""
    return {field: value for field, value in _GIVEN.get({}).items() if value}
