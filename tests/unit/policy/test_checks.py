"""Each thing that the checker finds, with the file and line where it stands (LIFE-1, ENG-5)."""

import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from interlock_gateway.policy.checks.builtin_list import allowed_builtins
from interlock_gateway.policy.checks.checker import check_bundle
from interlock_gateway.policy.document import input_schema
from interlock_gateway.policy.inspection import InspectionError, check, refuse_unsafe, run_rego_tests
from interlock_gateway.policy.loader import load_bundle, read_bundle
from interlock_gateway.policy.settings import PolicySourceError

GOOD = """package interlock.custom

# METADATA
# title: No Friday calls
# description: Nothing is called on Fridays.
findings contains {
	"verdict": "deny",
	"code": "friday",
	"message": "not on a Friday",
	"rule": "custom/friday",
} if {
	time.weekday(time.parse_rfc3339_ns(input.call.time)) == "Friday"
}
"""
GOOD_TEST = """package interlock.custom_test

test_friday_denies if {
	count(data.interlock.custom.findings) == 1 with input as {"call": {"time": "2026-01-02T00:00:00Z"}}
}

test_friday_is_silent_on_other_days if {
	count(data.interlock.custom.findings) == 0 with input as {"call": {"time": "2026-01-03T00:00:00Z"}}
}
"""


def overlay(tmp_path: Path, **files: str) -> Path:
    """An overlay directory with files in `custom/`; `a_test` stands for `a_test.rego`."""
    custom = tmp_path / "house" / "custom"
    custom.mkdir(parents=True, exist_ok=True)
    for name, source in files.items():
        (custom / f"{name}.rego").write_text(source, encoding="utf-8")
    return tmp_path / "house"


def problems(tmp_path: Path, **files: str) -> list[str]:
    bundle = read_bundle(overlays=[overlay(tmp_path, **files)])
    return [str(problem) for problem in check_bundle(bundle, input_schema())]


def with_body(condition: str, more: str = "") -> str:
    return GOOD.replace('time.weekday(time.parse_rfc3339_ns(input.call.time)) == "Friday"', condition) + more


@pytest.mark.req("LIFE-1", "POL-2")
def test_a_good_overlay_has_no_problems(tmp_path: Path) -> None:
    assert check(read_bundle(overlays=[overlay(tmp_path, friday=GOOD, friday_test=GOOD_TEST)])) == ()


@pytest.mark.req("LIFE-1")
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("package interlock.custom\n\nfindings contains {\n", "parse_error"),
        (GOOD.replace("# METADATA\n", ""), "friday.rego:5: the rule has no METADATA above it [metadata_missing]"),
        (
            GOOD.replace("# title: No Friday calls\n", ""),
            "friday.rego:5: the rule's METADATA has no title [metadata_missing]",
        ),
        (GOOD.replace('"deny"', '"forbid"'), "friday.rego:6: 'forbid' is no verdict"),
        (GOOD.replace('\t"code": "friday",\n', ""), "friday.rego:6: the finding has no code [finding_shape]"),
        (GOOD.replace('"friday"', '"Friday!"'), "friday.rego:6: the code 'Friday!' is not in lower case"),
        (GOOD.replace("custom/friday", "custom/thursday"), 'must be "custom/friday", after its place'),
        (with_body("input.call.weekday == 5"), "friday.rego:12: input.call.weekday: the input has no weekday here"),
        (with_body("input.call.facts.bash.commands[_].nam == 5"), "friday.rego:12: input.call.facts.bash.commands"),
        (with_body('input.tool.effect == "destroying"'), "friday.rego:12: input.tool.effect is never 'destroying'"),
        (with_body('input.tool.effect in {"read"}'), "friday.rego:12: input.tool.effect is never 'read'"),
        (with_body("false"), "friday.rego:12: the condition is always false, so the rule never fires [never_fires]"),
        (
            with_body("data.interlock.settings.bash.forbidden.x"),
            "friday.rego:12: there is no setting bash.forbidden.x [setting_unknown]",
        ),
        (
            with_body("data.interlock.rules.reed_only"),
            "friday.rego:12: there is no data.interlock.rules.reed_only; did you mean read_only?",
        ),
        (with_body("true", "\nunused if true\n"), "friday.rego:15: nothing uses unused, so it has no effect"),
        (with_body("http.send({}).ok"), "friday.rego:12: calls http.send, which policies may not use"),
        (with_body("whatever(1)"), "friday.rego:12: calls whatever, which policies may not use"),
        (with_body("a.b", "\na.b := 1\n"), "friday.rego:15: defines a.b; the embedded engine wants"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, source: str, expected: str) -> None:
    found = problems(tmp_path, friday=source, friday_test=GOOD_TEST)
    assert any(expected in problem for problem in found), found


