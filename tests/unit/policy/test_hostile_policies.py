"""Policies made to hang, crash or burst what looks at them: refused, within the time that a look may take (ENG-4)."""

import pytest
from interlock_gateway.policy import inspection
from interlock_gateway.policy.bundle import make_bundle
from interlock_gateway.policy.inspection import InspectionError, refuse_unsafe
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
