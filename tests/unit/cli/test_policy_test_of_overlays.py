"""`interlock policy test` on overlays: what an overlay may say, its author can test."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from command_runs import run, run_json

pytestmark = pytest.mark.req("LIFE-1", "POL-2")
DOCUMENT = (Path(__file__).parents[3] / "docs" / "policies.md").read_text(encoding="utf-8")
BLOCKS = re.compile(r"^```(?P<language>\w+)\n(?P<body>.*?)^```", re.MULTILINE | re.DOTALL)
TIGHTER = "settings: {bash: {routine_verdict: checkpoint}, budget: {destructive_per_session: 5}}\n"


def blocks(language: str) -> list[str]:
    return [one["body"] for one in BLOCKS.finditer(DOCUMENT) if one["language"] == language]


def documented() -> list[str]:
    """The overlays of the document; their exemptions end next month, whenever this is."""
    soon = (datetime.now(UTC) + timedelta(days=30)).strftime('"%Y-%m-%dT00:00:00Z"')
    found = [block for block in blocks("yaml") if block.startswith(("settings:", "exemptions:"))]
    return [re.sub(r'(?<=expires: )".*?"', soon, block) for block in found]


def overlay(tmp_path: Path, data: str = "", **rules: str) -> Path:
    root = tmp_path / "house"
    (root / "custom").mkdir(parents=True)
    if data:
        (root / "data.yaml").write_text(data)
    for name, source in rules.items():
        (root / "custom" / f"{name}.rego").write_text(source)
    return root


@pytest.mark.parametrize("data", documented())
def test_settings_of_the_document_pass(tmp_path: Path, data: str) -> None:
    ended = run("policy", "test", "--overlay", overlay(tmp_path, data))
    assert ended.exit_code == 0, ended.output
    assert ", 0 failed; " in ended.stdout


def test_the_overlay_of_the_document_passes_with_all_its_lines_reached(tmp_path: Path) -> None:
    rule, test = blocks("rego")
    house = overlay(tmp_path, "\n".join(documented()[:1]), office_hours=rule, office_hours_test=test)
    ended = run("policy", "test", "--overlay", house, "--coverage", "100")
    assert ended.exit_code == 0, ended.output
    assert ", 0 failed; 100.0% of the lines" in ended.stdout


def test_tests_of_an_overlay_see_its_settings_and_shipped_ones_do_not(tmp_path: Path) -> None:
    own = "package interlock.custom_test\n\ntest_it if data.interlock.settings.budget.destructive_per_session == 5\n"
    report = run_json("policy", "test", "--overlay", overlay(tmp_path, TIGHTER, budget_test=own))
    assert [one["name"] for one in report["results"] if one["file"].startswith("house/")] == ["test_it"]
    assert len(report["results"]) > 100
    assert report["ok"] is True


def test_lines_of_an_overlay_are_not_hidden_by_the_many_that_ship(tmp_path: Path) -> None:
    rule = blocks("rego")[0]
    report = run_json("policy", "test", "--overlay", overlay(tmp_path, office_hours=rule), "--coverage", "90", code=1)
    assert list(report["not_covered"]) == ["house/custom/office_hours.rego"]
    assert report["coverage"] == 0.0
