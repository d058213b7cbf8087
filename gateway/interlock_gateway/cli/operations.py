"""`interlock operations`."""

from enum import StrEnum
from typing import Annotated

import typer
from interlock.journal import Operation, OperationEffect, OperationState

from interlock_gateway.cli.options import AgentAddress, GivenSession, Output, Reason, examples, group
from interlock_gateway.cli.reaching import agent_gateway
from interlock_gateway.cli.screen import Fields, OutputFormat, Screen, Table

app = group("List what a session did, or settle what is unknown of it.", "")
_COLUMNS = ("operation", "call", "tool", "state", "undo", "at", "error")


class Effect(StrEnum):
    """What became of it."""

    TOOK_EFFECT = "took-effect"
    NONE = "none"


@app.callback(
    invoke_without_command=True,
    no_args_is_help=False,
    epilog=examples(
        "interlock operations --session session-1f2e",
        "interlock operations --session session-1f2e --state undo_failed --state undo_unknown",
        "interlock operations settle OPERATION none --session session-1f2e --reason 'the file is as it was'",
    ),
)
def operations(
    ctx: typer.Context,
    *,
    session: Annotated[str, typer.Option("--session", "-s", envvar="INTERLOCK_SESSION", help="The session's id.")] = "",
    state: Annotated[
        list[OperationState] | None, typer.Option("--state", help="Only operations in this state; may be repeated.")
    ] = None,
    address: AgentAddress = "",
    output: Output = OutputFormat.TABLE,
) -> None:
    """List the session's operations, newest first: what ran and changed something, and how each would be undone."""
    if ctx.invoked_subcommand is not None:
        return
    if not session:
        raise typer.BadParameter("say which session, with --session")
    with agent_gateway(address) as gateway:
        found = gateway.session(session).operations(states=state or ())
    rows = [
        (one.operation_id, one.call_id, one.tool, one.state, _undo(one), one.intended_at, one.error) for one in found
    ]
    Screen(output).show({"operations": list(found)}, Table(_COLUMNS, rows, empty="there are no operations"))


@app.command(epilog=examples("interlock operations settle OPERATION took-effect --session S --reason 'I looked'"))
def settle(
    operation: Annotated[str, typer.Argument(help="The operation's id.")],
    effect: Annotated[Effect, typer.Argument(help="What became of it, or of its undo when that is what is unknown.")],
    *,
    session: GivenSession,
    reason: Reason,
    address: AgentAddress = "",
    output: Output = OutputFormat.TABLE,
) -> None:
    """Say what became of an operation, or of its undo, that the gateway could not know; a rollback then goes on.

    Look before you say it: with `none` for an undo, the next rollback undoes the operation again.
    """
    with agent_gateway(address) as gateway:
        settled = gateway.session(session).settle_operation(operation, OperationEffect[effect.name], reason)
    facts = (("operation", settled.operation_id), ("tool", settled.tool), ("state", settled.state))
    Screen(output).show(settled, Fields(facts))


def _undo(operation: Operation) -> str:
    if operation.undoes_operation_id:
        return f"undoes {operation.undoes_operation_id}"
    undo = operation.undo
    if undo is None or not (undo.tool or undo.irreversible):
        return "nothing is recorded"
    return "by hand" if undo.irreversible else undo.description or undo.tool
