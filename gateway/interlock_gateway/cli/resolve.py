"""`interlock resolve`."""

from enum import StrEnum
from typing import Annotated

import typer

from interlock_gateway.cli.call_input import read_object
from interlock_gateway.cli.options import AgentAddress, GivenSession, Output, Reason, Timeout, examples, group
from interlock_gateway.cli.reaching import agent_gateway
from interlock_gateway.cli.result_view import exit_code, show_result
from interlock_gateway.cli.screen import OutputFormat, Screen

app = group("Apply or discard what was previewed.", "")


class Action(StrEnum):
    """What to do with a pending action."""

    APPLY = "apply"
    DISCARD = "discard"


@app.command(
    epilog=examples(
        "interlock resolve apply --session session-1f2e --reason 'the diff is what I meant'",
        "interlock resolve discard --session session-1f2e --reason 'wrong file'",
        "interlock resolve apply --session session-1f2e --reason 'it is there' --extra '{\"outcome\": \"applied\"}'",
    )
)
def resolve(
    action: Annotated[Action, typer.Argument(help="What to do.")],
    *,
    reason: Reason,
    session: GivenSession,
    pending_id: Annotated[str, typer.Option(help="Only if this one is on top of the stack.")] = "",
    extra: Annotated[str, typer.Option(help="A JSON object, or @FILE, handed to the provider untouched.")] = "",
    timeout: Timeout = 120.0,
    address: AgentAddress = "",
    output: Output = OutputFormat.TABLE,
) -> None:
    """Apply or discard the pending action on top of the session's stack.

    What is applied is exactly what was previewed; when its state has changed since, nothing is, and a fresh preview
    takes its place. Operators, at their own `--address`, say what came of an action whose outcome is not known, with
    `--extra`, and nothing else; of several with `--pending-id`.
    """
    about = read_object(extra, "--extra") if extra else None
    with agent_gateway(address, timeout) as gateway:
        result = gateway.session(session).resolve(action.value, reason, about, pending_id=pending_id)
        show_result(Screen(output), result, session, resolving=True)
    raise typer.Exit(exit_code(result))