@pytest.mark.req("LIFE-1", "POL-1")
def test_a_rule_without_a_test_is_a_problem(tmp_path: Path) -> None:
    assert problems(tmp_path, friday=GOOD) == [
        "house/custom/friday.rego:1: the rule has no test; it belongs in house/custom/friday_test.rego [test_missing]"
    ]


@pytest.mark.req("POL-1")
def test_a_rule_in_a_group_must_be_what_any_rule_must_be() -> None:
    bundle = load_bundle()
    sources = dict(bundle.modules)
    path = "rules/preview/required.rego"
    sources[path] = sources[path].replace("# METADATA\n", "").replace('"rule": "preview/required"', '"rule": "other"')
    found = check_bundle(replace(bundle, modules=tuple(sources.items())), input_schema())
    assert sorted(problem.code for problem in found if problem.file == path) == ["finding_shape", "metadata_missing"]


def test_a_name_taken_by_another_file_is_a_problem(tmp_path: Path) -> None:
    other = with_body("weekend", '\nweekend if input.tool.name == "x"\n').replace("custom/friday", "custom/other")
    first = with_body("weekend", '\nweekend if input.tool.name == "y"\n')
    found = problems(tmp_path, friday=first, other=other, friday_test=GOOD_TEST, other_test=GOOD_TEST)
    assert len(found) == 1
    assert found[0].startswith("house/custom/other.rego:15: weekend is defined in house/custom/friday.rego too")


@pytest.mark.req("ENG-5")
@pytest.mark.parametrize(
    "call",
    [
        'http.send({"method": "get", "url": "http://127.0.0.1"}).status_code == 200',
        "opa.runtime().env.HOME",
        "time.now_ns() > 0",
        'rand.intn("x", 10) > 5',
        'net.lookup_ip_addr("example.com")',
        'trace("x")',
        'uuid.rfc4122("x")',
        'io.jwt.decode("x")',
        "print(input)",
        "not http.send({})",
        'every x in [1] { http.send({"x": x}) }',
        "count({x | x := http.send({})}) == 0",
        '{"a": http.send({})}.a',
        "input.call.labels[http.send({}).x]",
    ],
)
def test_a_built_in_that_is_not_on_the_list_is_found_wherever_it_stands(tmp_path: Path, call: str) -> None:
    bundle = read_bundle(overlays=[overlay(tmp_path, friday=with_body(call))])
    found = [str(problem) for problem in check_bundle(bundle, input_schema(), safety_only=True)]
    assert [problem.split(",")[0].partition(": calls ")[0] for problem in found] == ["house/custom/friday.rego:12"]
    assert "builtin_refused" in found[0]


@pytest.mark.req("ENG-5")
def test_a_built_in_that_is_not_on_the_list_is_refused_at_load_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(PolicySourceError, match=r"^house/custom/friday\.rego:12: calls http\.send.*builtin_refused"):
        load_bundle(overlays=[overlay(tmp_path, friday=with_body("not http.send({})"))])


@pytest.mark.req("ENG-5")
def test_an_alias_does_not_hide_a_built_in(tmp_path: Path) -> None:
    source = "package interlock.custom\n\nfetch(x) := http.send(x)\n"
    with pytest.raises(PolicySourceError, match=r"friday\.rego:3: calls http\.send"):
        load_bundle(overlays=[overlay(tmp_path, friday=source)])


@pytest.mark.req("ENG-5")
def test_the_list_holds_nothing_that_reaches_outside() -> None:
    outside = {
        "http.send",
        "opa.runtime",
        "time.now_ns",
        "rand.intn",
        "uuid.rfc4122",
        "net.lookup_ip_addr",
        "trace",
        "print",
    }
    assert allowed_builtins() & outside == set()
    assert "startswith" in allowed_builtins()


