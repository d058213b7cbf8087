"""`interlock rollback`."""

from typing import Annotated, Any

import typer
from interlock.calls import CheckpointMode
from interlock.journal import RollbackLine, RollbackOutcome

from interlock_gateway.cli.exit_codes import ExitCode
from interlock_gateway.cli.jsonable import jsonable
from interlock_gateway.cli.options import AgentAddress, GivenSession, Output, Reason, Timeout, examples, group
from interlock_gateway.cli.reaching import agent_gateway
from interlock_gateway.cli.screen import OutputFormat, Screen
from interlock_gateway.core.visible import visible_line

app = group("Undo what a session did, newest first.", "")
_EVERYTHING = 2**32 - 1
_MARKS = {
    RollbackOutcome.UNDONE: ("undone", "green"),
    RollbackOutcome.ALREADY_UNDONE: ("undone before", "dim"),
    RollbackOutcome.SKIPPED_IRREVERSIBLE: ("passed over", "yellow"),
    RollbackOutcome.NOTHING_TO_UNDO: ("only read", "dim"),
    RollbackOutcome.STOPPED_IRREVERSIBLE: ("irreversible", "red"),
    RollbackOutcome.FAILED: ("failed", "red"),
    RollbackOutcome.DENIED: ("denied", "red"),
    RollbackOutcome.HELD: ("waits", "yellow"),
    RollbackOutcome.OUTCOME_UNKNOWN: ("unknown", "red"),
}
_CODE = {
    RollbackOutcome.UNDONE: ExitCode.OK,
    RollbackOutcome.ALREADY_UNDONE: ExitCode.OK,
    RollbackOutcome.NOTHING_TO_UNDO: ExitCode.OK,
    RollbackOutcome.HELD: ExitCode.WAITING,
    RollbackOutcome.OUTCOME_UNKNOWN: ExitCode.UNKNOWN,
    RollbackOutcome.UNKNOWN: ExitCode.UNKNOWN,
}


@app.command(
    epilog=examples(
        "interlock rollback --session session-1f2e --count 3 --reason 'wrong directory'",
        "interlock rollback --session session-1f2e --all --skip-irreversible --reason 'start over'",
    )
)
def rollback(
    *,
    session: GivenSession,
    reason: Reason,
    count: Annotated[
        int, typer.Option(min=0, max=_EVERYTHING, help="So many of the newest; those that only read do not count.")
    ] = 0,
    since: Annotated[str, typer.Option(help="Everything since this call, itself included.")] = "",
    last: Annotated[str, typer.Option(help="Down to this operation, itself included.")] = "",
    everything: Annotated[bool, typer.Option("--all", help="Everything that can be undone.")] = False,
    skip_irreversible: Annotated[bool, typer.Option(help="Go on past what cannot be undone.")] = False,
    detach: Annotated[bool, typer.Option("--detach", help="Stop at once when a person has to decide.")] = False,
    timeout: Timeout = 600.0,
    address: AgentAddress = "",
    output: Output = OutputFormat.TABLE,
) -> None:
    """Undo operations of a session, newest first, with a line for each; asked again, it goes on where it stopped.

    What policy let through as a call that only reads, such as `ls`, is passed over: there is nothing to undo.

    One of --count, --since, --last and --all says how far. The exit code is 0 only when all of it is undone.
    """
    target = _target(_EVERYTHING if everything else 0, count, since, last)
    screen = Screen(output)
    lines: list[RollbackLine] = []
    with agent_gateway(address, timeout) as gateway:
        mode = CheckpointMode.DETACH if detach else CheckpointMode.WAIT
        asked = gateway.session(session).rollback(
            **target, skip_irreversible=skip_irreversible, reason=reason, checkpoint_mode=mode
        )
        for line in asked:
            lines.append(line)
            mark, style = _MARKS.get(line.outcome, (str(line.outcome), ""))
            screen.line(jsonable(line), _words(mark, line), style)
    screen.hint(_summary(lines))
    raise typer.Exit(_exit_code(lines))


def _target(everything: int, count: int, since: str, last: str) -> dict[str, Any]:
    given: dict[str, Any] = {"since_call_id": since, "last_operation_id": last}
    targets = [{"count": number} for number in (everything, count) if number]
    targets += [{name: value} for name, value in given.items() if value]
    if len(targets) != 1:
        raise typer.BadParameter("give one of --count, --since, --last and --all")
    return targets[0]


def _words(mark: str, line: RollbackLine) -> str:
    told = f"{mark:13} {line.operation.tool}: {line.message.removeprefix('Undone: ')}"
    guide = "".join(f"\n{'':14}{visible_line(part)}" for part in line.manual_guide.splitlines())
    return visible_line(told) + guide


def _summary(lines: list[RollbackLine]) -> str:
    if all(line.outcome is RollbackOutcome.NOTHING_TO_UNDO for line in lines):
        return "There is nothing to undo."
    undone = sum(line.outcome is RollbackOutcome.UNDONE for line in lines)
    passed = sum(line.outcome is RollbackOutcome.SKIPPED_IRREVERSIBLE for line in lines)
    read = sum(line.outcome is RollbackOutcome.NOTHING_TO_UNDO for line in lines)
    besides = [f"{number} {words}" for number, words in ((passed, "passed over"), (read, "only read")) if number]
    parts = [f"{undone} undone", *besides, f"{lines[-1].remaining} left"]
    return f"\n{', '.join(parts)}."


def _exit_code(lines: list[RollbackLine]) -> ExitCode:
    codes = [_CODE.get(line.outcome, ExitCode.REFUSED) for line in lines]
    return next((code for code in reversed(codes) if code is not ExitCode.OK), ExitCode.OK)
