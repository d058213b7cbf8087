"""Whatever an overlay without exemptions says, no decision is weaker for it (POL-2): tried with generated ones.

Inputs are those of the decision cases, with parts of others put in and parts taken out. Overlays change settings by
their directions and at random, of which what is refused at load drops out, and bring findings of every kind.
"""

import json
import random
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import regorus
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from interlock_gateway.policy.bundle import DECISION_RULE, PolicyBundle
from interlock_gateway.policy.cases import load_cases
from interlock_gateway.policy.direction_files import read_directions
from interlock_gateway.policy.directions import (
    Conditions,
    Direction,
    Entries,
    Fixed,
    Free,
    Numbers,
    Truth,
    Words,
    refuse_looser,
)
from interlock_gateway.policy.embedded.linking import link
from interlock_gateway.policy.loader import read_bundle, read_settings, shipped_policies
from interlock_gateway.policy.settings import PolicySourceError, override

CASES = Path(__file__).parents[2] / "cases"
INPUTS_FOR_EACH = 30
STRICTNESS = {"allow": 0, "preview": 1, "checkpoint": 2, "reflect": 3, "deny": 4}
VERDICTS = [*STRICTNESS, "none", "allow", "malformed"]
OBLIGATIONS: dict[str, list[Any]] = {
    "strip": [["a"], ["_flyto_confidence"]],
    "redact": [["/a"], ["/b"]],
    "taint": [["seen"]],
    "max_result_bytes": [10, 10_000_000, None],
    "timeout_s": [1, 900, None],
    "expires_s": [5, 5000, None],
    "quorum": [1, 3, None],
    "approvers": [["leads"], ["leads", "others"]],
    "escalate_to": [["others"]],
    "escalate_after_s": [5, 500, None],
    "set": [{"a": 1}, {"a": 2}],
}
DIRECTIONS = read_directions(shipped_policies())


def engine_for(bundle: PolicyBundle, findings: list[Any] | None) -> "regorus.Engine":
    """The policies in this process: they are our own, and end."""
    made = regorus.Engine()
    made.set_rego_v0(False)
    for module in link(bundle.modules):
        made.add_policy(module.package, module.source)
    if findings is not None:
        found = "\n".join(f"findings contains {json.dumps(finding)}\n" for finding in findings)
        made.add_policy("custom", f"package interlock.custom\n\n{found or 'findings := set()'}\n")
    made.add_data_json(bundle.data_json)
    return made


def decided(engine: "regorus.Engine", document: Any) -> dict[str, Any]:
    engine.set_input_json(json.dumps(document))
    try:
        answer: dict[str, Any] = json.loads(engine.eval_rule_as_json(DECISION_RULE))
    except RuntimeError:
        return {"verdict": "deny", "obligations": {}}  # what the gateway makes of it
    return answer


@cache
def shipped(profile: str) -> "regorus.Engine":
    return engine_for(read_bundle(profile=profile), None)


@cache
def settings_of(profile: str) -> Mapping[str, Any]:
    return read_settings(profile)


@cache
def documents() -> tuple[Any, ...]:
    return tuple(json.loads(case.input_json) for case in load_cases(CASES))


@cache
def words() -> tuple[str, ...]:
    """What stands in the cases and the settings: names that a changed setting can have an effect with."""
    found: set[str] = set()

    def collect(value: Any) -> None:
        if isinstance(value, str) and len(value) < 60:
            found.add(value)
        for inner in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
            collect(inner)
        if isinstance(value, Mapping):
            found.update(value)

    collect([*documents(), settings_of("standard")])
    return tuple(sorted(found))


def an_input(chance: random.Random) -> Any:
    """The input of a case, with parts of another in place of its own, and at times without a field."""
    made = json.loads(json.dumps(chance.choice(documents())))
    other = chance.choice(documents())
    for part in ("principal", "session", "tool"):
        if part in other and chance.random() < 0.2:
            made[part] = other[part]
    if chance.random() < 0.15:
        made.get("call", {})["checkpoint"] = {"id": "c", "outcome": "approved", "approvers": []}
    if chance.random() < 0.2:
        node: Any = made
        while isinstance(node, dict) and node:
            name = chance.choice(sorted(node))
            if not isinstance(node[name], dict) or chance.random() < 0.3:
                del node[name]
                break
            node = node[name]
    return made


def a_change(chance: random.Random, direction: Direction | None, value: Any) -> Any:
    """Another value: often a stricter one, at times any."""
    made = value
    match direction:
        case Numbers():
            made = chance.choice([0, 1, 50, 99, 1e6, (value or 0) + chance.choice([-1, 1])])
        case Truth():
            made = chance.random() < 0.5
        case Words():
            made = chance.choice([*direction.order, "reflect"])
        case Entries():
            made = changed_entries(chance, direction, value)
        case Conditions():
            known = {**direction.fields, **direction.widened_by}
            name = chance.choice(sorted(known))
            made = {**(value or {}), name: a_change(chance, known[name], (value or {}).get(name))}
        case Fixed():
            made = {**(value if isinstance(value, dict) else {}), "verdict": chance.choice(VERDICTS), "tools": ["x"]}
    return made


