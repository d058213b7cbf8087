"""`interlock policy replay`: what would change about the decisions of a period under other policies (LIFE-6)."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from interlock_gateway.audit.keys import PUBLIC_SUFFIX
from interlock_gateway.audit.verify import verify
from interlock_gateway.cli.exit_codes import ExitCode
from interlock_gateway.cli.failures import CommandError
from interlock_gateway.cli.options import ConfigFile, Output, examples
from interlock_gateway.cli.policy_failures import judging
from interlock_gateway.cli.policy_sources import AuditDirectory, candidate_bundle, configured_bundle
from interlock_gateway.cli.replay_view import as_json, blocks
from interlock_gateway.cli.screen import OutputFormat, Screen
from interlock_gateway.config import Config
from interlock_gateway.config_loader import load_config
from interlock_gateway.policy.replay.comparing import Direction
from interlock_gateway.policy.replay.period import Period, PeriodError, period
from interlock_gateway.policy.replay.running import OnProgress, Plan, replay
from interlock_gateway.policy.replay.tally import Tally

EXAMPLES = examples(
    "interlock policy replay --against ./policies-next --since 2026-11-01",
    "interlock policy replay --profile strict --fail-on loosened --output json",
)


class FailOn(StrEnum):
    """What makes the exit code 1. With any but `nothing` it is 6 when no decision was replayed."""

    CHANGED = "changed"
    LOOSENED = "loosened"
    NOTHING = "nothing"


Against = Annotated[
    Path | None, typer.Option(help="The policies to try: an overlay, a whole set of policies, or a bundle.")
]
OverlaysToTry = Annotated[
    list[Path] | None, typer.Option("--overlay", help="An overlay to try, in place of those configured.")
]
ProfileToTry = Annotated[str, typer.Option(help="The profile to try, in place of the one configured.")]
Since = Annotated[str, typer.Option(help="Only from this time on: RFC 3339 or its beginning; without an offset, UTC.")]
Until = Annotated[str, typer.Option(help="Only before this time, written alike.")]
Verified = Annotated[
    bool, typer.Option("--verify", help="Verify the receipts first, and replay none when something is wrong.")
]
Baseline = Annotated[
    bool,
    typer.Option(
        "--baseline",
        help="Evaluate every decision of the configured policies under them again, not only those that would"
        " change: says how many are not reproduced.",
    ),
]
Failing = Annotated[
    FailOn,
    typer.Option(
        "--fail-on",
        help="What makes the exit code 1; it is 6 when there was no decision to replay, but for `nothing`.",
        show_choices=True,
    ),
]
Processes = Annotated[int, typer.Option(min=0, max=256, help="How many processes; 0 for one on each core.")]
Timeout = Annotated[float, typer.Option(min=0.01, help="Processor time that one evaluation may take, in seconds.")]


@judging
def replay_decisions(
    *,
    against: Against = None,
    overlay: OverlaysToTry = None,
    profile: ProfileToTry = "",
    since: Since = "",
    until: Until = "",
    audit_dir: AuditDirectory = None,
    verified: Verified = False,
    baseline: Baseline = False,
    fail_on: Failing = FailOn.CHANGED,
    processes: Processes = 0,
    timeout: Timeout = 1.0,
    config: ConfigFile = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Evaluate the recorded decisions of a period under other policies, and show what would change.

    Reads the receipts on this machine; no gateway is needed, and nothing is dispatched. What would be loosened comes
    first. A decision that the configured policies made and do not reproduce (secrets are masked in receipts) is told
    apart from one that would change. The exit code is 0 when nothing would change, 1 when something would, 6 when there
    was no decision to replay.
    """
    settings = load_config(config, os.environ)
    directory = _receipts(settings, audit_dir)
    if against is None and not overlay and not profile:
        raise typer.BadParameter("name the policies to try", param_hint="--against, --overlay or --profile")
    between = _between(since, until)
    if verified:
        _verify(directory, settings)
    plan = Plan(
        directory=directory,
        candidate=candidate_bundle(settings, against, overlay, profile),
        baseline=configured_bundle(settings),
        always=baseline,
        period=between,
        processes=processes,
        seconds=timeout,
        memory_bytes=settings.policy.max_worker_bytes,
    )
    tally = _replayed(plan, Screen(output))
    raise typer.Exit(_ends(tally, fail_on))


def _between(since: str, until: str) -> Period:
    try:
        return period(since, until)
    except PeriodError as error:
        raise CommandError(error.message, ExitCode.USAGE) from error


def _receipts(settings: Config, given: Path | None) -> Path:
    """The directory with the receipts. Raises `CommandError` when it is not there."""
    directory = given or Path(settings.at_state(settings.audit.dir))
    if not directory.is_dir():
        raise CommandError(f"there are no receipts in {directory}: no such directory", ExitCode.USAGE)
    return directory


def _replayed(plan: Plan, screen: Screen) -> Tally:
    """What would change, which is shown."""
    with _progress(screen) as told:
        tally = replay(plan, told)
    screen.show(as_json(tally, plan), *blocks(tally, plan))
    return tally


def _ends(tally: Tally, fail_on: FailOn) -> ExitCode:
    if fail_on is FailOn.NOTHING:
        return ExitCode.OK
    if not tally.decisions:
        return ExitCode.NOTHING
    fails = tally.changed(Direction.LOOSENED) > 0 if fail_on is FailOn.LOOSENED else bool(tally.changes)
    return ExitCode.REFUSED if fails else ExitCode.OK


def _verify(directory: Path, settings: Config) -> None:
    key = Path(settings.at_state(settings.audit.key_file) + PUBLIC_SUFFIX)
    report = verify(directory, key.read_bytes())
    if not report.ok:
        raise CommandError(f"the receipts are not what was written: {report.place}: {report.problem}")


@contextmanager
def _progress(screen: Screen) -> Iterator[OnProgress]:
    """A bar on standard error, for people at a terminal."""
    if screen.is_json or not sys.stderr.isatty():
        yield lambda _: None
        return
    # Rich is slow to load: only people at a terminal pay for it.
    from interlock_gateway.cli.replay_progress import bar  # noqa: PLC0415 -- as said above

    with bar() as told:
        yield told


__all__ = ["EXAMPLES", "replay_decisions"]
