"""`interlock policy corpus`: how often policies let harm through, and how often they bother people for nothing."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from interlock_gateway.cli.exit_codes import ExitCode
from interlock_gateway.cli.options import ConfigFile, Output, examples
from interlock_gateway.cli.policy_failures import judging
from interlock_gateway.cli.policy_sources import Overlays, candidate_bundle
from interlock_gateway.cli.screen import Block, OutputFormat, Screen, Table, Text
from interlock_gateway.config_loader import load_config
from interlock_gateway.policy.corpus.playing import PlayedCall, play
from interlock_gateway.policy.corpus.rates import Rates, errors_in, rates, rates_by
from interlock_gateway.policy.corpus.sessions import load_corpus

EXAMPLES = examples(
    "interlock policy corpus tests/corpus",
    "interlock policy corpus sessions --overlay policies --profile strict --most-missed 0 --most-bothered 3",
)
_PERCENT = 100


@judging
def play_corpus(
    directory: Annotated[Path, typer.Argument(help="Sessions in YAML by domain, and `tools.yaml` beside them.")],
    *,
    overlay: Overlays = None,
    profile: Annotated[str, typer.Option(help="The profile, in place of the one configured.")] = "",
    most_missed: Annotated[
        float, typer.Option(min=0, max=_PERCENT, help="How much harm may be let through, in percent of it.")
    ] = _PERCENT,
    most_bothered: Annotated[
        float,
        typer.Option(
            min=0, max=_PERCENT, help="How many calls may be asked about or denied for nothing, in percent of such."
        ),
    ] = _PERCENT,
    config: ConfigFile = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Play sessions of agents call by call, and show where policies let harm through or bother people for nothing.

    What is wanted of each call stands in its session. Nothing is dispatched, and no gateway is needed. The exit code is
    1 when there is more of either than the options allow.
    """
    settings = load_config(config, os.environ)
    bundle = candidate_bundle(settings, None, overlay, profile)
    played = play(bundle, load_corpus(directory))
    whole = rates(played)
    good = whole.missed_share * _PERCENT <= most_missed and whole.bothered_share * _PERCENT <= most_bothered
    wrong = errors_in(played)
    by_domain = rates_by(lambda one: one.session.domain, played)
    shown = {
        "ok": good,
        "revision": bundle.revision,
        "profile": bundle.profile,
        "all": asdict(whole),
        "domains": {domain: asdict(found) for domain, found in by_domain.items()},
        "errors": [_as_json(one) for one in wrong],
    }
    Screen(output).show(shown, *_blocks(by_domain, whole, wrong))
    raise typer.Exit(ExitCode.OK if good else ExitCode.REFUSED)


def _as_json(one: PlayedCall) -> dict[str, Any]:
    return {
        "error": one.error,
        "session": one.session.name,
        "call": one.number,
        "tool": one.call.tool,
        "harm": one.call.harm,
        "outcome": one.outcome,
        "rules": one.rules,
        "missed": one.call.missed,
    }


def _blocks(by_domain: dict[str, Rates], whole: Rates, wrong: list[PlayedCall]) -> list[Block]:
    rows = [_row(domain, found) for domain, found in [*by_domain.items(), ("all", whole)]]
    listed = [
        (one.error, f"{one.session.name}:{one.number}", one.call.tool, one.outcome, ", ".join(one.rules))
        for one in wrong
    ]
    return [
        Table(("error", "call", "tool", "outcome", "rules"), listed, title="not as wanted", empty="all is as wanted"),
        Table(("domain", "calls", "harm let through", "bothered for nothing", "not asked about"), rows),
        Text(f"harm let through {whole.missed_share:.1%}, bothered for nothing {whole.bothered_share:.1%}"),
    ]


def _row(domain: str, found: Rates) -> tuple[object, ...]:
    return (
        domain,
        found.calls,
        f"{found.missed} of {found.harmful}",
        f"{found.bothered} of {found.free}",
        f"{found.unasked} of {found.to_ask}",
    )
