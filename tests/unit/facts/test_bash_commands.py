"""Every command in a script is seen, or it is said that something was not understood."""

import pytest
from facts_bash_cases import ALL
from facts_calls import Bash, RealBash, names_of

pytestmark = pytest.mark.req("PIPE-5")


def test_there_are_enough_ways_to_hide_a_command() -> None:
    assert len({script for script, _, _ in ALL}) >= 150


@pytest.mark.parametrize(("script", "names", "marks"), ALL, ids=lambda value: ascii(value)[:60])
def test_a_hidden_command_is_seen(bash: Bash, script: str, names: str, marks: str) -> None:
    document = bash(script)
    assert names_of(document) == names
    assert document["parse_error"] is ("e" in marks), document["errors"]
    assert document["dynamic"] is ("d" in marks) or "e" in marks
    assert bool(document["errors"]) is document["parse_error"]


@pytest.mark.parametrize("script", [script for script, _, marks in ALL if "-" not in marks], ids=ascii)
def test_bash_itself_runs_nothing_that_was_not_seen(bash: Bash, real_bash: RealBash, script: str) -> None:
    seen = {(command["argv"][0] or "").replace("\n", "_") for command in bash(script)["commands"]}
    assert real_bash.names(script) <= seen