def changed_entries(chance: random.Random, direction: Entries, value: Any) -> Any:
    names = chance.sample(words(), 3)
    if direction.inner is None and not isinstance(value, dict):
        kept = [name for name in value or [] if direction.more or chance.random() < 0.7]
        return [*kept, *(names if direction.more or chance.random() < 0.2 else [])]
    if chance.random() < 0.5 and value:
        name = chance.choice(sorted(value))
        return {name: a_change(chance, direction.inner, value[name]) if chance.random() < 0.7 else None}
    return {name: a_change(chance, direction.inner, None) for name in names}


def an_overlay(chance: random.Random, profile: str) -> tuple[dict[str, Any], list[Any]]:
    """Changed settings that are not refused, and findings of the operator's own."""
    before: dict[str, Any] = dict(settings_of(profile))
    changes: dict[str, Any] = {}
    for concern in chance.sample(sorted(DIRECTIONS), 5):
        name = chance.choice(sorted(DIRECTIONS[concern]))
        direction = DIRECTIONS[concern][name]
        if isinstance(direction, Free):
            continue
        change: dict[str, Any] = {concern: {name: a_change(chance, direction, before[concern][name])}}
        try:
            after: dict[str, Any] = dict(override(before, change, "generated"))
            refuse_looser(before, after, DIRECTIONS, "generated")
        except PolicySourceError:
            continue
        before, changes = after, {**changes, **change}
    findings = [a_finding(chance, number) for number in range(chance.randrange(4))]
    return changes, findings


def a_finding(chance: random.Random, number: int) -> Any:
    made: dict[str, Any] = {
        "verdict": chance.choice(VERDICTS),
        "code": "own",
        "message": "m",
        "rule": f"custom/{number}",
    }
    if chance.random() < 0.5:
        names = chance.sample(sorted(OBLIGATIONS), 2)
        made["obligations"] = {name: chance.choice(OBLIGATIONS[name]) for name in names}
    return made


def less(had: Any, has: Any) -> bool:
    return has is None or has > had


def greater(had: Any, has: Any) -> bool:
    return has is None or has < had


def fewer(had: Any, has: Any) -> bool:
    return not set(had) <= set(has or ())


def more(had: Any, has: Any) -> bool:
    return has is None or not set(has) <= set(had)


def others(had: Any, has: Any) -> bool:
    return not had.items() <= (has or {}).items()


LOOSER = {
    **dict.fromkeys(("strip", "redact", "taint"), fewer),
    **dict.fromkeys(("max_result_bytes", "timeout_s", "expires_s"), less),
    **dict.fromkeys(("quorum", "escalate_after_s"), greater),
    "approvers": more,
    "set": others,
}


def weaker(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """How a decision is weaker than another; empty when it is not."""
    if STRICTNESS[after["verdict"]] < STRICTNESS[before["verdict"]]:
        return f"{before['verdict']} became {after['verdict']}"
    if after["verdict"] == "deny":
        return ""
    had, has = before["obligations"], after["obligations"]
    looser = [name for name in had.keys() & LOOSER.keys() if LOOSER[name](had[name], has.get(name))]
    return "; ".join(f"{name}: {had[name]} became {has.get(name)}" for name in looser)


@pytest.mark.req("POL-2")
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(min_value=0, max_value=2**32), profile=st.sampled_from(["observe", "standard", "strict"]))
def test_no_overlay_makes_a_decision_weaker(seed: int, profile: str) -> None:
    chance = random.Random(seed)
    changes, findings = an_overlay(chance, profile)
    changed = engine_for(read_bundle(profile=profile, changes=changes), findings)
    for _ in range(INPUTS_FOR_EACH):
        document = an_input(chance)
        complaint = weaker(decided(shipped(profile), document), decided(changed, document))
        assert not complaint, f"{complaint}\n{json.dumps(changes)}\n{json.dumps(findings)}\n{json.dumps(document)}"


@pytest.mark.req("POL-2")
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(min_value=0, max_value=2**32))
def test_no_finding_of_an_operators_own_opens_what_no_rule_allows(seed: int) -> None:
    chance = random.Random(seed)
    nothing = engine_for(read_bundle(), [a_finding(chance, number) for number in range(1 + chance.randrange(5))])
    documents: list[dict[str, Any]] = [{}, {"call": {}}, {"tool": {"pin_state": "pinned"}}, undecided()]
    for document in documents:
        assert decided(nothing, document)["verdict"] == "deny"


def undecided() -> dict[str, Any]:
    """An input about which no shipped rule says anything, since a field is missing that the gateway always sends."""
    for document in documents():
        made: dict[str, Any] = json.loads(json.dumps(document))
        made["tool"].pop("safety_level", None)
        made["call"]["checkpoint"] = {"id": "c", "outcome": "approved", "approvers": []}
        reasons = decided(shipped("standard"), made).get("reasons", [])
        if [reason["code"] for reason in reasons] == ["no_rule_allows"]:
            return made
    pytest.fail("the shipped rules say something about every input")


@pytest.mark.req("POL-2")
@pytest.mark.parametrize("verdict", ["preview", "checkpoint", "reflect"])
def test_nobody_is_asked_about_what_no_shipped_rule_says_anything_about(verdict: str) -> None:
    own = [{"verdict": verdict, "code": "own", "message": "m", "rule": "custom/0"}]
    assert decided(engine_for(read_bundle(), own), undecided())["verdict"] == "deny"


def test_the_overlays_that_are_tried_change_something() -> None:
    made = [an_overlay(random.Random(seed), "standard") for seed in range(100)]
    assert sum(bool(changes) for changes, _ in made) > 60
    assert len({(concern, name) for changes, _ in made for concern, values in changes.items() for name in values}) > 20
