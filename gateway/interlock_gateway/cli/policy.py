"""`interlock policy`."""

import os
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from interlock.v1 import policy_pb2

from interlock_gateway.cli import policy_bundle, policy_corpus, policy_explain, policy_replay, policy_shadow
from interlock_gateway.cli.exemption_list import ExemptionList
from interlock_gateway.cli.exit_codes import ExitCode
from interlock_gateway.cli.options import ConfigFile, OperatorAddress, Output, examples, group
from interlock_gateway.cli.policy_failures import judging
from interlock_gateway.cli.policy_sources import Engine, EngineChoice, Overlays, chosen_overlays
from interlock_gateway.cli.reaching import operator
from interlock_gateway.cli.screen import Block, Fields, OutputFormat, Screen, Table, Text
from interlock_gateway.config_loader import load_config
from interlock_gateway.policy.checks.report import TestReport
from interlock_gateway.policy.inspection import check as find_problems
from interlock_gateway.policy.loader import read_bundle
from interlock_gateway.policy.opa.program import find_opa
from interlock_gateway.policy.standing import loaded_exemptions
from interlock_gateway.policy.trial import run_tests

app = group("Check, test, evaluate and reload policies.", examples("interlock policy check --config interlock.yaml"))
_PERCENT = 100


@app.command(
    epilog=examples("interlock policy check --config interlock.yaml", "interlock policy check --overlay policies")
)
@judging
def check(*, overlay: Overlays = None, config: ConfigFile = None, output: Output = OutputFormat.TABLE) -> None:
    """Check policies without running them, and print each problem as `FILE:LINE: what is wrong`.

    Finds what cannot be read, built-in functions that are not allowed, fields and settings that there are not, settings
    that an overlay may not loosen, bad exemptions, rules that can never fire, and missing tests. Lists the exemptions,
    and warns of those that have ended or will within 30 days. The exit code is 1 when there is a problem.
    """
    settings = load_config(config, os.environ)
    bundle = read_bundle(profile=settings.policy.profile, overlays=chosen_overlays(overlay, settings))
    problems = find_problems(bundle)
    said = "\n".join(map(str, problems)) or f"{bundle.revision}: {len(bundle.modules)} files, nothing wrong"
    exemptions = ExemptionList(loaded_exemptions(bundle), time.time())
    shown = {"ok": not problems, "revision": bundle.revision, "problems": problems, **exemptions.shown()}
    Screen(output).show(shown, Text(said), *exemptions.blocks())
    raise typer.Exit(ExitCode.REFUSED if problems else ExitCode.OK)


