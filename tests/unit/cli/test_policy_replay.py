"""`interlock policy replay`: what would change, for a reviewer and for CI."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from command_runs import run, run_json
from interlock_gateway.policy.loader import load_bundle
from receipts_on_disk import RecordedCall, write_receipts

pytestmark = pytest.mark.req("LIFE-6")

NOTE = {"name": "note", "metadata": {"read_only": False}}
LOOK = {"name": "look", "metadata": {"read_only": True}}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the shipped policies decided about three notes, two looks and a tool that nobody knows."""
    shipped = load_bundle()
    notes = [RecordedCall(f"note-{n}", NOTE, {"text": "x"}, shipped, time=1.78e9 + 86_400 * n) for n in range(3)]
    looks = [RecordedCall(f"look-{n}", LOOK, {}, shipped, principal="agent-2") for n in range(2)]
    return write_receipts(tmp_path_factory.mktemp("state"), [*notes, *looks])


@pytest.fixture
def receipts(recorded: Path, tmp_path: Path) -> Path:
    """A copy of them, and of the keys beside them."""
    shutil.copytree(recorded.parent, tmp_path, dirs_exist_ok=True)
    return tmp_path / recorded.name


def replayed(receipts: Path, *arguments: str | Path, code: int) -> Any:
    return run_json("policy", "replay", "--audit-dir", receipts, "--processes", "1", *arguments, code=code)


def test_nothing_changes_under_the_same_policies(receipts: Path) -> None:
    found = replayed(receipts, "--profile", "standard", code=0)
    assert (found["decisions"], found["changes"]) == (5, [])


def test_what_would_be_stricter_is_told_by_rule_tool_and_principal(receipts: Path) -> None:
    found = replayed(receipts, "--profile", "strict", code=1)
    assert found["changed"] == {"loosened": 0, "tightened": 3, "failed": 0, "other": 0}
    (change,) = found["changes"]
    assert (change["before"], change["after"], change["decisions"]) == ("allow", "checkpoint", 3)
    assert [one["decision_id"] for one in change["examples"]] == ["note-0", "note-1", "note-2"]
    assert found["tools"] == {"note": {"tightened": 3}, "look": {"same": 2}}
    assert found["principals"] == {"agent-1": {"tightened": 3}, "agent-2": {"same": 2}}


def test_people_see_a_table_they_can_decide_from(receipts: Path) -> None:
    ended = run("policy", "replay", "--audit-dir", receipts, "--profile", "strict")
    assert ended.exit_code == 1
    assert "5 replayed; 3 tightened would change" in ended.stdout
    assert "60.0%" in ended.stdout
    assert "tightened, allow to checkpoint:\n  note-0\n    note by agent-1: x\n  note-1\n" in ended.stdout
    assert "by tool:" in ended.stdout


@pytest.mark.parametrize(("fail_on", "code"), [("changed", 1), ("loosened", 0), ("nothing", 0)])
def test_the_exit_code_says_what_it_was_asked_to(receipts: Path, fail_on: str, code: int) -> None:
    replayed(receipts, "--profile", "strict", "--fail-on", fail_on, code=code)


def test_what_would_be_looser_comes_first_and_is_marked(tmp_path: Path) -> None:
    strict = load_bundle(profile="strict")
    calls = [
        RecordedCall("note", NOTE, {"text": "x"}, strict),
        RecordedCall("look", LOOK, {}, strict, verdict="allow"),
    ]
    receipts = write_receipts(tmp_path, calls)
    found = replayed(receipts, "--profile", "standard", "--fail-on", "loosened", code=1)
    assert [one["direction"] for one in found["changes"]] == ["loosened", "other"]
    shown = run("policy", "replay", "--audit-dir", receipts, "--profile", "standard").stdout
    assert "! loosened" in shown


def test_a_setting_that_changes_a_verdict_names_the_rule_that_gives_it(receipts: Path, tmp_path: Path) -> None:
    (tmp_path / "house").mkdir()
    (tmp_path / "house" / "data.yaml").write_text("settings: {generic: {unguarded_change: checkpoint}}\n")
    ended = run("policy", "replay", "--audit-dir", receipts, "--overlay", tmp_path / "house")
    assert "~ generic/unguarded" in ended.stdout


SPINNING = """package interlock.custom

findings contains {"verdict": "none", "code": "x", "message": "m", "rule": "custom/x"} if {
	some finding in [1, 2]
	some other in [input.tool.name, input.call.id]
	to_number(other) == finding
}
"""


def test_a_denial_stays_one_when_the_candidate_fails(tmp_path: Path) -> None:
    shipped = load_bundle()
    danger = {"name": "bash", "metadata": {"destructive": True, "permission_class": "bash"}}
    receipts = write_receipts(tmp_path, [RecordedCall("d", danger, {"command": "rm -rf /"}, shipped)])
    house = tmp_path / "house" / "custom"
    house.mkdir(parents=True)
    (house / "x.rego").write_text(SPINNING)
    found = replayed(receipts, "--overlay", house.parent, "--fail-on", "loosened", code=0)
    assert found["changed"] == {"loosened": 0, "tightened": 0, "failed": 1, "other": 0}


