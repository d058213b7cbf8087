"""`interlock policy`."""

import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from interlock.v1 import policy_pb2

from interlock_gateway.cli.described_call import policy_document
from interlock_gateway.cli.exit_codes import ExitCode
from interlock_gateway.cli.explaining import Explanation, explain_decision
from interlock_gateway.cli.failures import CommandError
from interlock_gateway.cli.options import ConfigFile, OperatorAddress, Output, examples, group
from interlock_gateway.cli.reaching import operator
from interlock_gateway.cli.screen import Block, Fields, OutputFormat, Screen, Table, Text
from interlock_gateway.config import Config
from interlock_gateway.config_loader import load_config
from interlock_gateway.core.decision import Verdict
from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.loader import load_bundle
from interlock_gateway.policy.settings import PolicySourceError

app = group("Check, test, evaluate and reload policies.", examples("interlock policy check --config interlock.yaml"))
_MEMBERS = frozenset({"verdict", "code", "message", "rule"})


@app.command(
    name="eval",
    epilog=examples(
        'interlock policy eval \'{"tool": "deploy", "input": {"to": "production"}}\'',
        "interlock policy eval @call.json --config interlock.yaml",
        "interlock policy eval - < policy-input.json",
    ),
)
def evaluate(
    call: Annotated[str, typer.Argument(help="The call as JSON, `@FILE`, or `-` for standard input.")],
    *,
    config: ConfigFile = None,
    timeout: Annotated[float, typer.Option(min=0.01, help="How long the evaluation may take, in seconds.")] = 2.0,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Decide about a described call with the configured policies, and show each rule that fired.

    The call is a whole policy input document, or `tool` (a definition or a name) and `input`, and what else there is to
    say about `principal`, `session` and `call`. Nothing is dispatched, and no gateway is needed. The exit code is 0
    when the call is allowed, 1 when it is denied, 4 when it would wait.
    """
    settings = load_config(config, os.environ)
    bundle = configured_bundle(settings)
    document = policy_document(_written(call), settings, revision=bundle.revision)
    explained = explain_decision(bundle, document, timeout)
    shown = {"decision": asdict(explained.decision), "findings": list(explained.findings), "input": document}
    Screen(output).show(shown, *_explained(explained))
    raise typer.Exit(_VERDICT_CODE.get(explained.decision.verdict, ExitCode.WAITING))


_VERDICT_CODE = {Verdict.ALLOW: ExitCode.OK, Verdict.DENY: ExitCode.REFUSED}


@app.command(epilog=examples("interlock policy status", "interlock policy status --output json"))
def status(*, address: OperatorAddress = "", output: Output = OutputFormat.TABLE) -> None:
    """Show which policies are in force at the gateway, and what became of the last attempt to load others."""
    with operator(address) as admin:
        found = admin.policy_status()
    Screen(output).show(found, Fields(_facts(found)), *_reload_blocks(found))


@app.command(epilog=examples("interlock policy reload --check-only", "interlock policy reload"))
def reload(
    *,
    check_only: Annotated[bool, typer.Option("--check-only", help="Check what would be loaded; swap nothing.")] = False,
    address: OperatorAddress = "",
    output: Output = OutputFormat.TABLE,
) -> None:
    """Load the configured policies again at the gateway, in one step; bad ones are refused, the last good ones stay."""
    with operator(address) as admin:
        answer = admin.reload_policy(check_only=check_only)
    outcome = answer.reload
    verb = "can be loaded" if check_only else "in force"
    said = f"{outcome.revision}: {verb}" if outcome.accepted else "refused; the last good policies stay in force"
    Screen(output).show(answer, Text(said), *_problems(outcome.problems))
    raise typer.Exit(ExitCode.OK if outcome.accepted else ExitCode.REFUSED)


def configured_bundle(config: Config) -> PolicyBundle:
    """The policies that the configuration names. Raises `CommandError` with file and line."""
    try:
        return load_bundle(profile=config.policy.profile, overlays=config.policy.overlays)
    except PolicySourceError as error:
        raise CommandError(str(error)) from None


def _written(call: str) -> str:
    if call == "-":
        return sys.stdin.read()
    return Path(call[1:]).read_text(encoding="utf-8") if call.startswith("@") else call


def _explained(explained: Explanation) -> list[Block]:
    decision = explained.decision
    asked = {name: value for name, value in asdict(decision.obligations).items() if value}
    facts: list[tuple[str, Any]] = [
        ("verdict", decision.verdict.value),
        ("reasons", "\n".join(f"{one.code}: {one.message} ({one.rule})" for one in decision.reasons)),
        ("obligations", "\n".join(f"{name}: {value}" for name, value in asked.items())),
        ("notes", "\n".join(decision.notes)),
        ("policy", f"{decision.policy_revision}, profile {decision.profile}"),
    ]
    rows = [(one.get("rule"), one.get("verdict"), one.get("code"), one.get("message"), _rest(one)) for one in
            explained.findings]  # fmt: skip
    columns = ("rule", "verdict", "code", "message", "besides")
    return [Fields(facts), Table(columns, rows, title="rules that fired", empty="none")]


def _rest(finding: dict[str, Any]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in sorted(finding.items()) if name not in _MEMBERS)


def _facts(found: policy_pb2.PolicyStatus) -> list[tuple[str, Any]]:
    return [
        ("revision", found.revision or "none: every call is denied"),
        ("profile", found.profile),
        ("engine", f"{found.engine}, {'answers' if found.engine_healthy else found.engine_error or 'does not answer'}"),
        ("sources", list(found.sources)),
        ("rules", found.rules),
        ("in force since", found.activated_at.ToJsonString() if found.HasField("activated_at") else None),
    ]


def _reload_blocks(found: policy_pb2.PolicyStatus) -> list[Block]:
    if not found.HasField("last_reload"):
        return []
    last = found.last_reload
    said = "accepted" if last.accepted else "refused"
    return [Fields((("last reload", f"{said} at {last.time.ToJsonString()}"),)), *_problems(last.problems)]


def _problems(problems: Any) -> list[Block]:
    rows = [(f"{one.file}:{one.line}" if one.line else one.file, one.code, one.message) for one in problems]
    return [Table(("place", "problem", "message"), rows)] if rows else []