@app.command(
    name="test",
    epilog=examples(
        "interlock policy test --config interlock.yaml",
        "interlock policy test --overlay policies --cases policies/cases --coverage 100",
        "interlock policy test --config interlock.yaml --engine opa",
    ),
)
@judging
def run_all(
    *,
    overlay: Overlays = None,
    cases: Annotated[
        Path | None,
        typer.Option(help="A directory of decision cases in YAML, to be decided too."),
    ] = None,
    coverage: Annotated[
        float, typer.Option(min=0, max=_PERCENT, help="The least share of lines that tests must reach, in percent.")
    ] = 0.0,
    every: Annotated[bool, typer.Option("--all", help="List the tests that passed, too.")] = False,
    engine: Engine = EngineChoice.EMBEDDED,
    config: ConfigFile = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Run the tests of the policies (`_test.rego`) and decision cases, and show what they reach.

    The tests that ship run on what ships, those of an overlay on the overlay; with one, its lines alone are counted.
    With `--engine opa` each runs on the program opa of this machine too, and fails when it comes out otherwise there.
    The exit code is 1 when one fails, or when they reach less than `--coverage`.
    """
    settings = load_config(config, os.environ)
    opa = find_opa() if engine is EngineChoice.OPA else None
    report = run_tests(
        profile=settings.policy.profile, overlays=chosen_overlays(overlay, settings), cases=cases, opa=opa
    )
    enough = report.coverage * _PERCENT >= coverage
    shown = {"ok": report.passed and enough, "coverage": report.coverage, **asdict(report)}
    if opa is not None:
        shown["opa"] = opa.version
    Screen(output).show(shown, *_tested(report, every=every, enough=enough))
    raise typer.Exit(ExitCode.OK if shown["ok"] else ExitCode.REFUSED)


app.add_typer(policy_bundle.app, name="bundle")
app.command(name="corpus", epilog=policy_corpus.EXAMPLES)(policy_corpus.play_corpus)
app.add_typer(policy_shadow.app, name="shadow")
app.command(name="eval", epilog=policy_explain.EVAL_EXAMPLES)(policy_explain.evaluate)
app.command(name="explain", epilog=policy_explain.EXPLAIN_EXAMPLES)(policy_explain.explain)
app.command(name="replay", epilog=policy_replay.EXAMPLES)(policy_replay.replay_decisions)


@app.command(epilog=examples("interlock policy status", "interlock policy status --output json"))
@judging
def status(*, address: OperatorAddress = "", output: Output = OutputFormat.TABLE) -> None:
    """Show which policies are in force at the gateway, and what became of the last attempt to load others."""
    with operator(address) as admin:
        found = admin.policy_status()
    Screen(output).show(found, Fields(_facts(found)), *_reload_blocks(found), *_shadow_blocks(found))


@app.command(epilog=examples("interlock policy reload --check-only", "interlock policy reload"))
@judging
def reload(
    *,
    check_only: Annotated[bool, typer.Option("--check-only", help="Check what would be loaded; swap nothing.")] = False,
    allow_older: Annotated[
        bool, typer.Option("--allow-older", help="Take a bundle that is older than one that was accepted before.")
    ] = False,
    address: OperatorAddress = "",
    output: Output = OutputFormat.TABLE,
) -> None:
    """Load the configured policies again at the gateway, in one step; bad ones are refused, the last good ones stay.

    The exit code is 1 when the gateway refuses them, 2 when it could not be asked, 3 when it cannot be reached.
    """
    with operator(address) as admin:
        answer = admin.reload_policy(check_only=check_only, allow_older=allow_older)
    outcome = answer.reload
    verb = "can be loaded" if check_only else "in force"
    said = f"{outcome.revision}: {verb}" if outcome.accepted else "refused; the last good policies stay in force"
    Screen(output).show(answer, Text(said), *_problems(outcome.problems))
    raise typer.Exit(ExitCode.OK if outcome.accepted else ExitCode.REFUSED)


def _tested(report: TestReport, *, every: bool, enough: bool) -> list[Block]:
    failed = [one for one in report.results if not one.passed]
    listed = report.results if every else failed
    rows = [(f"{one.file}:{one.line}", one.name, "ok" if one.passed else one.message) for one in listed]
    missed = [(file, ", ".join(map(str, lines))) for file, lines in report.not_covered.items() if lines]
    cases = report.cases
    counted = f"{len(report.results) - cases} tests and {cases} cases, {len(failed)} failed"
    said = f"{counted}; {report.coverage:.1%} of the lines reached"
    return [
        *([Table(("place", "test", "result"), rows)] if rows else []),
        *([Table(("file", "lines that no test reached"), missed)] if missed else []),
        Text(said if enough else f"{said}, which is too little"),
    ]


def _facts(found: policy_pb2.PolicyStatus) -> list[tuple[str, Any]]:
    return [
        ("revision", found.revision or "none: every call is denied"),
        ("profile", found.profile),
        ("engine", f"{found.engine}, {'answers' if found.engine_healthy else found.engine_error or 'does not answer'}"),
        ("sources", list(found.sources)),
        ("signature", "verified" if found.signature_verified else None),
        ("sequence", found.bundle_sequence if found.HasField("bundle_sequence") else None),
        ("from disk", "the last good bundle, because its source could not be used" if found.from_disk else None),
        ("source", found.source_error or None),
        ("rules", found.rules),
        ("exemptions in force", found.exemptions or None),
        ("in force since", found.activated_at.ToJsonString() if found.HasField("activated_at") else None),
    ]


def _reload_blocks(found: policy_pb2.PolicyStatus) -> list[Block]:
    if not found.HasField("last_reload"):
        return []
    last = found.last_reload
    said = "accepted" if last.accepted else "refused"
    return [Fields((("last reload", f"{said} at {last.time.ToJsonString()}"),)), *_problems(last.problems)]


def _shadow_blocks(found: policy_pb2.PolicyStatus) -> list[Block]:
    return policy_shadow.shadow_blocks(found.shadow) if found.HasField("shadow") else []


def _problems(problems: Any) -> list[Block]:
    rows = [(f"{one.file}:{one.line}" if one.line else one.file, one.code, one.message) for one in problems]
    return [Table(("place", "problem", "message"), rows)] if rows else []
