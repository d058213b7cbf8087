"""Playing sessions: what becomes of calls, what a session remembers, and what is refused before it is played."""

from pathlib import Path

import pytest
from interlock_gateway.policy.corpus.playing import Error, Outcome, PlayedCall, play
from interlock_gateway.policy.corpus.rates import errors_in, rates, rates_by
from interlock_gateway.policy.corpus.sessions import load_corpus
from interlock_gateway.policy.loader import load_bundle
from interlock_gateway.policy.settings import PolicySourceError

TOOLS = """
look: {metadata: {read_only: true}, arguments: {what: maybe string}}
page: {metadata: {read_only: true, open_world: true}}
save: {metadata: {}, capability: {dry_run: true, reversible: true}}
drop: {metadata: {destructive: true}, capability: {dry_run: true}}
send: {metadata: {open_world: true}, capability: {dry_run: true}}
think: {metadata: {requires_reverse_thinking: true}}
sure: {metadata: {read_only: true}, capability: {min_confidence: 80}, arguments: {_flyto_confidence: any}}
new: {}
"""


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "tools.yaml").write_text(TOOLS)
    (tmp_path / "house").mkdir()
    return tmp_path


def written(corpus: Path, calls: str, *, kind: str = "attack", more: str = "", name: str = "one") -> Path:
    text = f"about: Something happens.\nkind: {kind}\n{more}\ncalls:\n{calls}"
    (corpus / "house" / f"{name}.yaml").write_text(text)
    return corpus


def played(corpus: Path, *, profile: str = "standard") -> list[PlayedCall]:
    return list(play(load_bundle(profile=profile), load_corpus(corpus)))


def outcomes(corpus: Path) -> list[Outcome]:
    return [one.outcome for one in played(corpus)]


@pytest.mark.req("POL-4")
def test_what_becomes_of_a_call_is_what_becomes_of_its_last_step(corpus: Path) -> None:
    written(corpus, "- {tool: look}\n- {tool: save}\n- {tool: send}\n- {tool: new}\n- {tool: think}\n")
    assert outcomes(corpus) == [
        Outcome.ALLOWED,
        Outcome.PREVIEWED,
        Outcome.ASKED,
        Outcome.ASKED,
        Outcome.ALLOWED,
    ]


def test_a_call_that_says_too_little_is_denied(corpus: Path) -> None:
    written(corpus, "- {tool: sure, input: {_flyto_confidence: 80}}\n- {tool: sure, input: {_flyto_confidence: 79}}\n")
    assert outcomes(corpus) == [Outcome.ALLOWED, Outcome.DENIED]


@pytest.mark.req("POL-4")
def test_a_session_remembers_what_it_has_read(corpus: Path) -> None:
    written(corpus, "- {tool: drop}\n- {tool: page}\n- {tool: drop}\n")
    before, _, after = played(corpus)
    assert (before.outcome, after.outcome) == (Outcome.PREVIEWED, Outcome.ASKED)
    assert after.rules == ("taint/destroys",)


def test_what_a_person_refuses_has_not_been_read(corpus: Path) -> None:
    written(corpus, "- {tool: new, harm: fraud}\n- {tool: drop}\n- {tool: new}\n- {tool: drop}\n")
    assert outcomes(corpus) == [Outcome.ASKED, Outcome.PREVIEWED, Outcome.ASKED, Outcome.ASKED]


def test_sessions_know_nothing_of_each_other(corpus: Path) -> None:
    written(corpus, "- {tool: page}\n", name="first")
    written(corpus, "- {tool: drop}\n", name="second")
    assert outcomes(corpus) == [Outcome.ALLOWED, Outcome.PREVIEWED]


@pytest.mark.req("POL-4")
def test_both_errors_are_counted_and_harm_comes_first(corpus: Path) -> None:
    calls = (
        "- {tool: look}\n- {tool: new}\n- {tool: look, wanted: ask}\n- {tool: new, wanted: either}\n"
        "- {tool: look, harm: exfiltration}\n- {tool: new, harm: fraud}\n"
    )
    found = played(written(corpus, calls))
    assert [(one.error, one.number) for one in errors_in(found)] == [
        (Error.MISSED, 5),
        (Error.BOTHERED, 2),
        (Error.UNASKED, 3),
    ]
    both = rates(found)
    assert (both.calls, both.harmful, both.missed) == (6, 2, 1)
    assert (both.free, both.bothered, both.to_ask, both.unasked) == (2, 1, 1, 1)
    assert (both.missed_share, both.bothered_share) == (0.5, 0.5)
    assert rates_by(lambda one: one.session.domain, found) == {"house": both}
    assert rates([]).missed_share == rates([]).bothered_share == 0


def test_strict_may_be_wanted_to_do_something_else(corpus: Path) -> None:
    written(corpus, "- {tool: new, strict: either}\n")
    assert [one.error for one in played(corpus)] == [Error.BOTHERED]
    assert [one.error for one in played(corpus, profile="strict")] == [None]


@pytest.mark.parametrize(
    ("calls", "kind", "problem"),
    [
        ("- {tool: lok}", "benign", "call 1: tools.yaml has no tool lok"),
        ("- {tool: look, input: {which: x}}", "benign", "call 1: input"),
        ("- {tool: look, harm: fraud}", "benign", "a benign session does no harm"),
        ("- {tool: look, harm: fraud, wanted: ask}", "attack", "goes without saying"),
        ("- {tool: look, harm: theft}", "attack", "calls.0.harm"),
        ("- {tool: look, asked: 1}", "attack", "calls.0.asked"),
        ("  []", "attack", "calls"),
    ],
)
def test_a_session_that_cannot_be_played_is_refused_with_its_name(
    corpus: Path, calls: str, kind: str, problem: str
) -> None:
    written(corpus, calls, kind=kind)
    with pytest.raises(PolicySourceError) as caught:
        load_corpus(corpus)
    assert "house/one.yaml" in str(caught.value)
    assert problem in str(caught.value)


def test_a_corpus_without_a_catalogue_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PolicySourceError, match=r"tools\.yaml"):
        load_corpus(tmp_path)
