"""Policies made to hang, crash or burst what looks at them: refused, within the time that a look may take (ENG-4)."""

import sys
from pathlib import Path

import pytest
from interlock_gateway.policy import inspection
from interlock_gateway.policy.bundle import make_bundle
from interlock_gateway.policy.inspection import InspectionError, check, refuse_unsafe, run_rego_tests
from interlock_gateway.policy.settings import PolicySourceError

HEADER = "package interlock.custom\n\n"


@pytest.mark.req("ENG-4", "LIFE-3")
@pytest.mark.parametrize(
    "source",
    [
        pytest.param(f"{HEADER}x := {'[' * 20_000}{']' * 20_000}\n", id="nested a line long"),
        pytest.param(HEADER + "x := " + "[\n" * 20_000 + "]\n" * 20_000, id="nested over many lines"),
        pytest.param(HEADER + "x := " + "(\n" * 20_000 + "1" + ")\n" * 20_000, id="in many parentheses"),
        pytest.param(
            HEADER + "x := {y |\n" + "y := {y |\n" * 5_000 + "1" + "}\n" * 5_001, id="comprehensions in each other"
        ),
        pytest.param(HEADER + "x := " + "1 +\n" * 100_000 + "1\n", id="a sum without an end"),
        pytest.param(HEADER + "x := 1\n" * 200_000, id="too many rules"),
        pytest.param(f'{HEADER}x := "{"a" * 2_000_000}"\n', id="a line too long"),
        pytest.param(HEADER + "# filler\n" * 2_000_000, id="a file too long"),
        pytest.param(f"{HEADER}x := \0", id="a NUL"),
    ],
)
def test_what_cannot_be_read_is_refused_in_time(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspection, "CHECK_TIMEOUT_S", 20.0)
    with pytest.raises((PolicySourceError, InspectionError)):
        refuse_unsafe(make_bundle({"house/custom/hostile.rego": source}, {}, profile="standard"))


@pytest.mark.req("ENG-4", "LIFE-3")
def test_a_policy_that_would_burst_when_it_is_evaluated_is_not_evaluated_at_load() -> None:
    laughs = [f"x{n} := [x{n - 1}, x{n - 1}, x{n - 1}, x{n - 1}, x{n - 1}]" for n in range(1, 40)]
    source = HEADER + "\n\n".join(['x0 := "ha"', *laughs]) + "\n"
    refuse_unsafe(make_bundle({"house/custom/laughs.rego": source}, {}, profile="standard"))


@pytest.mark.req("ENG-4", "LIFE-3")
def test_whatever_looks_at_policies_sees_nothing_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interpreter, seen = tmp_path / "python", tmp_path / "seen"
    interpreter.write_text(f'#!/bin/sh\n/usr/bin/env > {seen}\nexec {sys.executable} "$@"\n', encoding="utf-8")
    interpreter.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(interpreter))
    monkeypatch.setenv("INTERLOCK_SECRET", "hunter2")
    assert check(make_bundle({"house/custom/own.rego": f"{HEADER}x := 1\n"}, {}, profile="standard")) is not None
    names = {line.partition("=")[0] for line in seen.read_text(encoding="utf-8").splitlines()}
    assert names <= {"PWD", "OLDPWD", "SHLVL", "_"}, "the shell's own"
    assert "PWD=/\n" in seen.read_text(encoding="utf-8")


@pytest.mark.req("LIFE-1", "LIFE-3")
def test_a_test_that_never_ends_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspection, "TEST_TIMEOUT_S", 5.0)
    loops = "test_loops if count([1 | some a in r; some b in r; some c in r; a * b == c]) > 0"
    source = f"package interlock.custom_test\n\ntest_ends if true\n\n{loops}\n\nr := numbers.range(1, 3000)\n"
    made = make_bundle({"house/custom/hostile_test.rego": source}, {}, profile="standard")
    with pytest.raises(
        InspectionError, match=r"more than 5 s; it stands at house/custom/hostile_test.rego:5: test_loops$"
    ):
        run_rego_tests(made)
