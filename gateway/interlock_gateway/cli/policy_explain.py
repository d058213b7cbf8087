"""`interlock policy eval` and `policy explain`: what policy decides about a call, and why (LIFE-2)."""

import json
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from interlock_gateway.cli.described_call import policy_document
from interlock_gateway.cli.exit_codes import ExitCode
from interlock_gateway.cli.explained import Explained
from interlock_gateway.cli.explained_view import everything as all_lines
from interlock_gateway.cli.explained_view import one_screen, setting_shown
from interlock_gateway.cli.explaining import explain_decision
from interlock_gateway.cli.gateway_denials import in_words
from interlock_gateway.cli.jsonable import to_json
from interlock_gateway.cli.options import ConfigFile, Output, examples
from interlock_gateway.cli.policy_failures import judging
from interlock_gateway.cli.policy_sources import (
    AuditDirectory,
    Engine,
    EngineChoice,
    Overlays,
    chosen_overlays,
    configured_bundle,
)
from interlock_gateway.cli.recorded_decision import RecordedDecision, recorded_decision
from interlock_gateway.cli.screen import Block, Fields, Lines, OutputFormat, Screen, Table, Text
from interlock_gateway.config import Config
from interlock_gateway.config_loader import load_config
from interlock_gateway.core.decision import DecisionError, Verdict
from interlock_gateway.core.visible import visible
from interlock_gateway.policy.explain.origins import Origins
from interlock_gateway.policy.opa.program import OpaProgram, find_opa
from interlock_gateway.policy.trial import evaluate_once, otherwise

_VERDICT_CODE = {Verdict.ALLOW: ExitCode.OK, Verdict.DENY: ExitCode.REFUSED}
_MEMBERS = frozenset({"verdict", "code", "message", "rule"})
_WITHOUT_EFFECT = "settings that the rules which fired read besides, and that are not why they fired"
Call = Annotated[
    str, typer.Argument(help="The id of a recorded decision; or a call as JSON, `@FILE`, or `-` for standard input.")
]
Timeout = Annotated[float, typer.Option(min=0.01, help="How long the evaluation may take, in seconds.")]
EXPLAIN_EXAMPLES = examples(
    "interlock policy explain 8a3cfb5e-6f0c-4be5-9d5f-3c1d6e4b6f7a",
    'interlock policy explain \'{"tool": "deploy", "input": {"to": "production"}}\' --all',
)
EVAL_EXAMPLES = examples(
    'interlock policy eval \'{"tool": "deploy", "input": {"to": "production"}}\'',
    "interlock policy eval @call.json --config interlock.yaml",
    "interlock policy eval - < policy-input.json",
    'interlock policy eval \'{"tool": "deploy"}\' --engine opa',
)


