"""`interlock policy shadow`: the candidate beside the policies in force (LIFE-5)."""

from pathlib import Path
from typing import Annotated, Any

import typer
from interlock.v1 import policy_pb2

from interlock_gateway.cli.exit_codes import ExitCode
from interlock_gateway.cli.options import OperatorAddress, Output, examples, group
from interlock_gateway.cli.policy_failures import judging
from interlock_gateway.cli.reaching import operator
from interlock_gateway.cli.screen import Block, Fields, OutputFormat, Screen, Table, Text

app = group(
    "Try a candidate beside the policies in force; it enforces nothing.",
    examples("interlock policy shadow set /etc/interlock/candidates/next"),
)
_NONE = "no candidate is set"


@app.command(name="set", epilog=examples("interlock policy shadow set /etc/interlock/candidates/next"))
@judging
def choose(
    source: Annotated[
        Path, typer.Argument(help="A directory or a bundle, at the gateway, where `policy.shadow.allow` has it.")
    ],
    *,
    address: OperatorAddress = "",
    output: Output = OutputFormat.TABLE,
) -> None:
    """Have the gateway evaluate a candidate beside its policies, until it is cleared or the gateway ends."""
    with operator(address) as admin:
        answer = admin.set_shadow_policy(str(source.absolute()))
    outcome = answer.reload
    said = f"{outcome.revision}: evaluated beside {answer.policy.revision}" if outcome.accepted else "refused"
    rows = [(f"{one.file}:{one.line}" if one.line else one.file, one.code, one.message) for one in outcome.problems]
    Screen(output).show(answer, Text(said), *([Table(("place", "problem", "message"), rows)] if rows else []))
    raise typer.Exit(ExitCode.OK if outcome.accepted else ExitCode.REFUSED)


@app.command(epilog=examples("interlock policy shadow show", "interlock policy shadow show --limit 500 --output json"))
@judging
def show(
    *,
    limit: Annotated[int, typer.Option(min=1, max=500, help="How many differences to list, latest first.")] = 50,
    address: OperatorAddress = "",
    output: Output = OutputFormat.TABLE,
) -> None:
    """Show how the candidate compares, and list the calls that it would have decided otherwise."""
    with operator(address) as admin:
        status = admin.policy_status()
        differences = admin.shadow_differences(limit)
    found = status.shadow if status.HasField("shadow") else None
    shown = {"shadow": found, "differences": differences}
    rows = [_row(one) for one in differences]
    columns = ("time", "tool", "principal", "active", "candidate", "because", "decision")
    Screen(output).show(shown, *shadow_blocks(found), Table(columns, rows, title="differences", empty="none"))


@app.command(epilog=examples("interlock policy shadow clear"))
@judging
def clear(*, address: OperatorAddress = "", output: Output = OutputFormat.TABLE) -> None:
    """Have no candidate any more; the differences that were found can still be listed."""
    with operator(address) as admin:
        answer = admin.set_shadow_policy()
    Screen(output).show(answer, Text(_NONE))


def shadow_blocks(found: policy_pb2.ShadowStatus | None) -> list[Block]:
    """A candidate's status, for people."""
    if found is None:
        return [Text(_NONE)]
    pairs = [(one.active, one.candidate, one.count) for one in found.differences]
    skips = ", ".join(f"{one.why} {one.count}" for one in found.skips)
    facts: list[tuple[str, Any]] = [
        ("candidate", found.revision or "none"),
        ("profile", found.profile),
        ("from", found.source),
        ("since", found.since.ToJsonString() if found.HasField("since") else None),
        ("evaluated", found.evaluated),
        ("differed", found.differed),
        ("skipped", f"{found.skipped} ({skips})" if found.skipped else 0),
        ("error", found.error or None),
    ]
    table = [Table(("active", "candidate", "calls"), pairs)] if pairs else []
    return [Fields(facts), *table]


def _row(one: policy_pb2.ShadowDifference) -> tuple[Any, ...]:
    because = one.candidate.reasons[0] if one.candidate.reasons else None
    why = f"{because.code} ({because.rule})" if because is not None else ", ".join(one.candidate.obligations)
    return (
        one.time.ToJsonString(),
        one.tool,
        one.principal,
        one.active.verdict,
        one.candidate.verdict,
        why,
        one.decision_id,
    )
