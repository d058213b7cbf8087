"""What an explanation says: rules that fired, rules that one condition kept from firing, and what they looked at."""

import json
from pathlib import Path
from typing import Any

import pytest
from engine_bundles import bundle
from interlock_gateway.core.jsonvalue import JsonObject
from interlock_gateway.policy.bundle import PolicyBundle, make_bundle
from interlock_gateway.policy.cases import load_cases
from interlock_gateway.policy.checks.syntax import RegoFile, parse
from interlock_gateway.policy.explain.bodies import conditions
from interlock_gateway.policy.explain.evaluate import explain_here
from interlock_gateway.policy.explain.report import (
    FiredRule,
    NearRule,
    Report,
    SettingRead,
    read_report,
    setting_path,
)
from interlock_gateway.policy.inspection import InspectionError, explain
from interlock_gateway.policy.loader import load_bundle, shipped_policies

pytestmark = pytest.mark.req("LIFE-2")

CASES = Path(__file__).parents[2] / "cases"
HEAD = 'findings contains {"verdict": "deny", "code": "c", "message": "m", "rule": "x/rule"} if'


# What main.rego itself says of several findings, or of none.
NOT_OF_RULES = {"no_rule_allows", "malformed_finding", "no_common_approver", "conflicting_changes"}


def of(body: str, given: dict[str, Any], *, rest: str = "", settings: JsonObject | None = None) -> Report:
    """An explanation by one rule with this body."""
    source = f"package interlock.rules\n\n# METADATA\n# title: The rule\n{HEAD} {{\n{body}\n}}\n\n{rest}\n"
    data: JsonObject = {"interlock": {"settings": settings or {}}}
    return explain(make_bundle({"rules/x/rule.rego": source}, data, profile="standard"), json.dumps(given))


def fired(report: Report) -> FiredRule:
    (found,) = report.fired
    return found


def near(report: Report) -> NearRule:
    (found,) = report.near
    return found


def failing(report: Report) -> list[str]:
    return [one.text for one in near(report).failing]


def values(report: Report) -> dict[str, Any]:
    return {one["name"]: one.get("value") for one in near(report).failing[0].values}


def statements(texts: list[str]) -> int:
    """How many conditions a body of these texts has; none when it cannot be read."""
    lines = "\n".join(f"\t{text}" for text in texts)
    read = parse("again.rego", f"package again\n\nr if {{\n{lines}\n}}\n")
    return len(read.rules[0].node["Spec"]["bodies"][0]["query"]["stmts"]) if isinstance(read, RegoFile) else 0


def test_a_rule_that_fired_has_its_title_place_and_findings() -> None:
    found = fired(of("\tinput.a == 1\n\tinput.b == 2", {"a": 1, "b": 2}))
    assert (found.rule, found.title, found.place) == ("x/rule", "The rule", "rules/x/rule.rego:5")
    assert [one["verdict"] for one in found.findings] == ["deny"]


def test_the_one_condition_that_fails_is_named_with_its_place_and_what_it_saw() -> None:
    report = of("\tinput.a == 1\n\tinput.b == 2", {"a": 1, "b": 3})
    assert not report.fired
    assert failing(report) == ["input.b == 2"]
    assert near(report).failing[0].place == "rules/x/rule.rego:7"
    assert values(report) == {"input.b": 3}
    assert (near(report).verdict, near(report).code) == ("deny", "c")


def test_a_field_that_is_not_there_is_said_to_be_missing() -> None:
    report = of("\tinput.a == 1\n\tinput.b == 2", {"a": 1})
    assert near(report).failing[0].values == ({"name": "input.b", "fails": False, "others": 0},)


@pytest.mark.parametrize("given", [{"a": 0, "b": 0}, {}])
def test_a_rule_with_two_conditions_that_fail_is_not_near(given: dict[str, Any]) -> None:
    assert not of("\tinput.a == 1\n\tinput.b == 2", given).near


