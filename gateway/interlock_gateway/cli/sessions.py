"""`interlock sessions`."""

from typing import Annotated, Any

import typer
from google.protobuf.timestamp_pb2 import Timestamp
from interlock.v1 import session_pb2, session_report_pb2

from interlock_gateway.cli.jsonable import enum_word
from interlock_gateway.cli.options import OperatorAddress, Output, examples, group
from interlock_gateway.cli.reaching import operator
from interlock_gateway.cli.screen import Block, Fields, OutputFormat, Screen, Table

app = group("List sessions, or report on one.", "")
_COLUMNS = ("session", "principal", "state", "opened", "intent")


@app.callback(
    invoke_without_command=True,
    no_args_is_help=False,
    epilog=examples(
        "interlock sessions", "interlock sessions --principal ci-agent --open", "interlock sessions report S"
    ),
)
def sessions(
    ctx: typer.Context,
    *,
    principal: Annotated[str, typer.Option(help="Only this principal's sessions.")] = "",
    only_open: Annotated[bool, typer.Option("--open", help="Only open sessions.")] = False,
    address: OperatorAddress = "",
    output: Output = OutputFormat.TABLE,
) -> None:
    """List the sessions that the gateway knows."""
    if ctx.invoked_subcommand is not None:
        return
    states = (session_pb2.SESSION_STATE_OPEN,) if only_open else ()
    with operator(address) as admin:
        found = admin.sessions(principal_id=principal, states=states)
    rows = [(one.session_id, one.principal.id, _state(one), _time(one.opened_at), one.intent) for one in found]
    Screen(output).show({"sessions": list(found)}, Table(_COLUMNS, rows, empty="there are no sessions"))


@app.command(epilog=examples("interlock sessions report session-1f2e"))
def report(
    session: Annotated[str, typer.Argument(help="The session's id.")],
    *,
    address: OperatorAddress = "",
    output: Output = OutputFormat.TABLE,
) -> None:
    """Sum up what happened in a session: calls, destructive calls, denials, previews, what can be undone."""
    with operator(address) as admin:
        found = admin.session_report(session)
    Screen(output).show(found, *_blocks(found))


_CHECKPOINTS = ("opened", "approved", "denied", "edited", "responded", "expired", "withdrawn", "open")


def _blocks(report_: session_report_pb2.SessionReport) -> list[Block]:
    one, previews, undo = report_.session, report_.previews, report_.undo
    facts: list[tuple[str, Any]] = [
        ("session", one.session_id),
        ("principal", one.principal.id),
        ("state", _state(one)),
        ("intent", one.intent),
        ("opened", _time(one.opened_at)),
        ("calls", report_.calls),
        ("previews", _numbers(previews, "previewed", "applied", "discarded", "expired", "pending", "outcome_unknown")),
        ("checkpoints", _numbers(report_.checkpoints, *_CHECKPOINTS)),
        (
            "operations",
            _numbers(undo, "operations", "undoable", "irreversible", "only_read", "undone", "outcome_unknown"),
        ),
    ]
    destructive = [(count.tool, count.outcome, count.count) for count in report_.destructive_calls]
    return [
        Fields(facts),
        _counts("calls by outcome", "outcome", report_.calls_by_status),
        _counts("calls by tool", "tool", report_.calls_by_tool),
        _counts("denials", "reason", report_.denials_by_reason),
        Table(("tool", "outcome", "calls"), destructive, title="destructive calls", empty="none"),
    ]


def _numbers(counts: Any, *names: str) -> str:
    return ", ".join(f"{getattr(counts, name)} {name.replace('_', ' ')}" for name in names)


def _counts(title: str, name: str, counts: Any) -> Table:
    return Table((name, "calls"), [(one.label, one.count) for one in counts], title=title, empty="none")


def _state(session: session_pb2.Session) -> str:
    return enum_word(session_pb2.SessionState.DESCRIPTOR, session.state)


def _time(at: Timestamp) -> str:
    return at.ToJsonString() if at.seconds else ""
