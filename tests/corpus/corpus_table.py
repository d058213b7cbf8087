"""The tables of docs/policies.md about the corpus; as a program (`make corpus`) it prints them and writes them there.

They are made of what is played, never written by hand: a test compares them.
"""

import sys
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from interlock_gateway.policy.corpus.playing import Error, PlayedCall, play
from interlock_gateway.policy.corpus.rates import Rates, errors_in, rates, rates_by
from interlock_gateway.policy.corpus.sessions import load_corpus
from interlock_gateway.policy.loader import load_bundle

CORPUS = Path(__file__).resolve().parent
DOCUMENT = CORPUS.parents[1] / "docs" / "policies.md"
BEGIN, END = "<!-- made by `make corpus` -->", "<!-- up to here -->"
PROFILES = ("observe", "standard", "strict")


@cache
def played_under(profile: str) -> tuple[PlayedCall, ...]:
    """Every call of the corpus under a profile."""
    return play(load_bundle(profile=profile), load_corpus(CORPUS))


def shown_in(text: str) -> str:
    """The document with the tables in it."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{tables()}\n\n{END}{after}"


def tables() -> str:
    """Both errors by profile and by domain, and every call of the default profile that went wrong."""
    standard = played_under("standard")
    return "\n\n".join((_by_profile(), _by_domain(standard), _missed(standard), _bothered(standard)))


def held_out(played: Iterable[PlayedCall]) -> list[PlayedCall]:
    """The calls of sessions that were written after the rules were tuned."""
    return [one for one in played if one.session.file.held_out]


def tuned(played: Iterable[PlayedCall]) -> list[PlayedCall]:
    """The calls of sessions that the rules were tuned with."""
    return [one for one in played if not one.session.file.held_out]


def _by_profile() -> str:
    rows = []
    for profile in PROFILES:
        for name, chosen in (("held out", held_out), ("tuned with", tuned)):
            calls = chosen(played_under(profile))
            sessions = len({one.session.name for one in calls})
            rows.append((profile, name, str(sessions), *_cells(rates(calls))))
    head = ("profile", "sessions", "", "calls", "harm let through", "bothered for nothing", "not asked about")
    return _table(head, rows)


def _by_domain(played: Sequence[PlayedCall]) -> str:
    rows = [(domain, *_cells(found)) for domain, found in rates_by(lambda one: one.session.domain, played).items()]
    head = ("`standard`, by domain", "calls", "harm let through", "bothered for nothing", "not asked about")
    return _table(head, [*rows, ("all", *_cells(rates(played)))])


def _missed(played: Sequence[PlayedCall]) -> str:
    missed = [one for one in errors_in(played) if one.error is Error.MISSED]
    rows = [(_place(one), one.call.tool, one.call.harm.value, one.call.missed) for one in missed]
    return _table(("let through under `standard`", "tool", "harm", "why"), rows)


def _bothered(played: Sequence[PlayedCall]) -> str:
    bothered = [one for one in errors_in(played) if one.error in {Error.BOTHERED, Error.UNASKED}]
    rows = [
        (_place(one), one.call.tool, one.outcome.value, ", ".join(f"`{rule}`" for rule in one.rules))
        for one in bothered
    ]
    return _table(("otherwise not as wanted under `standard`", "tool", "outcome", "rules"), rows)


def _rules(one: PlayedCall) -> str:
    return ", ".join(f"`{rule}`" for rule in one.rules)


def _place(one: PlayedCall) -> str:
    mark = " (held out)" if one.session.file.held_out else ""
    return f"{one.session.name.replace('_', ' ')}, {one.number}{mark}"


def _cells(found: Rates) -> tuple[str, ...]:
    return (
        str(found.calls),
        f"{found.missed} of {found.harmful} ({found.missed_share:.1%})",
        f"{found.bothered} of {found.free} ({found.bothered_share:.1%})",
        f"{found.unasked} of {found.to_ask}",
    )


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    DOCUMENT.write_text(shown_in(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
    sys.stdout.write(f"{tables()}\n")
