"""Every command says what it does, shows an example that is one, and stands in the documentation."""

import shlex
from pathlib import Path
from typing import Any

import pytest
from command_runs import run
from interlock_gateway.artifacts.uri import parse_uri
from interlock_gateway.cli.exit_codes import ExitCode
from interlock_gateway.cli.main import COMMANDS
from interlock_gateway.cli.reference import Documented, every_command, example_lines, reference_markdown

DOCS = Path(__file__).parents[3] / "docs" / "cli.md"
ALL = list(every_command())
ONES = pytest.mark.parametrize("one", ALL, ids=lambda one: " ".join(one.words[1:]))


def test_the_committed_documentation_is_fresh() -> None:
    assert DOCS.read_text(encoding="utf-8") == reference_markdown(), "run python -m interlock_gateway.cli.reference"


def test_the_exit_codes_are_documented() -> None:
    text = DOCS.read_text(encoding="utf-8")
    assert all(f"| {code.value} | {code.meaning} |" in text for code in ExitCode)


@ONES
def test_every_command_has_help_with_an_example(one: Documented) -> None:
    shown = run(*one.words[1:], "--help")
    assert shown.exit_code == 0, shown.output
    assert "Usage: " in shown.stdout
    assert "Example" in shown.stdout
    assert str(one.command.help).partition(".")[0].split()[0] in shown.stdout


@ONES
def test_every_option_says_what_it_is_for(one: Documented) -> None:
    assert [parameter.name for parameter in one.command.params if not parameter.help] == []


@ONES
def test_every_example_is_one_of_its_own_command_and_can_be_parsed(one: Documented) -> None:
    lines = example_lines(one.command)
    assert lines
    for line in lines:
        words = shlex.split(line)
        words = words[words.index("interlock") :]
        assert tuple(words[: len(one.words)]) == one.words, line
        if one.runs:
            parse(one, words[len(one.words) :])


def parse(one: Documented, words: list[str]) -> None:
    """Parse an example's words as its command would, without running it."""
    ends = [place for place, word in enumerate(words) if word in {">", "<", "&&", "&"}]
    command: Any = one.command
    context = command.make_context(one.words[-1], words[: ends[0]] if ends else words)
    assert context.params is not None


@ONES
def test_every_command_that_shows_something_can_show_it_to_programs(one: Documented) -> None:
    without = {("demo",), ("toolbox",), ("completion",), ("config", "schema"), ("mcp",), ("mcp", "wrap")}
    if one.runs and one.words[1:] not in without:
        assert "--output" in {name for parameter in one.command.params for name in parameter.opts}


def test_the_help_of_the_root_lists_every_command_with_its_summary() -> None:
    shown = run("--help").stdout
    for name, command in COMMANDS.items():
        assert name in shown
        assert command.summary in shown


def test_the_artifacts_in_examples_are_named_as_artifacts_are() -> None:
    named = [
        word
        for one in ALL
        for line in example_lines(one.command)
        for word in shlex.split(line)
        if "artifact://" in word
    ]
    assert [parse_uri(uri).session_id for uri in named] == ["session-1f2e"] * len(named)
    assert len(named) > 3