@judging
def evaluate(
    call: Call,
    *,
    overlay: Overlays = None,
    audit_dir: AuditDirectory = None,
    engine: Engine = EngineChoice.EMBEDDED,
    config: ConfigFile = None,
    timeout: Timeout = 2.0,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Decide about a call with the configured policies, and show each rule that fired and each that nearly did.

    The call is a whole policy input document, or `tool` (a definition, or the name of one that is pinned in the state
    directory) and `input`, and what else there is to say about `principal`, `session` and `call`; or a recorded
    decision, decided again. Nothing is dispatched, and no gateway is needed. The exit code is 0 when the call is
    allowed, 1 when it is denied, 4 when it would wait.

    With `--engine opa` the program opa of this machine decides too; the exit code is 1 when it decides otherwise.
    """
    opa = find_opa() if engine is EngineChoice.OPA else None
    explained = _explained(call, load_config(config, os.environ), overlay, audit_dir, timeout)
    if isinstance(explained, RecordedDecision):
        _show_unasked(explained, Screen(output))
        raise typer.Exit(ExitCode.REFUSED)
    if opa is not None:
        _show_both(explained, opa, Screen(output))
    else:
        Screen(output).show(explained.as_json(), *_tables(explained))
    raise typer.Exit(_VERDICT_CODE.get(explained.explanation.decision.verdict, ExitCode.WAITING))


def _show_both(explained: Explained, opa: OpaProgram, screen: Screen) -> None:
    """The decision with OPA's; ends the command when they differ."""
    document = json.dumps(explained.explanation.document, ensure_ascii=False).encode()
    (theirs,) = opa.decide(explained.bundle, [document])
    differs = otherwise(_decision_here(explained, document), theirs)
    said = f"OPA {opa.version} decides otherwise: {differs}" if differs else f"OPA {opa.version} decides the same"
    both = {"version": opa.version, "decision": theirs, "differs": differs}
    screen.show({**explained.as_json(), "opa": both}, *_tables(explained), Text(said))
    if differs:
        raise typer.Exit(ExitCode.REFUSED)


def _decision_here(explained: Explained, document: bytes) -> Any:
    try:
        return json.loads(evaluate_once(explained.bundle, document))
    except DecisionError:
        return None


@judging
def explain(
    call: Call,
    *,
    everything: Annotated[
        bool, typer.Option("--all", help="Show all rules, settings and values, not what fits a screen.")
    ] = False,
    overlay: Overlays = None,
    audit_dir: AuditDirectory = None,
    config: ConfigFile = None,
    timeout: Timeout = 2.0,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Explain a decision: which rules fired, which one condition kept from firing, and what would change it.

    A rule that nearly fired is found by evaluating it without each of its conditions; the one that fails is shown with
    its place and the values that it looked at. A recorded decision is found by its id in the receipts on this machine
    and decided again with the configured policies; no gateway is needed.
    """
    explained = _explained(call, load_config(config, os.environ), overlay, audit_dir, timeout)
    if isinstance(explained, RecordedDecision):
        _show_unasked(explained, Screen(output))
        return
    size = shutil.get_terminal_size()
    width = max(size.columns, 60)
    said = all_lines(explained, width) if everything else one_screen(explained, width, size.lines)
    Screen(output).show(explained.as_json(), Lines(said))


def _explained(
    call: str, settings: Config, overlay: list[Path] | None, audit_dir: Path | None, timeout: float
) -> Explained | RecordedDecision:
    """The explanation; a recorded decision about which policy was not asked is given back as it is."""
    recorded = None
    if not _is_described(call):
        recorded = recorded_decision(audit_dir or Path(settings.at_state(settings.audit.dir)), call)
        if recorded.document is None:
            return recorded
    bundle = configured_bundle(settings, overlay)
    document = recorded.document if recorded is not None else None
    if document is None:
        described = policy_document(_written(call), settings, revision=bundle.revision)
        document = described.document
        if described.remark:
            typer.echo(visible(described.remark), err=True)
    explanation = explain_decision(bundle, document, timeout)
    otherwise = "shipped" if overlay or settings.policy.bundle is None else "bundle"
    origins = Origins(profile=bundle.profile, overlays=chosen_overlays(overlay, settings), otherwise=otherwise)
    return Explained(explanation, recorded, bundle, origins)


def _is_described(call: str) -> bool:
    return call == "-" or not call.strip() or call.lstrip().startswith(("{", "@", "["))


def _written(call: str) -> str:
    if call == "-":
        return sys.stdin.read()
    return Path(call[1:]).read_text(encoding="utf-8") if call.startswith("@") else call


def _show_unasked(recorded: RecordedDecision, screen: Screen) -> None:
    """Of a call that was refused before policy was asked there is nothing to explain but the gateway's own words."""
    result = recorded.result
    reasons = [{**one, "meaning": in_words(str(one.get("code")))} for one in result.get("reasons", ())]
    shown = {"decision": None, "recorded": {"decision_id": recorded.decision_id, "result": result}, "reasons": reasons}
    said = "\n".join(f"{one['code']}: {one['meaning'] or one.get('message', '')}" for one in reasons)
    facts = (
        ("verdict", result.get("verdict")),
        ("call", f"{recorded.record.get('tool')} by {recorded.record.get('requested_by')}"),
        ("why", said),
        ("policy", "was not asked: the gateway refused the call by itself, so no rule fired"),
    )
    screen.show(shown, Fields(facts))


def _tables(explained: Explained) -> list[Block]:
    explanation = explained.explanation
    decision = explanation.decision
    facts: list[tuple[str, Any]] = [
        ("verdict", decision.verdict.value),
        ("reasons", "\n".join(f"{one.code}: {one.message} ({one.rule})" for one in decision.reasons)),
        ("not known", "\n".join(explained.unknown)),
        ("files", "\n".join(explained.touched)),
        ("obligations", "\n".join(f"{name}: {_json(value)}" for name, value in explained.obligations.items())),
        ("notes", "\n".join(decision.notes)),
        ("caution", "\n".join(explained.cautions)),
        ("policy", f"{decision.policy_revision}, profile {decision.profile}"),
    ]
    rows = [(one.get("rule"), one.get("verdict"), one.get("code"), one.get("message"), _rest(one)) for one in
            explanation.findings]  # fmt: skip
    near = [(one.rule, one.verdict, it.text, it.place) for one in explanation.near for it in one.failing]
    fired = explanation.fired
    telling = [(rule.rule, setting_shown(one, explained.set_at(one))) for rule in fired for one in rule.telling]
    others = [one for rule in fired for one in rule.settings if not one.decides]
    read = [setting_shown(one, explained.origin(one)) for one in others]
    return [
        Fields(facts),
        Table(("rule", "verdict", "code", "message", "besides"), rows, title="rules that fired", empty="none"),
        *([Table(("rule", "setting"), telling, title="settings that made them fire")] if telling else []),
        *([Table(("rule", "verdict", "condition", "place"), near, title="rules that one condition kept from firing")]
          if near else []),
        *([Text("\n".join(dict.fromkeys(read)), title=_WITHOUT_EFFECT)] if read else []),
    ]  # fmt: skip


def _rest(finding: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}: {_json(value)}" for name, value in sorted(finding.items()) if name not in _MEMBERS)


def _json(value: Any) -> str:
    return to_json(value, indent=None)