def test_a_rule_of_which_nothing_holds_is_not_near() -> None:
    assert not of("\tinput.a == 1", {"a": 0}).near


def test_a_helper_that_fails_is_followed_to_the_condition_in_it() -> None:
    rest = 'helper if {\n\tinput.b == 2\n\tinput.c == "x"\n}'
    report = of("\tinput.a == 1\n\thelper", {"a": 1, "b": 2, "c": "y"}, rest=rest)
    (found,) = near(report).failing
    assert found.text == 'input.c == "x"'
    assert found.via == ("helper",)


def test_each_way_in_which_a_helper_could_hold_is_named() -> None:
    rest = "helper if {\n\tinput.b == 2\n\tinput.c == 3\n}\n\nhelper if {\n\tinput.b == 2\n\tinput.d == 4\n}"
    report = of("\tinput.a == 1\n\thelper", {"a": 1, "b": 2}, rest=rest)
    assert failing(report) == ["input.c == 3", "input.d == 4"]


def test_a_negated_helper_that_holds_shows_why_it_does() -> None:
    report = of("\tinput.a == 1\n\tnot helper", {"a": 1, "b": 2}, rest="helper if input.b == 2")
    assert failing(report) == ["not helper"]
    assert values(report) == {"input.b": 2}


def test_a_condition_on_a_variable_shows_what_the_variable_was() -> None:
    report = of("\tsome item in input.items\n\titem.size > 10", {"items": [{"size": 1}, {"size": 2}]})
    assert failing(report) == ["item.size > 10"]
    (first, *_) = near(report).failing[0].values
    assert (first["name"], first["value"], first["others"]) == ("item", {"size": 1}, 1)


def test_a_condition_that_binds_a_variable_fails_only_when_it_does_itself() -> None:
    body = "\tinput.a == 1\n\tx := input.b\n\tx > 10"
    assert failing(of(body, {"a": 1, "b": 5})) == ["x > 10"]
    assert failing(of(body, {"a": 1})) == ["x := input.b"]


def test_of_every_the_elements_are_shown_for_which_it_does_not_hold() -> None:
    body = "\tinput.a == 1\n\tevery item in input.items {\n\t\titem.ok == true\n\t}"
    report = of(body, {"a": 1, "items": [{"ok": True}, {"ok": False}]})
    (first, *_) = near(report).failing[0].values
    assert (first["value"], first["fails"]) == ({"ok": False}, True)


def test_settings_that_were_read_are_shown_with_their_values() -> None:
    settings: JsonObject = {"x": {"limit": 5, "names": {f"n{number}": True for number in range(300)}}}
    body = "\tinput.size > data.interlock.settings.x.limit\n\tlisted"
    rest = "listed if data.interlock.settings.x.names[input.name]"
    found = fired(of(body, {"size": 9, "name": "n123"}, rest=rest, settings=settings)).settings
    assert [(one.name, one.value, one.entries, one.matched) for one in found] == [
        ("x.limit", 5, None, None),
        ("x.names", None, 300, "n123"),
    ]


def read(body: str, given: dict[str, Any], settings: JsonObject, rest: str = "") -> dict[str, SettingRead]:
    """The settings that made a rule fire, by their full names."""
    return {setting_path(one): one for one in fired(of(body, given, rest=rest, settings=settings)).telling}


def test_a_number_that_made_a_rule_fire_comes_with_the_nearest_that_would_not() -> None:
    at_most = read("\tinput.size > data.interlock.settings.x.limit", {"size": 9}, {"x": {"limit": 5}})
    assert at_most["x.limit"].needed == 9
    at_least = read("\tinput.size < data.interlock.settings.x.limit", {"size": 9}, {"x": {"limit": 500}})
    assert at_least["x.limit"].needed == 9


