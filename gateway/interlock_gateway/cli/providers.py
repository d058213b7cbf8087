"""`interlock providers`."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

import typer
from interlock.v1 import registry_pb2

from interlock_gateway.cli.jsonable import enum_word
from interlock_gateway.cli.options import OperatorAddress, Output, examples, group
from interlock_gateway.cli.provider_view import declared_table, difference_table
from interlock_gateway.cli.reaching import operator
from interlock_gateway.cli.screen import OutputFormat, Screen, Table, Text

app = group("List the providers; add or remove one.", "")
Name = Annotated[str, typer.Argument(help="The provider's name.")]
_COLUMNS = ("provider", "state", "kind", "tools", "changed", "unconfirmed", "trust", "pins", "from", "error")


class Trust(StrEnum):
    """How much a provider's own metadata is worth."""

    DECLARED = "declared"
    FLOOR = "floor"


class Pins(StrEnum):
    """What happens when a definition changes."""

    ENFORCE = "enforce"
    FOLLOW = "follow"


_TRUST = {Trust.DECLARED: registry_pb2.PROVIDER_TRUST_DECLARED, Trust.FLOOR: registry_pb2.PROVIDER_TRUST_FLOOR}
_PINS = {Pins.ENFORCE: registry_pb2.PIN_MODE_QUARANTINE, Pins.FOLLOW: registry_pb2.PIN_MODE_FOLLOW}


@app.callback(
    invoke_without_command=True,
    no_args_is_help=False,
    epilog=examples("interlock providers", "interlock providers tools docs"),
)
def providers(ctx: typer.Context, *, address: OperatorAddress = "", output: Output = OutputFormat.TABLE) -> None:
    """List the providers and the state of their connections."""
    if ctx.invoked_subcommand is not None:
        return
    with operator(address) as admin:
        found = admin.providers()
    screen = Screen(output)
    screen.show({"providers": list(found)}, _table(found))
    _say_what_is_missing(screen, found)


@app.command(epilog=examples("interlock providers tools docs"))
def tools(name: Name, *, address: OperatorAddress = "", output: Output = OutputFormat.TABLE) -> None:
    """Show what a provider's tools declare, what is in force, their pins, and what changed since."""
    with operator(address) as admin:
        found = admin.provider_tools(name)
    screen = Screen(output)
    changed = [difference_table(one) for one in found if one.differences]
    screen.show({"tools": list(found)}, declared_table(name, found), *changed)
    if changed:
        screen.hint(f"\nTo accept a change: interlock tools approve {name} TOOL")


@app.command(
    epilog=examples(
        "interlock providers add docs docs.internal:50051 --credentials mesh --trust floor",
        "interlock providers add tickets --mcp-url https://tickets.internal/mcp --prefix tickets_",
    ),
)
def add(
    name: Name,
    target: Annotated[str, typer.Argument(help="Where it speaks gRPC: `unix:PATH` or `HOST:PORT`.")] = "",
    *,
    mcp_url: Annotated[
        str, typer.Option(help="In place of TARGET: the streamable HTTP endpoint of an MCP server.")
    ] = "",
    prefix: Annotated[str, typer.Option(help="Put before the name of each tool of an MCP server.")] = "",
    trust: Annotated[Trust, typer.Option(help="How much what it declares is worth.")] = Trust.FLOOR,
    pins: Annotated[Pins, typer.Option(help="What happens when a definition changes.")] = Pins.ENFORCE,
    credentials: Annotated[
        str, typer.Option(help="Which of the configuration's `provider_credentials`: TLS and a token.")
    ] = "",
    address: OperatorAddress = "",
    output: Output = OutputFormat.TABLE,
) -> None:
    """Add a provider without a restart; at the next start it is gone unless the configuration has it."""
    if bool(target) == bool(mcp_url):
        raise typer.BadParameter("give either TARGET or --mcp-url")
    spec = registry_pb2.ProviderSpec(name=name, trust=_TRUST[trust], pins=_PINS[pins], prefix=prefix)
    if mcp_url:
        spec.mcp_http.url, spec.mcp_http.credentials_name = mcp_url, credentials
    else:
        spec.grpc.target, spec.grpc.credentials_name = target, credentials
    with operator(address) as admin:
        added = admin.register_provider(spec)
    screen = Screen(output)
    screen.show(added, _table([added]))
    _say_what_is_missing(screen, [added])


@app.command(epilog=examples("interlock providers remove docs"))
def remove(name: Name, *, address: OperatorAddress = "", output: Output = OutputFormat.TABLE) -> None:
    """Remove a provider and its tools; calls in flight finish. One from the configuration returns at the next start."""
    with operator(address) as admin:
        count = admin.unregister_provider(name)
    Screen(output).show({"provider": name, "removed_tools": count}, Text(f"removed {name} and its {count} tools"))


def _say_what_is_missing(screen: Screen, found: "Sequence[registry_pb2.ProviderInfo]") -> None:
    if unconfirmed := [one.name for one in found if one.unconfirmed_tools]:
        screen.hint(f"\nNot confirmed yet: interlock tools confirm {unconfirmed[0]}")
    for one in found:
        for warning in one.warnings:
            screen.hint(f"{one.name}: {warning}")


def _table(found: "list[registry_pb2.ProviderInfo]") -> Table:
    return Table(
        _COLUMNS,
        [
            (
                one.name,
                enum_word(registry_pb2.ProviderState.DESCRIPTOR, one.state),
                enum_word(registry_pb2.ProviderKind.DESCRIPTOR, one.kind),
                one.tools,
                one.changed_tools,
                one.unconfirmed_tools,
                enum_word(registry_pb2.ProviderTrust.DESCRIPTOR, one.trust),
                enum_word(registry_pb2.PinMode.DESCRIPTOR, one.pins),
                "configuration" if one.configured else "run time",
                one.last_error,
            )
            for one in found
        ],
        empty="there are no providers; name some in the configuration, or add one with `interlock providers add`",
    )
