"""`interlock policy corpus`: the figures, where policies erred, and the exit code."""

from pathlib import Path

import pytest
from command_runs import run, run_json

TOOLS = "look: {metadata: {read_only: true}}\nnew: {}\n"
SESSION = (
    "about: Something happens.\nkind: attack\ncalls:\n- {tool: look}\n- {tool: new}\n- {tool: look, harm: fraud}\n"
)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    sessions = tmp_path / "sessions"
    (sessions / "house").mkdir(parents=True)
    (sessions / "tools.yaml").write_text(TOOLS)
    (sessions / "house" / "one.yaml").write_text(SESSION)
    return sessions


@pytest.mark.req("POL-4")
def test_the_figures_and_the_errors_are_shown(corpus: Path) -> None:
    shown = run("policy", "corpus", corpus)
    assert shown.exit_code == 0, shown.output
    assert "house/one:3" in shown.stdout
    assert "harm let through 100.0%, bothered for nothing 50.0%" in shown.stdout
    found = run_json("policy", "corpus", corpus)
    assert found["all"]["missed"] == found["domains"]["house"]["missed"] == 1
    assert [(one["error"], one["call"], one["rules"]) for one in found["errors"]] == [
        ("missed", 3, ["readonly/allow"]),
        ("bothered", 2, found["errors"][1]["rules"]),
    ]


@pytest.mark.req("POL-4")
@pytest.mark.parametrize("option", [("--most-missed", "99"), ("--most-bothered", "49")])
def test_too_many_errors_are_an_exit_code(corpus: Path, option: tuple[str, str]) -> None:
    assert run_json("policy", "corpus", corpus, *option, code=1)["ok"] is False


@pytest.mark.req("POL-2")
def test_an_overlay_and_a_profile_can_be_tried(corpus: Path, tmp_path: Path) -> None:
    overlay = tmp_path / "overlay"
    overlay.mkdir()
    (overlay / "data.yaml").write_text("settings: {confidence: {minimum_by_effect: {read_only: 10}}}\n")
    tried = run_json("policy", "corpus", corpus, "--overlay", overlay, "--profile", "strict")
    assert tried["profile"] == "strict"
    assert (tried["all"]["missed"], tried["all"]["bothered"]) == (0, 2)


def test_a_directory_that_is_no_corpus_is_named(tmp_path: Path) -> None:
    ended = run("policy", "corpus", tmp_path)
    assert ended.exit_code == 2
    assert "tools.yaml: cannot be read" in ended.stderr
