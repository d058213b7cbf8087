"""How the commands of `interlock policy` end when there is nothing to judge: with 2, and with JSON for programs."""

import json
from pathlib import Path

import pytest
from command_runs import run, run_json

pytestmark = pytest.mark.req("LIFE-1", "LIFE-2", "LIFE-6")
CALL = '{"tool": {"name": "look", "metadata": {"read_only": true}}}'
LOOSER = "settings: {bash: {destructive: {rm: null}}}\n"
COMMANDS = (("check",), ("test",), ("eval", CALL), ("explain", CALL), ("replay",))


@pytest.fixture
def looser(tmp_path: Path) -> Path:
    (tmp_path / "house").mkdir()
    (tmp_path / "house" / "data.yaml").write_text(LOOSER)
    return tmp_path / "house"


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_policies_that_do_not_load_end_with_2_and_are_json_for_programs(
    looser: Path, words: tuple[str, ...], tmp_path: Path
) -> None:
    more = ("--audit-dir", tmp_path) if words[0] == "replay" else ()
    shown = run_json("policy", *words, *more, "--overlay", looser, code=2)
    assert shown["ok"] is False
    (problem,) = shown["problems"]
    assert problem["file"].endswith("house/data.yaml")
    assert problem["message"].startswith("bash.destructive: takes rm away")
    assert run("policy", *words, *more, "--overlay", looser).exit_code == 2


def test_a_line_is_told_where_it_is_known(looser: Path) -> None:
    (looser / "data.yaml").write_text("settings: {}\nexemptions: [a: b: c]\n")
    shown = run_json("policy", "check", "--overlay", looser, code=2)
    assert (shown["problems"][0]["line"], shown["problems"][0]["code"]) == (2, "unreadable")