def test_what_the_embedded_engine_would_misread_is_refused_at_load(tmp_path: Path) -> None:
    with pytest.raises(PolicySourceError, match=r"friday\.rego:15: defines a\.b"):
        load_bundle(overlays=[overlay(tmp_path, friday=with_body("a.b", "\na.b := 1\n"))])


def test_tests_of_an_overlay_run_beside_those_that_ship(tmp_path: Path) -> None:
    report = run_rego_tests(load_bundle(overlays=[overlay(tmp_path, friday=GOOD, friday_test=GOOD_TEST)]))
    assert report.passed
    assert {result.name for result in report.results if "custom" in result.file} == {
        "test_friday_denies",
        "test_friday_is_silent_on_other_days",
    }
    assert report.coverage == 1.0


def test_a_failing_test_is_reported_with_its_place(tmp_path: Path) -> None:
    wrong = GOOD_TEST.replace("== 1", "== 2")
    report = run_rego_tests(load_bundle(overlays=[overlay(tmp_path, friday=GOOD, friday_test=wrong)]))
    assert [
        (result.file, result.line, result.name, result.message) for result in report.results if not result.passed
    ] == [("house/custom/friday_test.rego", 3, "test_friday_denies", "is not true")]


def test_lines_that_no_test_reaches_are_listed(tmp_path: Path) -> None:
    lazy = "package interlock.custom_test\n\ntest_nothing if true\n"
    report = run_rego_tests(load_bundle(overlays=[overlay(tmp_path, friday=GOOD, friday_test=lazy)]))
    # The finding; its condition is looked at by every shipped test that asks for a whole decision at some time.
    assert report.not_covered == {"house/custom/friday.rego": (6, 7, 8, 9, 10)}
    assert report.coverage < 1.0


@pytest.mark.req("ENG-4")
def test_policies_that_crash_the_process_that_looks_at_them_are_an_error_and_nothing_more(tmp_path: Path) -> None:
    endless = "package interlock.custom\n\nendless(n) := endless(n + 1)\n\nfindings contains endless(0)\n"
    test = "package interlock.custom_test\n\ntest_endless if endless := data.interlock.custom.findings\n"
    bundle = read_bundle(overlays=[overlay(tmp_path, friday=endless, friday_test=test)])
    with pytest.raises(InspectionError, match="ended with status"):
        run_rego_tests(bundle)


def test_the_shipped_policies_are_safe_to_load() -> None:
    refuse_unsafe(read_bundle())


