"""Policies decide the same with their rules where their names stand, also about what no gateway sends (ENG-2)."""

import json
from pathlib import Path

import pytest
import regorus
from input_generator import InputGenerator
from interlock_gateway.policy.bundle import DECISION_RULE
from interlock_gateway.policy.cases import load_cases
from interlock_gateway.policy.document import input_schema
from interlock_gateway.policy.embedded.linking import LinkedModule, link
from interlock_gateway.policy.embedded.prepared import prepared
from setting_variations import variations

CASES = Path(__file__).resolve().parents[1] / "cases"
POLICIES = 4
INPUTS_EACH = 150


def engine(modules: tuple[LinkedModule, ...], data_json: str) -> "regorus.Engine":
    made = regorus.Engine()
    for module in modules:
        made.add_policy(module.package, module.source)
    made.add_data_json(data_json)
    return made


def decided(one: "regorus.Engine", document: bytes) -> object:
    one.set_input_json(document.decode())
    try:
        return json.loads(one.eval_rule_as_json(DECISION_RULE))
    except RuntimeError:
        return "failed"


@pytest.mark.req("ENG-2", "PERF-4")
def test_prepared_policies_decide_as_they_are_written() -> None:
    cases = load_cases(CASES)
    generator = InputGenerator("inlined policies", input_schema(), [case.input_json for case in cases])
    verdicts: set[str] = set()
    for name, bundle in variations("inlined policies", cases, POLICIES):
        written = engine(link(bundle.modules), bundle.data_json)
        ready = engine(prepared(bundle.modules, bundle.data_json), bundle.data_json)
        for document in [*(case.input_json for case in cases), *(generator.make() for _ in range(INPUTS_EACH))]:
            expected = decided(written, document)
            assert decided(ready, document) == expected, (name, document)
            verdicts.add(str(expected["verdict"]) if isinstance(expected, dict) else "failed")
    assert verdicts >= {"allow", "checkpoint", "deny", "failed", "preview", "reflect"}
