"""`interlock audit`: the receipts on this machine, read and verified without the gateway (AUD-2)."""

import os
import time
from collections import deque
from pathlib import Path
from typing import Annotated

import typer

from interlock_gateway.audit.keys import PUBLIC_SUFFIX
from interlock_gateway.audit.line import Head
from interlock_gateway.audit.read import StoredRecord, read_last
from interlock_gateway.audit.verify import VerifyReport
from interlock_gateway.audit.verify import verify as verify_log
from interlock_gateway.cli.exit_codes import ExitCode
from interlock_gateway.cli.failures import CommandError
from interlock_gateway.cli.options import ConfigFile, Output, examples, group
from interlock_gateway.cli.receipts import COLUMNS, EVERYTHING, OF_CALLS, Filter, document, find, row, text_line
from interlock_gateway.cli.screen import Fields, OutputFormat, Screen, Table
from interlock_gateway.config_loader import load_config

app = group("Verify, read and follow the receipts.", examples("interlock audit verify"))
FOLLOW_S = 0.25
_HASH_LENGTH = 64
Directory = Annotated[
    Path | None, typer.Option("--dir", help="The directory of the receipts; without it the configuration's.")
]


@app.command(
    epilog=examples(
        "interlock audit verify",
        "interlock audit verify --dir ./copied-audit --public-key audit-key.pem.pub",
        "interlock audit verify --known 1204:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    )
)
def verify(
    *,
    directory: Directory = None,
    public_key: Annotated[
        Path | None, typer.Option(help="The public key in PEM; without it the one beside the configured key.")
    ] = None,
    known: Annotated[
        str,
        typer.Option(metavar="LINE:HASH", help="A line noted elsewhere: finds a log put back as a whole to earlier."),
    ] = "",
    config: ConfigFile = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Check that no receipt was changed, removed, inserted, reordered or cut off.

    Works offline, with nothing but the public key. The exit code is 1 when something is wrong.
    """
    where, key = _places(directory, public_key, config)
    report = verify_log(where, key.read_bytes(), known=_head(known))
    Screen(output).show(report, Fields(_facts(report, where)))
    raise typer.Exit(ExitCode.OK if report.ok else ExitCode.REFUSED)


@app.command(epilog=examples("interlock audit tail", "interlock audit tail --lines 50 --follow --output json"))
def tail(
    *,
    lines: Annotated[int, typer.Option("--lines", "-n", min=1, max=100_000, help="How many of the newest.")] = 20,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with new ones, until Ctrl-C.")] = False,
    directory: Directory = None,
    config: ConfigFile = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Show the newest lines of the log, oldest first, those that the log writes about itself included."""
    where, _ = _places(directory, None, config)
    screen = Screen(output)
    found = read_last(where, lines)
    if not follow:
        screen.show({"receipts": [document(one) for one in found]}, _table(found))
        return
    last = 0
    while True:
        for one in found:
            screen.line(document(one), text_line(one))
            last = one.sequence
        time.sleep(FOLLOW_S)
        found = list(find(where, EVERYTHING, after=last))


@app.command(
    epilog=examples(
        "interlock audit query --verdict deny --since 2026-11-01",
        "interlock audit query --session session-1f2e --output json",
        "interlock audit query --tool bash --reason confidence_below --limit 10",
    )
)
def query(
    *,
    tool: Annotated[str, typer.Option(help="Only calls of this tool.")] = "",
    principal: Annotated[str, typer.Option(help="Only this principal's calls.")] = "",
    session: Annotated[str, typer.Option(help="Only this session's calls.")] = "",
    call: Annotated[str, typer.Option(help="Only the call with this id.")] = "",
    decision: Annotated[str, typer.Option(help="Only the decision with this id.")] = "",
    verdict: Annotated[str, typer.Option(help="Only this verdict.")] = "",
    reason: Annotated[str, typer.Option(help="Only with a reason of this code.")] = "",
    rule: Annotated[str, typer.Option(help="Only with a reason of this rule.")] = "",
    since: Annotated[str, typer.Option(help="Only from this time on, RFC 3339 in UTC or the beginning of one.")] = "",
    until: Annotated[str, typer.Option(help="Only before this time.")] = "",
    intents: Annotated[bool, typer.Option("--intents", help="Also what was noted before a dispatch.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="The most receipts, the newest.")] = 100,
    directory: Directory = None,
    config: ConfigFile = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Find receipts. Reads the segments on this machine from their beginning; checks nothing, `verify` does."""
    where, _ = _places(directory, None, config)
    kinds = OF_CALLS if intents else frozenset({"receipt"})
    wanted = Filter(tool, principal, session, call, decision, verdict, reason, rule, since, until, kinds)
    found = list(deque(find(where, wanted), maxlen=limit))
    Screen(output).show({"receipts": [document(one) for one in found]}, _table(found))


def _places(directory: Path | None, public_key: Path | None, config: Path | None) -> tuple[Path, Path]:
    """The directory of the receipts, and the public key's file. Raises `CommandError` when there is no directory."""
    if directory is None or public_key is None:
        settings = load_config(config, os.environ)
        directory = directory or Path(settings.at_state(settings.audit.dir))
        public_key = public_key or Path(settings.at_state(settings.audit.key_file) + PUBLIC_SUFFIX)
    if not directory.is_dir():
        raise CommandError(f"there are no receipts in {directory}: no such directory", ExitCode.USAGE)
    return directory, public_key


def _head(known: str) -> Head | None:
    if not known:
        return None
    line, _, digest = known.partition(":")
    if not (line.isascii() and line.isdecimal() and len(digest) == _HASH_LENGTH):
        raise typer.BadParameter(f"{known} is not LINE:HASH, with the hash in 64 hex digits", param_hint="--known")
    return Head(int(line), digest.lower())


def _facts(report: VerifyReport, where: Path) -> list[tuple[str, object]]:
    return [
        ("receipts", where),
        ("result", "whole and unchanged" if report.ok else f"{report.place}: {report.problem}"),
        ("lines", report.lines),
        ("segments", report.segments),
        ("last line", f"{report.lines}:{report.last_hash}" if report.lines else None),
        ("end", f"{report.end}" + (", an incomplete line at its end" if report.incomplete_tail else "")),
        ("behind the last checkpoint", report.uncovered or None),
    ]


def _table(found: list[StoredRecord]) -> Table:
    return Table(COLUMNS, [row(one) for one in found], empty="no receipt matches")
