"""`interlock policy check` and `policy test`: on what `init` writes, and on what is wrong with it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from command_runs import run, run_json

CASE = """\
tool: {name: git_push, metadata: {read_only: true}}
call: {input: {branch: BRANCH}}
expect: {verdict: deny, codes: [protected_branch]}
"""
BAD = """\
package interlock.custom

# METADATA
# title: Bad
findings contains {"verdict": "deny", "code": "x", "message": "m", "rule": "custom/bad"} if {
	http.send({"url": input.call.inpt.url}).status == 200
}
"""


@pytest.fixture
def started(tmp_path: Path) -> Path:
    """What `init` wrote."""
    run_json("init", tmp_path)
    return tmp_path


@pytest.mark.req("LIFE-1")
def test_what_init_writes_has_no_problem_and_its_tests_pass(started: Path) -> None:
    assert run_json("policy", "check", "--config", started / "interlock.yaml")["problems"] == []
    report = run_json("policy", "test", "--config", started / "interlock.yaml")
    ours = [one["name"] for one in report["results"] if one["file"].startswith("policies/custom/")]
    assert len(ours) == 4
    assert report["ok"] is True


@pytest.mark.req("LIFE-1", "ENG-5")
def test_each_problem_is_told_with_its_file_and_line(started: Path) -> None:
    (started / "policies" / "custom" / "bad.rego").write_text(BAD)
    ended = run("policy", "check", "--config", started / "interlock.yaml")
    assert ended.exit_code == 1
    lines = ended.stdout.splitlines()
    assert any(line.startswith("policies/custom/bad.rego:6: calls http.send") for line in lines)
    assert any(
        line.startswith("policies/custom/bad.rego:6: input.call.inpt.url: the input has no inpt") for line in lines
    )
    assert any("the rule has no test" in line for line in lines)
    problems = run_json("policy", "check", "--config", started / "interlock.yaml", code=1)["problems"]
    assert {"file", "line", "code", "message"} == set(problems[0])


def test_a_test_that_fails_is_named_with_its_place(started: Path) -> None:
    tests = started / "policies" / "custom" / "protected_branch_test.rego"
    tests.write_text(tests.read_text().replace('"topic"', '"release"'))
    ended = run("policy", "test", "--overlay", started / "policies")
    assert ended.exit_code == 1
    assert "policies/custom/protected_branch_test.rego:" in ended.stdout
    assert ", 1 failed; " in ended.stdout


@pytest.mark.req("LIFE-1")
def test_lines_that_no_test_reaches_are_shown_and_can_be_too_many(started: Path) -> None:
    tests = started / "policies" / "custom" / "protected_branch_test.rego"
    kept = tests.read_text().partition("test_a_push_to_a_protected")[0]
    tests.write_text(f"{kept}test_another_tool_is_nothing_to_this_rule if not push_denied({{}})\n")
    arguments = ("policy", "test", "--overlay", started / "policies")
    assert run(*arguments).exit_code == 0
    ended = run(*arguments, "--coverage", "100")
    assert ended.exit_code == 1
    assert "policies/custom/protected_branch.rego" in ended.stdout
    assert "which is too little" in ended.stdout


@pytest.mark.req("LIFE-1")
def test_decision_cases_are_decided_beside_the_tests(started: Path) -> None:
    cases = started / "cases" / "custom"
    cases.mkdir(parents=True)
    (cases / "a_push_to_main_is_denied.yaml").write_text(CASE.replace("BRANCH", "main"))
    arguments = ("policy", "test", "--overlay", started / "policies", "--cases", started / "cases")
    assert run(*arguments).exit_code == 0
    (cases / "a_push_to_a_topic_is_denied.yaml").write_text(CASE.replace("BRANCH", "topic"))
    ended = run(*arguments)
    assert ended.exit_code == 1
    assert "a_push_to_a_topic_is_denied" in ended.stdout


def test_policies_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    ended = run("policy", "check", "--overlay", tmp_path / "none")
    assert ended.exit_code == 2
    assert f"{tmp_path}/none: is not a directory" in ended.stderr


EXEMPTIONS = """\
exemptions:
  - {id: gone, rule: bash/other, scope: everything, reason: why, owner: platform, expires: "2020-01-01T00:00:00Z"}
  - {id: here, rule: "file/*", scope: {tools: [write]}, reason: it is needed, owner: platform, expires: "%s"}
"""


@pytest.mark.req("POL-2", "LIFE-1")
@pytest.mark.parametrize(("days", "standing"), [(29, "expiring"), (60, "in_force")])
def test_exemptions_are_listed_and_those_that_end_are_warned_of(started: Path, days: int, standing: str) -> None:
    ends = (datetime.now(UTC) + timedelta(days=days)).isoformat()
    (started / "policies" / "data.yaml").write_text(EXEMPTIONS % ends)
    shown = run_json("policy", "check", "--config", started / "interlock.yaml")
    assert [(one["id"], one["standing"], one["scope"]) for one in shown["exemptions"]] == [
        ("gone", "expired", "everything"),
        ("here", standing, {"tools": ["write"]}),
    ]
    codes = [one["code"] for one in shown["warnings"]]
    assert codes == ["exemption_expired", *(["exemption_expiring"] if standing == "expiring" else [])]
    ended = run("policy", "check", "--config", started / "interlock.yaml")
    assert ended.exit_code == 0
    assert "warning: exemption gone (platform) of bash/other ended at 2020-01-01T00:00:00Z" in ended.stdout
    assert ("warning: exemption here" in ended.stdout) == (standing == "expiring")


@pytest.mark.req("POL-2", "LIFE-1")
def test_an_overlay_that_loosens_is_a_problem_with_file_and_setting(started: Path) -> None:
    (started / "policies" / "data.yaml").write_text("settings: {bash: {destructive: {rm: null}}}\n")
    ended = run("policy", "check", "--config", started / "interlock.yaml")
    assert ended.exit_code == 2
    assert (
        "policies/data.yaml:1: bash.destructive: takes rm away; an overlay may only make settings stricter"
        in ended.stderr
    )
