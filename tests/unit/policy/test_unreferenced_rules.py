"""Engines that decide hold the rules that a decision may ask for: all of those, and no others."""

import json

import pytest
import regorus
from interlock_gateway.policy.bundle import DECISION_RULE
from interlock_gateway.policy.embedded.linking import LinkedModule, link
from interlock_gateway.policy.embedded.prepared import prepared
from interlock_gateway.policy.embedded.unreferenced import without_unreferenced
from interlock_gateway.policy.loader import load_bundle

DATA = {"settings": {"most": 2}, "named": "r"}
OTHER = "package q\n\nr := 1\n\ns := 2\n\nt := data.p.u\n"
# The rules of package p, with what is kept of those called r, s, t and u there, and of those of package q.
KEPT = {
    "nothing": ("d := 1\nr := 1\n", "", ""),
    "what is asked for": ("d if r\nr if not s\ns if input.x\nt := 1\n", "rs", ""),
    "a function": ("d := r(1)\nr(x) := s[x]\ns := [1, 2]\nt(x) := r(x)\n", "rs", ""),
    "every definition": ("d := r\nr contains 1 if s\nr contains 2\ns if input.x\n", "rs", ""),
    "a default": ("d := r\ndefault r := 1\nr := s\ns := 2\ndefault t := 1\nt := 2\n", "rs", ""),
    "what stands behind else": ("d if 1 == 2\n\nelse if r\nr if input.x\n\nelse if s\ns := 1\n", "rs", ""),
    "a name of something else": ("d := x if {\n\tr := 1\n\tx := input.s + r\n}\ns := 1\n", "", ""),
    "each other": ("d := 1\nr if s\ns if r\n", "", ""),
    "of another package": ("d := data.q.r\nr := 1\n", "", "r"),
    "by way of another package": ("d := data.q.t\nu := 1\nr := 1\n", "u", "t"),
    "a whole package": ("d := count(data.q)\nu := 1\n", "u", "rst"),
    "any of a package": ("d := data.q[input.name]\nu := 1\n", "u", "rst"),
    "a package by a text": ('d := data.q["r"]\nu := 1\n', "u", "rst"),
    "settings": ("d := data.settings.most\nr := 1\n", "", ""),
    "in a comprehension": ("d := {x | some x in r; not s[x]}\nr := [1]\ns := {2}\nt := 1\n", "rs", ""),
    "in words": ("d := `r` # r\nr := 1\n", "", ""),
}
ANYTHING = {
    "all data": "d := count(data)\nr := 1\n",
    "data by a name that is known later": "d := data[input.name].r\nr := 1\n",
}


def modules(*texts: str) -> tuple[LinkedModule, ...]:
    return link([(f"{number}.rego", text) for number, text in enumerate(texts)])


def decided(given: tuple[LinkedModule, ...], rule: str) -> list[str]:
    engine = regorus.Engine()
    for module in given:
        engine.add_policy(module.package, module.source)
    engine.add_data_json(json.dumps(DATA))
    answers = []
    for document in ({}, {"x": True, "name": "r", "s": 3}):
        engine.set_input_json(json.dumps(document))
        answers.append(engine.eval_rule_as_json(rule))
    return answers


def names(module: LinkedModule) -> str:
    heads = {line.removeprefix("default ")[0] for line in module.source.split("\n")[1:] if line[:1].isalpha()}
    return "".join(sorted(heads & set("rstu")))


@pytest.mark.req("ENG-2")
@pytest.mark.parametrize("case", KEPT)
def test_what_a_rule_asks_for_stays_and_nothing_else(case: str) -> None:
    text, own, others = KEPT[case]
    before = modules(f"package p\n\n{text}", OTHER)
    after = without_unreferenced(before, "data.p.d")
    assert (names(after[0]), names(after[1])) == (own, others)
    assert decided(after, "data.p.d") == decided(before, "data.p.d")


@pytest.mark.parametrize("case", ANYTHING)
def test_all_stays_where_anything_may_be_asked_for(case: str) -> None:
    before = modules(f"package p\n\n{ANYTHING[case]}", OTHER)
    assert without_unreferenced(before, "data.p.d") == before


@pytest.mark.parametrize("way", ["data.q", "data.q as x", "data.q.t as x"])
def test_what_is_imported_stays(way: str) -> None:
    name = way.rpartition(" as ")[2].rpartition(".")[2]
    asked = name if ".t" in way else f"{name}.t"
    before = modules(f"package p\n\nimport {way}\n\nd := {asked}\nu := 1\nr := 2\n", OTHER)
    after = without_unreferenced(before, "data.p.d")
    assert names(after[0]) == "u"
    assert "t" in names(after[1])
    assert decided(after, "data.p.d") == decided(before, "data.p.d") == ["1", "1"]


def test_all_stays_where_what_is_imported_is_written_otherwise() -> None:
    text = 'package p\n\nimport data["q"] as x\n\nd := x.r\nu := 1\nr := 2\n'
    before = modules(text, OTHER)
    assert without_unreferenced(before, "data.p.d") == before
    assert decided(before, "data.p.d") == ["1", "1"]


def test_lines_stay_in_their_places() -> None:
    before = modules("package p\n\nr := {\n\t1,\n\t2,\n}\n\nd := input.x\n", OTHER)
    after = without_unreferenced(before, "data.p.d")
    assert [module.source.count("\n") for module in after] == [module.source.count("\n") for module in before]
    assert after[0].source.split("\n").index("d := input.x") == before[0].source.split("\n").index("d := input.x")


@pytest.mark.req("PERF-6")
def test_of_the_shipped_policies_what_a_decision_asks_for_is_held() -> None:
    bundle = load_bundle()
    ready = prepared(bundle.modules, bundle.data_json)
    assert without_unreferenced(ready, DECISION_RULE) == ready
    held = {module.package: module.source for module in ready}
    assert "\nresponse" not in held["interlock"]
    assert "\ndecision" in held["interlock"]
    written = sum(len(source) for _, source in bundle.modules)
    assert sum(map(len, held.values())) < written
