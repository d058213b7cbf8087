"""The policies that ship: checked, tested, covered, and deciding as the cases say."""

import json
import re
from pathlib import Path

import pytest
from interlock_gateway.policy.cases import load_cases
from interlock_gateway.policy.inspection import check, run_rego_tests
from interlock_gateway.policy.loader import load_bundle, read_bundle, shipped_policies
from interlock_gateway.policy.trial import evaluate_once, run_cases

CASES = Path(__file__).parents[2] / "cases"
PROFILES = ("observe", "standard", "strict")


@pytest.mark.req("LIFE-1", "POL-1")
@pytest.mark.parametrize("profile", PROFILES)
def test_nothing_is_wrong_with_them(profile: str) -> None:
    assert [str(problem) for problem in check(read_bundle(profile=profile))] == []


@pytest.mark.req("LIFE-1", "POL-3")
def test_every_rego_test_passes_and_together_they_reach_every_line() -> None:
    report = run_rego_tests(read_bundle())
    assert [result for result in report.results if not result.passed] == []
    assert len(report.results) > 150
    assert report.not_covered == {}


@pytest.mark.req("CONF-1", "CONF-2", "CONF-3", "CONF-4", "CONF-5", "CONF-6", "CONF-7", "POL-5", "LIFE-1")
def test_every_case_is_decided_as_it_says() -> None:
    results = run_cases(CASES)
    assert len(results) >= 60
    assert [f"{result.name}: {result.message}" for result in results if not result.passed] == []


def test_every_reason_that_a_rule_gives_is_expected_by_some_case() -> None:
    given = {
        code for path in _rule_files() for code in re.findall(r'"code": "(\w+)"', path.read_text(encoding="utf-8"))
    }
    expected = {code for case in load_cases(CASES) for code in case.file.expect.codes or ()}
    assert given - expected == set()


def _rule_files() -> list[Path]:
    rules = shipped_policies() / "rules"
    return [path for path in rules.rglob("*.rego") if not path.name.endswith("_test.rego")]


@pytest.mark.req("POL-5")
def test_the_profiles_are_data_and_observe_alone_does_not_enforce() -> None:
    bundles = {profile: load_bundle(profile=profile) for profile in PROFILES}
    assert {name: bundle.enforced for name, bundle in bundles.items()} == {
        "observe": False,
        "standard": True,
        "strict": True,
    }
    assert len({bundle.revision for bundle in bundles.values()}) == 3
    for name, bundle in bundles.items():
        assert json.loads(bundle.data_json)["interlock"]["profile"] == name


@pytest.mark.req("POL-1")
def test_each_rule_has_its_test_beside_it() -> None:
    assert [path for path in _rule_files() if not path.with_name(f"{path.stem}_test.rego").is_file()] == []


def test_an_empty_input_is_denied() -> None:
    assert json.loads(evaluate_once(load_bundle(), b"{}"))["verdict"] == "deny"
