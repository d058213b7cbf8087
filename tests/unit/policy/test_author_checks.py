"""What authors get wrong is found before a call is decided by it: types, contradictions, names (LIFE-1)."""

import json
from dataclasses import replace
from functools import cache

import pytest
from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.checks.checker import check_bundle
from interlock_gateway.policy.document import input_schema
from interlock_gateway.policy.loader import read_bundle
from test_checks import GOOD_TEST, with_body

FILE = "house/custom/friday.rego"


@cache
def shipped() -> PolicyBundle:
    return read_bundle()


def said_of(condition: str) -> list[str]:
    """What is said of the overlay's rule with this condition, which stands in its line 12."""
    modules = (*shipped().modules, (FILE, with_body(condition)))
    tests = (*shipped().tests, ("house/custom/friday_test.rego", GOOD_TEST))
    found = check_bundle(replace(shipped(), modules=tuple(sorted(modules)), tests=tuple(sorted(tests))), input_schema())
    return [f"{problem.line}: {problem.message} [{problem.code}]" for problem in found if problem.file == FILE]


@pytest.mark.req("LIFE-1")
@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ('input.call.input_bytes == "x"', "compares a number with a string by =="),
        ("input.call.time < 5", "compares a string with a number by <"),
        ("some x in input.tool.name", "iterates over a string"),
        ('"a" in input.tool.name', "looks with `in` into a string"),
        ('startswith(input.call.input_bytes, "a")', "gives startswith a number, which takes a string"),
        ('x := count(input.call.id)\n\tstartswith(x, "a")', "gives startswith a number, which takes a string"),
        ("input.call.id + 1 == 2", "calculates with a string"),
        ('input.principal.roles == {"a"}', "compares an array with a set"),
        ("some c in input.call.facts.bash.commands\n\tc.name == 5", "compares null or a string with a number"),
        ("every c in input.call.facts.bash.commands { c.flags == 5 }", "compares an array with a number"),
    ],
)
def test_values_of_a_wrong_type_are_found_with_their_line(condition: str, expected: str) -> None:
    found = said_of(condition)
    line = 12 + condition.count("\n")
    assert any(problem.startswith(f"{line}: {expected}") and "[type_mismatch]" in problem for problem in found), found


@pytest.mark.req("LIFE-1")
@pytest.mark.parametrize(
    "condition",
    [
        'input.call.input.anything == "x"',
        'input.session.labels.env == "prod"',
        "some c in input.call.facts.bash.commands\n\tc.name == null",
        'some c in input.call.facts.bash.commands\n\tsome f in c.flags\n\tstartswith(f, "-")',
        "input.call.confidence > 50",
        'x := input.call.input.n\n\tx == 1\n\tinput.tool.name == "b"',
        'x := input.tool.name\n\tx != "a"\n\tx != "b"',
        "input.call.input_bytes >= 5\n\tinput.call.input_bytes <= 5",
    ],
)
def test_what_can_be_is_let_through(condition: str) -> None:
    assert said_of(condition) == []


@pytest.mark.req("LIFE-1")
@pytest.mark.parametrize(
    "condition",
    [
        'x := input.tool.name\n\tx == "a"\n\tx == "b"',
        'input.tool.name in {"a", "b"}\n\tinput.tool.name == "c"',
        'input.tool.name == "a"\n\tinput.tool.name != "a"',
        'input.tool.name == "a"\n\tnot input.tool.name',
        "input.call.input_bytes > 10\n\tinput.call.input_bytes < 5",
        "input.call.input_bytes > 5\n\tinput.call.input_bytes <= 5",
        "5 > input.call.input_bytes\n\tinput.call.input_bytes > 5",
        'some c in input.call.facts.bash.commands\n\tc.name == "a"\n\tc.name == "b"',
        "count(input.call.facts.bash.commands) > 0\n\tcount(input.call.facts.file.arguments) > 0",
    ],
)
def test_conditions_that_exclude_each_other_are_found(condition: str) -> None:
    assert any("so the rule never fires" in one or "the rule never fires" in one for one in said_of(condition))


@pytest.mark.req("LIFE-1")
@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("input.principal.role", "the input has no role here; did you mean roles?"),
        ("some c in input.call.facts.bash.commands\n\tc.nmae", "the input has no nmae here; did you mean name?"),
        ("data.interlock.settings.bsh.x", "there is no setting bsh.x; did you mean bash?"),
        ("data.interlock.rules.reed_only", "did you mean read_only?"),
        ('stratswith(input.tool.name, "x")', "which policies may not use; did you mean startswith?"),
    ],
)
def test_a_name_that_there_is_not_is_answered_with_the_nearest(condition: str, expected: str) -> None:
    found = said_of(condition)
    assert any(expected in problem for problem in found), found


@pytest.mark.req("LIFE-1")
def test_a_setting_that_no_rule_reads_is_found() -> None:
    data = json.loads(shipped().data_json)
    data["interlock"]["settings"]["lonely"] = {"limit": 3}
    found = check_bundle(replace(shipped(), data_json=json.dumps(data)), input_schema())
    assert [str(problem) for problem in found if problem.code == "setting_unread" and "lonely" in problem.file] == [
        "settings/lonely/data.yaml:1: no rule reads the setting lonely.limit [setting_unread]"
    ]


@pytest.mark.req("LIFE-1", "CON-3")
def test_the_shipped_policies_have_no_problems() -> None:
    assert check_bundle(shipped(), input_schema()) == ()
