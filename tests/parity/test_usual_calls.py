"""Rules that are passed over for calls with nothing unusual about them would have said nothing about these (POL-3).

The policies see in a few rules that a call is of the usual kind, and do not ask the many rules about what few calls
are. Here those are asked all the same, about the inputs that both engines are compared with.
"""

import json
from collections import Counter
from itertools import chain
from pathlib import Path

import pytest
import regorus
from input_generator import InputGenerator
from interlock_gateway.core.jsonvalue import JsonObject
from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.cases import load_cases
from interlock_gateway.policy.document import input_schema
from interlock_gateway.policy.embedded.linking import link
from interlock_gateway.policy.loader import read_bundle
from setting_variations import variations

CASES = Path(__file__).resolve().parents[1] / "cases"
POLICIES = 12
INPUTS_EACH = 150
# What is seen of a call, and the rules that are then passed over.
PASSED_OVER = {
    "data.interlock.rules.usually_declared": "data.interlock.rules.declared_findings",
    "data.interlock.rules.usual": "data.interlock.rules.unusual_findings",
    "data.interlock.rules.idle(data.interlock.settings)": "data.interlock.rules.asked_for_findings",
    "data.interlock.rules.nothing_to_mark": "data.interlock.rules.mark_findings",
    "data.interlock.rules.bash.tame": "data.interlock.rules.bash.hazard_findings",
}
# Settings that ship empty and that those rules are about.
CONFIGURED: tuple[JsonObject, ...] = (
    {"confidence": {"minimum_by_effect": {"read_only": 60, "mutating": 60}}},
    {"confidence": {"minimum_by_role": {"agent": 60}}},
    {"results": {"max_bytes_by_effect": {"read_only": 100}}},
    {"rate": {"calls": {"minute": 0}}},
    {"time": {"freezes": {"always": {"from": "2000-01-01T00:00:00Z", "until": "2999-01-01T00:00:00Z"}}}},
    {"redaction": {"by_class": {"": ["/a"]}}},
    {"sequence": {"rules": {"any": {"after": {}, "then": {}}}}},
    {"taint": {"by_class": {"": ["sensitive"], "bash": ["sensitive"]}}},
    {"bash": {"privilege": {"ls": {}, "git status": {}}}},
)
LOOKING = "package interlock.looking\n" + "".join(
    f'\npassed contains "{seen}" if {seen}\n\nhidden contains finding if {{\n\t{seen}\n\tsome finding in {rules}\n}}\n'
    for seen, rules in PASSED_OVER.items()
)


def looking(bundle: PolicyBundle) -> "regorus.Engine":
    engine = regorus.Engine()
    for module in link((*bundle.modules, ("looking.rego", LOOKING))):
        engine.add_policy(module.package, module.source)
    engine.add_data_json(bundle.data_json)
    return engine


@pytest.mark.req("POL-3", "PERF-4")
def test_no_rule_that_is_passed_over_would_have_said_anything() -> None:
    cases = load_cases(CASES)
    generator = InputGenerator("usual calls", input_schema(), [case.input_json for case in cases])
    passed: Counter[str] = Counter()
    configured = ((str(changes), read_bundle(changes=changes)) for changes in CONFIGURED)
    for name, bundle in chain(variations("usual calls", cases, POLICIES), configured):
        engine = looking(bundle)
        for document in [*(case.input_json for case in cases), *(generator.make() for _ in range(INPUTS_EACH))]:
            engine.set_input_json(document.decode())
            try:
                hidden = json.loads(engine.eval_rule_as_json("data.interlock.looking.hidden"))
            except RuntimeError:
                continue  # A field of a type that no gateway sends; the decision fails, too, and the call is denied.
            assert hidden == [], (name, document)
            passed.update(json.loads(engine.eval_rule_as_json("data.interlock.looking.passed")))
    assert passed.keys() == PASSED_OVER.keys()
    assert min(passed.values()) > 100, passed
