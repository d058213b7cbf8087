"""`interlock status`."""

import time
from contextlib import suppress
from typing import Annotated, Any

import typer
from interlock.errors import GatewayUnavailableError
from interlock.v1 import gateway_status_pb2, registry_pb2

from interlock_gateway.cli.exit_codes import ExitCode
from interlock_gateway.cli.failures import CommandError
from interlock_gateway.cli.jsonable import enum_word
from interlock_gateway.cli.options import OperatorAddress, Output, examples, group
from interlock_gateway.cli.reaching import operator
from interlock_gateway.cli.screen import Fields, OutputFormat, Screen, Table

app = group("Show how the gateway is doing.", "")
POLL_S = 0.1
_REACHED = registry_pb2.PROVIDER_STATE_READY


@app.command(epilog=examples("interlock status", "interlock status --wait 10", "interlock status --output json"))
def status(
    *,
    wait: Annotated[
        float,
        typer.Option(
            help="Seconds to wait, at most, until it serves and reaches every provider.", min=0, metavar="SECONDS"
        ),
    ] = 0.0,
    address: OperatorAddress = "",
    output: Output = OutputFormat.TABLE,
) -> None:
    """Show whether the gateway serves, how its parts are, and what waits. The exit code is 3 when it does not serve."""
    found = _awaited(address, time.monotonic() + wait)
    state = gateway_status_pb2.ComponentState.DESCRIPTOR
    rows = [(part.name, enum_word(state, part.state), part.message) for part in found.components]
    Screen(output).show(found, Fields(_facts(found)), Table(("part", "state", "message"), rows))
    raise typer.Exit(ExitCode.OK if found.serving else ExitCode.UNREACHABLE)


def _awaited(address: str, until: float) -> gateway_status_pb2.GatewayStatus:
    """What the gateway says once all is well, or when the time is up."""
    while time.monotonic() < until:
        with suppress(CommandError, GatewayUnavailableError), operator(address) as admin:
            found = admin.status()
            if found.serving and all(provider.state == _REACHED for provider in admin.providers()):
                return found
        time.sleep(POLL_S)
    with operator(address) as admin:
        return admin.status()


def _facts(found: gateway_status_pb2.GatewayStatus) -> list[tuple[str, Any]]:
    serving = "draining" if found.draining else "yes" if found.serving else "no"
    return [
        ("serving", serving),
        ("version", found.version),
        ("replica", found.replica),
        ("started", found.started_at.ToJsonString() if found.HasField("started_at") else None),
        ("policy", f"{found.policy_revision}, profile {found.profile}"),
        ("sessions", found.open_sessions),
        ("calls in flight", found.calls_in_flight),
        ("pending actions", found.pending_actions),
        ("open checkpoints", found.open_checkpoints),
        ("ways to people", found.checkpoint_handlers),
        ("receipts waiting", found.audit_backlog),
        ("receipts lost", found.audit_lost or None),
    ]
