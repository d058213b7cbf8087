"""`interlock checkpoints`."""

import sys
import time
from typing import Annotated, Any

import typer
from interlock.admin import SyncApprovals
from interlock.v1 import checkpoint_pb2

from interlock_gateway.cli import checkpoint_view as view
from interlock_gateway.cli.checkpoint_answers import agree, difference, edited_input, given_input
from interlock_gateway.cli.checkpoint_watch import tell
from interlock_gateway.cli.options import OperatorAddress, Output, examples, group
from interlock_gateway.cli.reaching import approver
from interlock_gateway.cli.screen import OutputFormat, Screen, Table, Text

app = group("Look at calls that wait for a person, and answer them.", examples("interlock checkpoints list"))
ANY_STATE = "all"
Checkpoint = Annotated[str, typer.Argument(help="The checkpoint's id.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask; for scripts that looked before.")]
Why = Annotated[str, typer.Option("--reason", help="Why; it is kept, and shown to whoever looks at it later.")]
Digest = Annotated[
    str, typer.Option(help="Answer only if this is the call's digest; without it, that of the call as it is shown.")
]


@app.command("list", epilog=examples("interlock checkpoints list", "interlock checkpoints list --state denied"))
def list_(
    *,
    state: Annotated[str, typer.Option(help="Only these: `open`, another state, or `all`.")] = "open",
    session: Annotated[str, typer.Option(help="Only this session's calls.")] = "",
    address: OperatorAddress = "",
    output: Output = OutputFormat.TABLE,
) -> None:
    """List the calls that wait for you, those that expire first in front."""
    with approver(address) as approvals:
        found = approvals.checkpoints(states=_states(state), session_id=session)
    now = time.time()
    Screen(output).show(
        {"checkpoints": list(found)}, Table(view.COLUMNS, [view.row(one, now) for one in found], empty="nothing waits")
    )


@app.command(epilog=examples("interlock checkpoints show chk-1f2e"))
def show(checkpoint: Checkpoint, *, address: OperatorAddress = "", output: Output = OutputFormat.TABLE) -> None:
    """Show what would happen, why a person is asked, who asks, and what ran before in the session."""
    with approver(address) as approvals:
        _show(Screen(output), approvals.checkpoint(checkpoint))


@app.command(epilog=examples("interlock checkpoints watch", "interlock checkpoints watch --group dba --output json"))
def watch(
    *,
    groups: Annotated[
        list[str] | None, typer.Option("--group", help="Only what this group may answer; may be given several times.")
    ] = None,
    plain: Annotated[bool, typer.Option("--plain", help="Lines, also at a terminal.")] = False,
    address: OperatorAddress = "",
    output: Output = OutputFormat.TABLE,
) -> None:
    """Be told of calls that wait for you, and answer them, until Ctrl-C. While you watch, you can be asked.

    At a terminal: a live view with keys to approve, deny, edit and respond. Elsewhere a line for each event.
    """
    screen = Screen(output)
    with approver(address) as approvals:
        if not (plain or screen.is_json) and sys.stdin.isatty() and sys.stdout.isatty():
            from interlock_gateway.cli.checkpoint_live import live  # noqa: PLC0415 -- only a terminal needs it

            live(approvals, groups or ())
        else:
            tell(approvals, groups or (), screen)


@app.command(epilog=examples("interlock checkpoints approve chk-1f2e", "interlock checkpoints approve chk-1f2e --yes"))
def approve(
    checkpoint: Checkpoint,
    *,
    reason: Why = "",
    digest: Digest = "",
    yes: Yes = False,
    address: OperatorAddress = "",
    output: Output = OutputFormat.TABLE,
) -> None:
    """Let the call run as it is, after showing it."""
    screen = Screen(output)
    with approver(address) as approvals:
        seen = _looked_at(approvals, checkpoint, screen, quietly=yes)
        agree("Let this run?", yes=yes)
        _said(screen, approvals.approve(checkpoint, reason, call_digest=digest or seen))


@app.command(epilog=examples("interlock checkpoints deny chk-1f2e --reason 'use the staging database'"))
def deny(
    checkpoint: Checkpoint,
    *,
    reason: Annotated[str, typer.Option("--reason", help="Why; the model is told.")],
    address: OperatorAddress = "",
    output: Output = OutputFormat.TABLE,
) -> None:
    """Refuse the call; the model is told why."""
    with approver(address) as approvals:
        _said(Screen(output), approvals.deny(checkpoint, reason))


@app.command(
    epilog=examples(
        "interlock checkpoints edit chk-1f2e", "interlock checkpoints edit chk-1f2e --input @better.json --yes"
    )
)
def edit(
    checkpoint: Checkpoint,
    *,
    new_input: Annotated[
        str, typer.Option("--input", help="The new input as JSON, or @FILE; without it your editor opens.")
    ] = "",
    reason: Why = "",
    digest: Digest = "",
    yes: Yes = False,
    address: OperatorAddress = "",
    output: Output = OutputFormat.TABLE,
) -> None:
    """Let the call run with another input, which goes through every gate again.

    Marks such as `[redacted:password]` stand for secrets that you are not shown: where they are left, the secrets stay.
    """
    screen = Screen(output)
    with approver(address) as approvals:
        found = approvals.checkpoint(checkpoint)
        edited = given_input(new_input) if new_input else edited_input(found)
        if not screen.is_json:
            screen.show(None, Text(difference(found, edited), title="edit"))
        agree("Let it run like this?", yes=yes)
        _said(screen, approvals.edit(checkpoint, edited, reason, call_digest=digest or found.call_digest))


@app.command(epilog=examples("interlock checkpoints respond chk-1f2e 'The table is gone already.'"))
def respond(
    checkpoint: Checkpoint,
    text: Annotated[str, typer.Argument(help="What the model gets in place of a result.")],
    *,
    reason: Why = "",
    address: OperatorAddress = "",
    output: Output = OutputFormat.TABLE,
) -> None:
    """Answer the model yourself; the call does not run."""
    with approver(address) as approvals:
        _said(Screen(output), approvals.respond(checkpoint, text, reason))


def _looked_at(approvals: SyncApprovals, checkpoint_id: str, screen: Screen, *, quietly: bool) -> str:
    """Show the call, unless nobody is there to look; its digest."""
    found = approvals.checkpoint(checkpoint_id)
    if not (quietly or screen.is_json):
        _show(screen, found)
    return str(found.call_digest)


def _show(screen: Screen, one: checkpoint_pb2.Checkpoint) -> None:
    screen.show(one, *view.blocks(one, time.time()))


def _said(screen: Screen, one: checkpoint_pb2.Checkpoint) -> None:
    approvals = sum(said.decision == checkpoint_pb2.CHECKPOINT_DECISION_APPROVE for said in one.answers)
    waits = f": {approvals} of {one.quorum} have approved" if view.state(one) == "open" else ""
    screen.show(one, Text(f"{one.checkpoint_id} is {view.state(one)}{waits}"))


def _states(word: str) -> list[Any]:
    numbers: list[Any] = [number for number in checkpoint_pb2.CheckpointState.values() if number]
    known = {view.state(checkpoint_pb2.Checkpoint(state=number)): number for number in numbers}
    if word == ANY_STATE:
        return numbers
    if word not in known:
        raise typer.BadParameter(f"{word} is no state of a checkpoint: there are {', '.join(known)} and {ANY_STATE}")
    return [known[word]]