def test_an_overlay_is_tried_in_place_of_the_configured_ones(receipts: Path, tmp_path: Path) -> None:
    overlay = tmp_path / "house"
    overlay.mkdir()
    (overlay / "data.yaml").write_text("settings: {generic: {unguarded_change: checkpoint}}\n")
    for arguments in (("--against", overlay), ("--overlay", overlay)):
        assert replayed(receipts, *arguments, code=1)["changed"]["tightened"] == 3


def test_a_bundle_is_tried_as_it_is(receipts: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "policy.tar.gz"
    built = run("policy", "bundle", "build", "--profile", "strict", "--out", bundle)
    assert built.exit_code == 0, built.output
    assert replayed(receipts, "--against", bundle, code=1)["changed"]["tightened"] == 3


def test_a_period_is_a_part_of_it(receipts: Path) -> None:
    assert replayed(receipts, "--profile", "strict", "--since", "2026-05-29", code=1)["decisions"] == 2
    assert replayed(receipts, "--profile", "strict", "--until", "2026-05-28", code=6)["decisions"] == 0


@pytest.mark.parametrize(
    ("since", "decisions"),
    [("2026", 5), ("2026-05", 5), ("2026-05-29T00:00Z", 2), ("2026-05-30T22:26:40+02:00", 1),
     ("2026-05-30T22:26:41+02:00", 0), ("2026-05-30T18:26:40-02:00", 1), ("2026-05-30t20:26:40.000z", 1)],
)  # fmt: skip
def test_times_are_beginnings_and_offsets_are_converted(receipts: Path, since: str, decisions: int) -> None:
    code = 1 if decisions else 6
    assert replayed(receipts, "--profile", "strict", "--since", since, code=code)["decisions"] == decisions


@pytest.mark.parametrize(
    "bad",
    ["yesterday", "23.11.2026", "2026-13-01", "2026-02-30", "2026-1-1", "2026-11-23T25:00", "2026-11-23T03:00:00+2",
     "2026-11-23T03:00+24:00", "0001-01-01T00:00+02:00", "2026-11-23Z", " 2026", "\u0662026"],
)  # fmt: skip
@pytest.mark.parametrize("option", ["--since", "--until"])
def test_what_is_no_time_is_told_with_what_is_wanted(receipts: Path, option: str, bad: str) -> None:
    ended = run("policy", "replay", "--audit-dir", receipts, "--profile", "strict", option, bad)
    assert ended.exit_code == 2
    assert f"{option} {bad} is no such time; wanted is a time as RFC 3339" in ended.stderr


def test_a_period_that_ends_before_it_begins_is_refused(receipts: Path) -> None:
    arguments = ("policy", "replay", "--audit-dir", receipts, "--profile", "strict")
    ended = run(*arguments, "--since", "2026-05-29", "--until", "2026-05-29T01:00+02:00")
    assert ended.exit_code == 2
    assert "nothing can lie between them" in ended.stderr


@pytest.mark.parametrize(("fail_on", "code"), [("changed", 6), ("loosened", 6), ("nothing", 0)])
def test_nothing_replayed_is_no_all_clear(tmp_path: Path, fail_on: str, code: int) -> None:
    ended = run("policy", "replay", "--audit-dir", tmp_path, "--profile", "strict", "--fail-on", fail_on)
    assert ended.exit_code == code
    assert "no decision was replayed, so nothing is known" in ended.stdout
    assert "would change" not in ended.stdout


def test_receipts_that_were_changed_are_not_replayed_when_they_are_to_be_verified(
    receipts: Path, tmp_path: Path
) -> None:
    home = {"INTERLOCK__STATE__DIR": str(tmp_path)}
    arguments = ("policy", "replay", "--audit-dir", receipts, "--profile", "standard", "--verify")
    assert run(*arguments, env=home).exit_code == 0
    (segment,) = receipts.glob("receipts-*")
    segment.write_bytes(segment.read_bytes().replace(b'"tool":"look"', b'"tool":"loop"'))
    ended = run(*arguments, env=home)
    assert ended.exit_code == 1
    assert "the receipts are not what was written" in ended.stderr


def test_nothing_is_replayed_without_policies_to_try_or_without_receipts(receipts: Path, tmp_path: Path) -> None:
    assert run("policy", "replay", "--audit-dir", receipts).exit_code == 2
    assert run("policy", "replay", "--audit-dir", tmp_path / "none", "--profile", "strict").exit_code == 2
    assert run("policy", "replay", "--audit-dir", receipts, "--against", tmp_path / "none").exit_code == 2