def test_a_setting_that_made_no_difference_is_read_and_is_not_why() -> None:
    body = "\tinput.size > data.interlock.settings.x.limit\n\tdata.interlock.settings.x.word != input.word"
    settings: JsonObject = {"x": {"limit": 5, "word": "allow", "flag": True}}
    rest = "other if data.interlock.settings.x.flag"
    assert set(read(body, {"size": 9, "word": "never"}, settings, rest)) == {"x.limit"}
    report = of(body, {"size": 9, "word": "never"}, settings=settings)
    assert {one.name: one.decides for one in fired(report).settings} == {"x.limit": True, "x.word": False}


def test_what_made_a_rule_fire_is_followed_into_the_setting() -> None:
    settings: JsonObject = {"x": {"limits": {"a tool": {"hour": 5, "day": 50}, "other": {"hour": 1}}}}
    rest = "limits := data.interlock.settings.x.limits[input.tool]"
    body = "\tsome window, most in limits\n\tinput.calls[window] > most"
    (found,) = read(body, {"tool": "a tool", "calls": {"hour": 7, "day": 7}}, settings, rest).items()
    assert (found[0], found[1].at, found[1].needed) == ('x.limits["a tool"].hour', 5, 7)


def test_each_entry_that_is_enough_by_itself_is_named() -> None:
    settings: JsonObject = {"x": {"names": {f"n{number}": {} for number in range(40)}}}
    body = "\tsome name in input.names\n\tdata.interlock.settings.x.names[name]"
    assert set(read(body, {"names": ["n3", "n30", "m"]}, settings)) == {"x.names.n3"}
    counted = "\tsaid := [name | some name in input.names; data.interlock.settings.x.names[name]]\n\tcount(said) > 0"
    message = HEAD.replace('"m"', 'concat(",", said)')
    source = f"package interlock.rules\n\n{message} {{\n{counted}\n}}\n"
    data: JsonObject = {"interlock": {"settings": settings}}
    made = make_bundle({"rules/x/rule.rego": source}, data, profile="standard")
    report = explain(made, '{"names": ["n3", "n30", "m"]}')
    assert [setting_path(one) for one in fired(report).telling] == ["x.names.n3", "x.names.n30"]


def test_a_rule_that_its_own_verdict_switches_off_says_so() -> None:
    head = HEAD.replace('"deny"', "data.interlock.settings.x.verdict")
    source = f'package interlock.rules\n\n{head} {{\n\tinput.a\n\tdata.interlock.settings.x.verdict != "allow"\n}}\n'
    data: JsonObject = {"interlock": {"settings": {"x": {"verdict": "allow"}}}}
    made = make_bundle({"rules/x/rule.rego": source}, data, profile="standard")
    assert near(explain(made, '{"a": true}')).off
    assert not near(of("\tinput.a\n\tinput.b", {"a": 1})).off


def test_a_gate_with_a_variable_of_its_own_is_open_when_it_is() -> None:
    rule = HEAD.replace("findings", "some_findings", 1)
    source = "package interlock.rules\n\nfindings contains finding if {\n\tsome one in data.interlock.settings.x\n"
    source += f"\tone != {{}}\n\tsome finding in some_findings\n}}\n\n{rule} {{\n\tinput.a == 1\n}}\n"

    def report(settings: JsonObject) -> Report:
        data: JsonObject = {"interlock": {"settings": settings}}
        return explain(make_bundle({"rules/x/rule.rego": source}, data, profile="standard"), '{"a": 1}')

    assert fired(report({"x": {"one": {}, "two": {"b": 1}}})).place == "rules/x/rule.rego:9"
    closed = report({"x": {"one": {}, "two": {}}})
    assert not closed.fired


def test_a_list_that_keeps_a_rule_from_firing_has_no_entry_that_matched() -> None:
    settings: JsonObject = {"x": {"allowed": [f"n{number}" for number in range(50)]}}
    report = of("\tnot listed", {"name": "other"}, settings=settings,
                rest="listed if input.name in data.interlock.settings.x.allowed")  # fmt: skip
    (setting,) = fired(report).settings
    assert (setting.entries, setting.matched) == (50, None)