def test_policies_that_nobody_is_left_to_wait_for_are_looked_at_no_longer_than_allowed() -> None:
    command = [sys.executable, "-I", "-m", "interlock_gateway.policy.inspection", "check", "0.1"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        # It waits for its input, which stays open: as good as policies that never end.
        assert process.wait(30) == -signal.SIGALRM


@pytest.mark.req("LIFE-1", "ENG-2")
@pytest.mark.parametrize("package", ["interlock.custom", "interlock.custom.friday"])
def test_a_rule_in_a_file_that_is_called_a_test_is_not_taken_for_one_that_decides(tmp_path: Path, package: str) -> None:
    both = GOOD.replace("interlock.custom", package) + GOOD_TEST.partition("\n")[2].replace("interlock.custom", package)
    found = problems(tmp_path, other=GOOD.replace("/friday", "/other"), other_test=GOOD_TEST, friday_test=both)
    place = "house/custom/friday_test.rego:1"
    said = f"is called a test, so no rule in it ever decides, and is in the package {package}, which does"
    assert found == [f"{place}: {said}; tests are in {package}_test [test_decides]"]
    with pytest.raises(PolicySourceError, match="test_decides"):
        load_bundle(overlays=[tmp_path / "house"])


@pytest.mark.req("LIFE-1")
@pytest.mark.parametrize(
    ("obligations", "problem"),
    [
        ('{"quorums": 2}', "there is no obligation quorums; did you mean quorum?"),
        ('{"quorum": 0}', "the obligation quorum is not a whole number of at least 1"),
        ('{"max_result_bytes": null}', "the obligation max_result_bytes is not a whole number of at least 1"),
        ('{"expires_s": "5"}', "the obligation expires_s is not a number of seconds above 0 and up to 2592000"),
        ('{"timeout_s": 1e9}', "the obligation timeout_s is not a number of seconds above 0 and up to 2592000"),
        ('{"approvers": "leads"}', "the obligation approvers is not a list of texts"),
        ('{"strip": ["a", 1]}', "the obligation strip is not a list of texts"),
        ('{"set": ["a"]}', "the obligation set is not an object of fields and values"),
        ('["quorum"]', "the obligations are not an object"),
    ],
)
def test_obligations_that_no_gateway_would_take_are_found(tmp_path: Path, obligations: str, problem: str) -> None:
    rule = GOOD.replace('"rule":', f'"obligations": {obligations},\n\t"rule":')
    found = problems(tmp_path, friday=rule, friday_test=GOOD_TEST)
    assert found == [f"house/custom/friday.rego:6: {problem} [finding_shape]"]


@pytest.mark.req("LIFE-1")
def test_obligations_that_are_right_or_known_only_at_run_time_are_left_alone(tmp_path: Path) -> None:
    right = '{"quorum": 2, "expires_s": 0.5, "approvers": ["a", input.tool.name], "strip": {"x"}, "set": {"a": null}}'
    for obligations in (right, "input.call.labels", '{"redact": [path | some path in input.session.taints]}'):
        rule = GOOD.replace('"rule":', f'"obligations": {obligations},\n\t"rule":')
        assert problems(tmp_path, friday=rule, friday_test=GOOD_TEST) == []


@pytest.mark.req("LIFE-1")
@pytest.mark.parametrize(
    ("condition", "problem"),
    [
        ("input.tool.safety_level == 3", "input.tool.safety_level is never 3; it is one of 0, 1, 2"),
        ("input.tool.safety_level > 2", "input.tool.safety_level is one of 0, 1, 2, so this never holds"),
        ("0 > input.tool.safety_level", "input.tool.safety_level is one of 0, 1, 2, so this never holds"),
    ],
)
def test_a_number_that_the_input_never_has_is_found(tmp_path: Path, condition: str, problem: str) -> None:
    found = problems(tmp_path, friday=with_body(condition), friday_test=GOOD_TEST)
    assert found == [f"house/custom/friday.rego:12: {problem} [never_fires]"]
    for holds in ("input.tool.safety_level == 2", "input.tool.safety_level >= 2", "2 > input.tool.safety_level"):
        assert problems(tmp_path, friday=with_body(holds), friday_test=GOOD_TEST) == []


@pytest.mark.req("LIFE-1")
def test_a_rule_that_was_meant_to_be_a_finding_is_told_what_makes_it_one(tmp_path: Path) -> None:
    misspelt = GOOD.replace("findings contains", "finding contains")
    elsewhere = GOOD.replace("package interlock.custom", "package interlock.custom.days").replace("/friday", "/other")
    found = problems(tmp_path, friday=misspelt, friday_test=GOOD_TEST, other=elsewhere, other_test=GOOD_TEST)
    assert (
        "house/custom/friday.rego:6: nothing uses finding, so it has no effect; did you mean findings? [rule_unused]"
        in found
    )
    words = "nothing uses findings, so it has no effect; findings are in the package interlock.custom [rule_unused]"
    assert f"house/custom/other.rego:6: {words}" in found


@pytest.mark.req("ENG-2", "LIFE-3")
@pytest.mark.parametrize(
    ("condition", "reads"),
    [
        ('data.interlock.decision.verdict == "deny"', "data.interlock.decision.verdict"),
        ("count(data.interlock.findings) > 3", "data.interlock.findings"),
        ('some name; data.interlock[name].code == "x"', "data.interlock[_].code"),
        ('data[input.tool.name].code == "x"', "data[_].code"),
        ('gateway.reasons_to({"deny"}) == []', "data.interlock.reasons_to"),
    ],
)
def test_a_rule_that_reads_what_is_made_from_it_is_refused(tmp_path: Path, condition: str, reads: str) -> None:
    source = with_body(condition).replace("custom\n", "custom\n\nimport data.interlock as gateway\n", 1)
    with pytest.raises(PolicySourceError, match=re.escape(f"reads {reads}, which is made from what this rule finds")):
        load_bundle(overlays=[overlay(tmp_path, friday=source, friday_test=GOOD_TEST)])


@pytest.mark.req("ENG-2")
def test_a_rule_may_read_what_shipped_rules_say_and_whether_people_have_approved(tmp_path: Path) -> None:
    source = with_body("count(data.interlock.rules.findings) > 3\n\tnot data.interlock.approved")
    assert problems(tmp_path, friday=source, friday_test=GOOD_TEST) == []
