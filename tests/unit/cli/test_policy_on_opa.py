"""`interlock policy test --engine opa` and `policy eval --engine opa`: a real OPA is asked the same (ENG-2, LIFE-1)."""

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_runs import run, run_json
from interlock_gateway.policy.bundle import make_bundle
from interlock_gateway.policy.opa.program import OpaProgram, OpaProgramError, find_opa
from interlock_gateway.policy.trial import otherwise

CASE = """\
tool: {name: git_push, metadata: {read_only: true}}
call: {input: {branch: release}}
expect: {verdict: deny, codes: [protected_branch]}
"""
CALL = json.dumps({"tool": {"name": "look", "metadata": {"read_only": True}}, "input": {"x": 1}})


@pytest.fixture
def started(tmp_path: Path) -> Path:
    """What `init` wrote."""
    run_json("init", tmp_path)
    return tmp_path


@pytest.fixture
def opa(program: Callable[[str], Path]) -> OpaProgram:
    program("opa")
    return find_opa()


def pretending(directory: Path, script: str) -> dict[str, str]:
    """An environment in which `opa` is a script."""
    file = directory / "opa"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return {"PATH": f"{directory}:/usr/bin:/bin"}


@pytest.mark.req("ENG-2", "LIFE-1")
@pytest.mark.usefixtures("opa")
@pytest.mark.timeout(300)
def test_tests_and_cases_run_on_opa_too(started: Path) -> None:
    (started / "cases").mkdir()
    (started / "cases" / "release.yaml").write_text(CASE)
    tests = started / "policies" / "custom" / "protected_branch_test.rego"
    # OPA knows what the embedded engine leaves undefined; such a function is in no policy that is loaded.
    tests.write_text(tests.read_text() + "\ntest_only_opa_knows if {\n\trego.metadata.rule() == {}\n}\n")
    arguments = ("policy", "test", "--overlay", started / "policies", "--cases", started / "cases", "--engine", "opa")
    report = run_json(*arguments, code=1)
    assert report["opa"]
    assert len(report["results"]) > 300
    assert "release" in {one["name"] for one in report["results"]}
    failed = [one for one in report["results"] if one["message"]]
    assert [one["name"] for one in failed] == ["test_only_opa_knows"]
    assert failed[0]["message"].startswith("OPA: ok; the embedded engine: ")


@pytest.mark.req("ENG-2", "LIFE-2")
@pytest.mark.usefixtures("opa")
def test_a_call_is_decided_by_opa_too() -> None:
    shown = run_json("policy", "eval", CALL, "--engine", "opa")
    assert shown["opa"]["differs"] == ""
    assert shown["opa"]["decision"]["verdict"] == shown["decision"]["verdict"] == "allow"


@pytest.mark.req("ENG-2")
def test_one_input_that_opa_cannot_decide_does_not_keep_the_others_from_it(opa: OpaProgram) -> None:
    source = """package interlock

decision := {"verdict": "allow"} if input.a > 0

decision := {"verdict": "deny"} if input.a > 9

decision := {"verdict": input.b} if input.b
"""
    bundle = make_bundle({"main.rego": source}, {}, profile="standard")
    asked = [b'{"a":1}', b'{"a":10}', b'{"b":"deny"}', b"{}", b"7"]
    allow, deny = {"verdict": "allow"}, {"verdict": "deny"}
    assert opa.decide(bundle, asked) == [allow, None, deny, None, None]
    assert opa.decide(bundle, asked[1:2]) == [None]
    broken = make_bundle({"main.rego": "package interlock\n\ndecision := {"}, {}, profile="standard")
    with pytest.raises(OpaProgramError, match=r"rego_parse_error"):
        opa.decide(broken, asked)


def test_without_an_opa_it_is_said_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for command in (("test",), ("eval", CALL)):
        ended = run("policy", *command, "--engine", "opa", env={"PATH": str(tmp_path)})
        assert ended.exit_code == 2
        assert "the program opa is neither on PATH nor at .tools/bin/opa" in ended.output


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exit 1", "does not run"),
        ('[ "$1" = version ] && echo "Version: 9" || { echo broken >&2; exit 1; }', "ended with status 1: broken"),
        ('[ "$1" = version ] && echo "Version: 9" || echo none', "could not be asked"),
    ],
)
def test_an_opa_that_does_not_work_is_told(tmp_path: Path, script: str, said: str) -> None:
    ended = run("policy", "test", "--engine", "opa", env=pretending(tmp_path, script))
    assert ended.exit_code == 2
    assert said in ended.output


def test_an_opa_that_decides_otherwise_is_told_and_fails_the_command(tmp_path: Path) -> None:
    answer = {"result": [{"expressions": [{"value": {"0": {"verdict": "deny", "reasons": []}}}]}]}
    (tmp_path / "answer.json").write_text(json.dumps(answer))
    script = f'[ "$1" = version ] && echo "Version: 9" || cat {tmp_path}/answer.json'
    ended = run("policy", "eval", CALL, "--engine", "opa", env=pretending(tmp_path, script))
    assert ended.exit_code == 1
    assert "OPA 9 decides otherwise" in ended.output


def test_the_program_in_a_checkout_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".tools" / "bin").mkdir(parents=True)
    pretending(tmp_path / ".tools" / "bin", 'echo "Version: 9"')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.devnull)
    monkeypatch.chdir("/")
    with pytest.raises(OpaProgramError):
        find_opa()
    monkeypatch.chdir(tmp_path)
    found = find_opa()
    assert (found.path, found.version) == (tmp_path / ".tools" / "bin" / "opa", "9")


@pytest.mark.parametrize(
    ("ours", "theirs", "said"),
    [
        ({"a": 1}, {"a": 1}, ""),
        (None, None, ""),
        ({"a": 1}, None, "OPA decides nothing"),
        (None, {"a": 1}, "the embedded engine decides nothing"),
        ({"a": 1, "b": 2}, {"a": 2, "b": 2}, "a is 2, here 1"),
    ],
)
def test_differences_are_named(ours: Any, theirs: Any, said: str) -> None:
    assert otherwise(ours, theirs) == said
