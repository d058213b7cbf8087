"""`interlock pending`."""

from interlock_gateway.cli.options import AgentAddress, GivenSession, Output, examples, group
from interlock_gateway.cli.reaching import agent_gateway
from interlock_gateway.cli.screen import Fields, OutputFormat, Screen, Table

app = group("List what waits to be resolved.", "")


@app.command(epilog=examples("interlock pending --session session-1f2e"))
def pending(*, session: GivenSession, address: AgentAddress = "", output: Output = OutputFormat.TABLE) -> None:
    """List the pending actions of a session; the first is the one that `resolve` acts on.

    Operators see those of any session, at their own `--address`.
    """
    with agent_gateway(address) as gateway:
        found = gateway.session(session).pending()
    rows = [
        (one.pending_id, one.state, one.label, one.source_tool, one.expires_at, one.last_error) for one in found.actions
    ]
    Screen(output).show(
        found,
        Table(("pending", "state", "label", "tool", "expires", "last error"), rows, empty="nothing is pending"),
        *((Fields((("standing handler", found.standing_handler),)),) if found.standing_handler else ()),
    )
