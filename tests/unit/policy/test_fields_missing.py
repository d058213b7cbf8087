"""No field that is missing makes a decision looser: whatever a rule reads, taken away, is taken for the worst (POL-3).

Every field of every decision case that ends in anything but `allow` is taken away, one at a time, and given a value of
a type that no field has. Of cases that the same rules decide one is enough for each field.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import regorus
from interlock_gateway.policy.bundle import DECISION_RULE
from interlock_gateway.policy.cases import DecisionCase, by_conditions, load_cases
from interlock_gateway.policy.embedded.linking import link
from interlock_gateway.policy.loader import load_bundle

CASES = Path(__file__).resolve().parents[2] / "cases"
STRICTNESS = ("allow", "preview", "checkpoint", "reflect", "deny")
Place = tuple[str | int, ...]

AT_LEAST = 3_000
# No field is an object with such an entry.
OF_ANOTHER_TYPE: dict[str, dict[str, str]] = {"": {}}

# Fields of which a case may be decided less strictly without them, and why. Places in lists are written `*`.
WITHOUT: dict[str, str] = {}
OF_OTHER_TYPE: dict[str, str] = {}


@pytest.mark.req("POL-3")
def test_no_decision_is_looser_for_a_field_that_is_missing() -> None:
    assert _looser(_without, WITHOUT) == {}


@pytest.mark.req("POL-3")
def test_no_decision_is_looser_for_a_field_of_another_type() -> None:
    assert _looser(_of_another_type, OF_OTHER_TYPE) == {}


def _looser(change: Callable[[Any, Place], str], exceptions: dict[str, str]) -> dict[str, set[str]]:
    """The changes of a field that made a verdict looser, by the field, with the cases in which they did."""
    found: dict[str, set[str]] = {}
    tried = 0
    seen: Counter[tuple[str, tuple[str, ...]]] = Counter()
    for engine, cases in _engines_and_cases():
        for case, verdict, place in _fields_of_what_is_held_up(engine, cases, seen):
            tried += 1
            given, _ = _decided(engine, change(json.loads(case.input_json), place))
            if STRICTNESS.index(given) < STRICTNESS.index(verdict) and _written(place) not in exceptions:
                found.setdefault(f"{_written(place)}: {verdict} -> {given}", set()).add(case.name)
    assert tried > AT_LEAST
    return found


@cache
def _engines_and_cases() -> list[tuple["regorus.Engine", tuple[DecisionCase, ...]]]:
    found = []
    for conditions, cases in by_conditions(load_cases(CASES)):
        bundle = load_bundle(**conditions)
        engine = regorus.Engine()
        for module in link(bundle.modules):
            engine.add_policy(module.package, module.source)
        engine.add_data_json(bundle.data_json)
        found.append((engine, tuple(cases)))
    return found


def _fields_of_what_is_held_up(
    engine: "regorus.Engine", cases: tuple[DecisionCase, ...], seen: Counter[tuple[str, tuple[str, ...]]]
) -> Iterator[tuple[DecisionCase, str, Place]]:
    for case in cases:
        verdict, rules = _decided(engine, case.input_json.decode())
        for place in _places(json.loads(case.input_json)) if verdict != "allow" else ():
            # What the tool is given is its own business; policy reads the facts that are made of it.
            if place[:2] == ("call", "input"):
                continue
            seen[_written(place), rules] += 1
            if seen[_written(place), rules] == 1:
                yield case, verdict, place


def _places(node: object, above: Place = ()) -> Iterator[Place]:
    """Every field below; entries of lists are none, but those of objects in them are."""
    entries = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in entries:
        if isinstance(key, str):
            yield (*above, key)
        yield from _places(value, (*above, key))


def _without(document: Any, place: Place) -> str:
    holder = document
    for key in place[:-1]:
        holder = holder[key]
    del holder[place[-1]]
    return json.dumps(document)


def _of_another_type(document: Any, place: Place) -> str:
    holder = document
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = OF_ANOTHER_TYPE
    return json.dumps(document)


def _decided(engine: "regorus.Engine", document: str) -> tuple[str, tuple[str, ...]]:
    """The verdict, and the rules that it comes from."""
    engine.set_input_json(document)
    try:
        decision = json.loads(engine.eval_rule_as_json(DECISION_RULE))
    except RuntimeError:
        return "deny", ()  # as the gateway denies a call whose decision fails
    return decision["verdict"], tuple(sorted({reason["rule"] for reason in decision["reasons"]}))


def _written(place: Place) -> str:
    return "/".join("*" if isinstance(key, int) else key for key in place)