def test_a_rule_behind_a_gate_is_explained_by_the_gate_that_is_closed() -> None:
    rule = HEAD.replace("findings", "some_findings", 1)
    source = "package interlock.rules\n\nfindings contains finding if {\n\tinput.asked == true\n"
    source += f"\tsome finding in some_findings\n}}\n\n{rule} {{\n\tinput.a == 1\n\tinput.b == 2\n}}\n"
    made = make_bundle({"rules/x/rule.rego": source}, {}, profile="standard")
    closed = explain(made, '{"a": 1, "b": 2, "asked": false}')
    assert not closed.fired
    assert failing(closed) == ["input.asked == true"]
    assert fired(explain(made, '{"a": 1, "b": 2, "asked": true}')).rule == "x/rule"


@pytest.mark.parametrize(
    "condition",
    [
        'input.b == "two"',
        '"two" == input.b',
        "input.b in {`two`, `three`}",
        'input.items["key"]',
        'not input.other["b"]  # "why", it says',
        'startswith(input.b, "t")',
        '{"a": 1}.a == input.one',
        "input.a == 1; input.b != `x`",
    ],
)
def test_conditions_are_taken_as_they_are_written(condition: str) -> None:
    given = {"a": 1, "b": "two", "one": 1, "items": {"key": True}}
    assert fired(of(f"\t{condition}\n\tinput.a == 1", given))
    assert failing(of(f"\tinput.a == 1\n\t{condition}\n\tinput.no", given)) == ["input.no"]


def test_every_condition_of_the_shipped_policies_is_valid_rego_by_itself() -> None:
    broken = []
    for path in shipped_policies().rglob("*.rego"):
        file = parse(path.name, path.read_text())
        assert isinstance(file, RegoFile)
        for rule in file.rules:
            for body in rule.node.get("Spec", {}).get("bodies", []):
                texts = [one.text for one in conditions(file, body["query"])]
                if texts and statements(texts) != len(texts):
                    broken.append(f"{path}:{rule.line}")
    assert not broken


def test_what_fired_is_what_decided_in_every_decision_case() -> None:
    shipped = load_bundle()
    usual = [case for case in load_cases(CASES) if case.file.profile == "standard" and not case.file.settings]
    for case in usual[::15]:
        report = read_report(explain_here(shipped, case.input_json.decode()))
        codes = {finding.get("code") for rule in report.fired for finding in rule.findings}
        assert set(case.file.expect.codes or ()) <= codes | NOT_OF_RULES, case.name
        assert not {rule.rule for rule in report.fired if rule.place} & {rule.rule for rule in report.near}, case.name


def test_what_is_no_finding_is_left_out_of_those_that_were_heard() -> None:
    finding = {"verdict": "deny", "rule": "x/rule"}
    source = f'package interlock.rules\n\nfindings contains {json.dumps(finding)}\n\nfindings contains "allow"\n'
    main = "package interlock\n\nfindings := data.interlock.rules.findings\n"
    report = explain(make_bundle({"rules/x/rule.rego": source, "main.rego": main}, {}, profile="standard"), "{}")
    assert report.heard == (finding,)
    assert [one.findings for one in report.fired] == [(finding,)]


def test_policies_that_never_end_are_not_waited_for() -> None:
    looping = f"{HEAD} {{\n\tcount([1 | some a in r; some b in r; some c in r; a * b == c]) > 0\n}}\n\n"
    made = make_bundle(
        {"rules/x/rule.rego": f"package interlock.rules\n\n{looping}r := numbers.range(1, 3000)\n"},
        {},
        profile="standard",
    )
    with pytest.raises(InspectionError, match="took more than"):
        explain(made, "{}", timeout_s=1.0)


def test_policies_without_rules_have_nothing_to_say() -> None:
    bare: PolicyBundle = bundle('package interlock\n\ndecision := {"verdict": "allow"}\n')
    assert explain(bare, "{}") == Report()