@pytest.mark.parametrize(
    "words",
    [
        ("eval", "@nofile"),
        ("explain", "@nofile"),
        ("replay", "--audit-dir", ".", "--profile", "strct"),
        ("bundle", "inspect", "nope.tgz"),
        ("bundle", "verify", "nope.tgz", "--key", "nokey"),
        ("bundle", "build", "nowhere", "--out", "b.tgz"),
        ("corpus", "nowhere"),
        ("test", "--cases", "nope"),
        ("check", "--config", "nope.yaml"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_what_is_not_there_ends_with_2(words: tuple[str, ...]) -> None:
    ended = run("policy", *words)
    assert ended.exit_code == 2, ended.output


def test_a_bundle_that_a_gateway_would_refuse_is_judged(tmp_path: Path) -> None:
    bundle, key = tmp_path / "b.tgz", tmp_path / "secret"
    assert run("policy", "bundle", "build", "--out", bundle).exit_code == 0
    key.write_text("x" * 64)
    ended = run("policy", "bundle", "verify", bundle, "--key", key, "--algorithm", "HS256")
    assert ended.exit_code == 1
    assert "sign" in ended.stderr


@pytest.mark.parametrize("name", ["", "file.txt", "case.yml", "case.json"])
def test_a_directory_in_which_no_case_is_found_passes_nothing(tmp_path: Path, name: str) -> None:
    cases = tmp_path / "cases"
    cases.mkdir()
    if name:
        (cases / name).write_text("")
    ended = run("policy", "test", "--cases", cases)
    assert ended.exit_code == 2, ended.output
    assert "decision cases" in ended.stderr


def test_the_number_of_cases_is_told(tmp_path: Path) -> None:
    (tmp_path / "look.yaml").write_text("tool: {metadata: {read_only: true}}\nexpect: {verdict: allow}\n")
    ended = run("policy", "test", "--cases", tmp_path, "--output", "json")
    assert ended.exit_code == 0, ended.output
    assert json.loads(ended.stdout)["cases"] == 1
    assert " tests and 1 cases, 0 failed" in run("policy", "test", "--cases", tmp_path).stdout


def test_all_unknown_settings_are_told_at_once(looser: Path) -> None:
    (looser / "data.yaml").write_text("settings: {bash: {destrctive: {}, rm: {}}, generik: {}, generic: {deni: 1}}")
    ended = run("policy", "check", "--overlay", looser)
    assert ended.exit_code == 2
    assert [line.partition("unknown setting ")[2] for line in ended.stderr.splitlines()] == [
        "bash.destrctive; did you mean destructive?",
        "bash.rm",
        "generik; did you mean generic?",
        "generic.deni",
    ]


BAD = """\
settings:
  bash:
    destructive: {rm: null, wipe: {}, kill: null}
    routine_verdict: 5
    package_managers_verdict: allow
    destrctive: {}
  confidence:
    minimum_by_effect: {destructive: 80}
    minimum_by_effect: {destructive: 90}
    minimum_by_role: {no: 50}
exemptions:
  - id: a
    rule: bash/destructiv
    scope: {tools: [x]}
    reason: r
    owner: o
    expires: "2027-01-31T00:00:00Z"
  - id: b
    rule: bash/other
    scope: {}
    reason: r
    expires: 2027-01-31
stray: 1
"""


def test_all_that_is_wrong_with_an_overlays_data_is_told_at_once_with_its_line(looser: Path) -> None:
    (looser / "data.yaml").write_text(BAD)
    found = run_json("policy", "check", "--overlay", looser, code=2)["problems"]
    assert {one["file"] for one in found} == {str(looser / "data.yaml")}
    assert [(one["line"], one["message"].partition(";")[0]) for one in found] == [
        (3, "bash.destructive: takes rm away"),
        (3, "bash.destructive: takes kill away"),
        (4, "bash.routine_verdict must be a string, not a number"),
        (5, "bash.package_managers_verdict: changes checkpoint to allow"),
        (6, "unknown setting bash.destrctive"),
        (9, "the key minimum_by_effect is there twice, and only the last would count"),
        (10, "the key no is read as False, which is not a string"),
        (12, "exemption a: there is no rule bash/destructiv"),
        (18, "exemption b: owner is missing"),
        (20, "exemption b: scope: covers every call"),
        (22, "2027-01-31 is not a JSON value"),
        (23, "unknown key stray"),
    ]
    assert sum("What is to be let through all the same" in one["message"] for one in found) == 1
    said = run("policy", "check", "--overlay", looser).stderr.splitlines()
    assert len(said) == len(found)
    assert all(
        f"{looser / 'data.yaml'}:{one['line']}: {one['message']}" in line for one, line in zip(found, said, strict=True)
    )


def test_several_overlays_are_told_of_together(looser: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "data.yaml").write_text("settings:\n  bash: {routine_verdict: 5}\n")
    found = run_json("policy", "check", "--overlay", looser, "--overlay", other, code=2)["problems"]
    assert [(Path(one["file"]).parent.name, one["line"]) for one in found] == [("house", 1), ("other", 2)]


def test_a_syntax_error_of_an_overlay_is_called_one_with_its_line(looser: Path) -> None:
    (looser / "data.yaml").unlink()
    (looser / "custom").mkdir()
    broken = looser / "custom" / "broken.rego"
    broken.write_text("package interlock.custom\n\nfindings contains if\n")
    shown = run_json("policy", "eval", CALL, "--overlay", looser, code=2)
    assert (shown["problems"][0]["file"], shown["problems"][0]["line"]) == ("house/custom/broken.rego", 3)
    assert shown["problems"][0]["message"].startswith("is not valid Rego: ")
    broken.write_text("findings contains if\n")
    shown = run_json("policy", "check", "--overlay", looser, code=2)
    assert (shown["problems"][0]["line"], shown["problems"][0]["file"]) == (1, "house/custom/broken.rego")
    assert shown["problems"][0]["message"].startswith("is not valid Rego: ")
