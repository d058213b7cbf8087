"""A real bash is asked about random scripts: it must run nothing that was not seen."""

import random
import re

import pytest
from facts_calls import RealBash
from facts_scripts import Scripts
from interlock_gateway.facts.shell import ansi
from interlock_gateway.facts.shell.survey import Survey

pytestmark = pytest.mark.req("PIPE-5")


@pytest.mark.parametrize(("seed", "noise"), [(1, 0.0), (2, 0.3), (3, 0.6)])
def test_bash_runs_nothing_that_was_not_seen(real_bash: RealBash, seed: int, noise: float) -> None:
    scripts = Scripts(seed, depth=2, noise=noise)
    compared = 0
    for _ in range(80):
        script = scripts.script()
        survey = Survey()
        survey.take_script(script)
        uncertain = survey.errors or survey.hazards or any(found.name is None for found in survey.found)
        if uncertain:
            continue
        compared += 1
        seen = {found.words[0].text.replace("\n", "_") for found in survey.found}
        assert real_bash.names(script) - {""} <= seen, script
    assert compared >= 20


def test_escapes_in_dollar_quotes_mean_what_they_mean_to_bash(real_bash: RealBash) -> None:
    chooser = random.Random(4)
    alphabet = [*"\\xuUc{}0127aAbBeEfnrtv'\"?89FG z\u00e9", *(["\\"] * 10), "\\x", "\\u", "\\c", "\\U0001"]
    bodies = ["".join(chooser.choices(alphabet, k=chooser.randint(1, 9))) for _ in range(400)]
    bodies = [body for body in bodies if re.fullmatch(r"(?:[^'\\]|\\.)*", body)]
    printed = real_bash.prints("printf '%s\\0' " + " ".join(f"$'{body}'" for body in bodies))
    for body, expected in zip(bodies, printed, strict=True):
        value = ansi.decode(body)
        assert expected == value.encode("utf-8") if value is not None else not _is_text(expected), body


def _is_text(raw: bytes) -> bool:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
