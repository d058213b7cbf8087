"""What policies compare with their own data is known before any call, and left out; what depends on the call stays."""

import json

import pytest
import regorus
from interlock_gateway.policy.embedded.inlining import inlined
from interlock_gateway.policy.embedded.linking import LinkedModule, link

DATA = {
    "house": {
        "settings": {"none": {}, "list": ["a"], "words": {"x": "y", "z": []}, "on": True, "one": 1, "null": None},
        "d": "mine",
    }
}
INPUTS = [{}, {"n": 1}, {"n": 2, "kind": "a"}]
# A condition, and whether it is gone from the rule.
CONDITIONS = {
    "data.house.settings.none == {}": True,
    "data.house.settings.none != {}": True,
    "not data.house.settings.none == {}": True,
    'data.house.settings.words == {"z": [], "x": "y"}': True,
    'data.house.settings.words == {\n\t\t"z": [],\n\t\t"x": "y",\n\t}': True,
    'data.house.settings.words.x == "z"': True,
    'data.house.settings.list == ["a", "b"]': True,
    "data.house.settings.on == true": True,
    "data.house.settings.no == {}": True,
    "data.house.settings.no != {}": True,
    "not data.house.settings.no.such == {}": True,
    "given := data.house.settings\n\tgiven.none == {}\n\tgiven.words.z == []": True,
    "given := data.house.settings\n\tother := given.words\n\tnot other.x == `q`\n\tother.z == []": False,
    "[1 | data.house.settings.none == {}] == []": True,
    "[1 |\n\t\tdata.house.settings.none == {}\n\t\tinput.n == 1\n\t] == []": False,
    "{x | x := data.house.settings; x.none == {}} != set()": False,
    "is_string(data.house.settings.no)": True,
    "given := f(data.house.settings.no)\n\tgiven == 1": True,
    "not f(data.house.settings.no)": True,
    "is_string(data.house.settings.words.x)": False,
    "array.concat(data.house.settings.list, data.house.settings.list) == []": False,
    "f(data.house.own) == 1": False,
    "data.house.settings.one == 1": False,
    "data.house.settings.one == true": True,
    "data.house.settings.null == null": False,
    "data.house.settings.words == input": False,
    "data.house.settings.words[input.kind] == {}": False,
    "data.house.settings.list == {`a`}": False,
    "data.house.own == {}": False,
    "data.elsewhere.settings == {}": False,
    "data.settings == {}": False,
    "some given in [1, 2]\n\tgiven != {}\n\tinput.n == given": False,
}


def decided(modules: tuple[LinkedModule, ...]) -> list[str]:
    engine = regorus.Engine()
    for module in modules:
        engine.add_policy(module.package, module.source)
    engine.add_data_json(json.dumps(DATA))
    answers = []
    for given in INPUTS:
        engine.set_input_json(json.dumps(given))
        answers.append(engine.eval_rule_as_json("data.house.r"))
    return answers


@pytest.mark.req("ENG-2", "PERF-4")
@pytest.mark.parametrize("where", ["first", "last", "between"])
@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_condition_on_the_data_means_the_same_when_it_is_left_out(condition: str, where: str) -> None:
    asked = {
        "first": ["input.n == 1", condition],
        "last": [condition, "input.n == 1"],
        "between": ["some x in [input.n, 2]", condition, "x == 1"],
    }[where]
    body = "\n\t".join(asked)
    more = "own := {} if input.n == 1\nf(x) := 1 if is_object(x)\n\nelse := 2\n"
    linked = link([("house.rego", f"package house\n\nr if {{\n\t{body}\n}}\n{more}")])
    ready = inlined(linked, json.dumps(DATA))
    assert decided(ready) == decided(linked)
    if CONDITIONS[condition]:
        assert "data.house.settings" not in ready[0].source


def test_an_answer_that_is_always_the_same_is_left_where_nothing_else_is_asked() -> None:
    for condition in ("data.house.settings.none == {}", "data.house.settings.none != {}"):
        linked = link([("house.rego", f"package house\n\nr if {condition}\n")])
        ready = inlined(linked, json.dumps(DATA))
        assert "data" not in ready[0].source
        assert decided(ready) == decided(linked)


@pytest.mark.req("ENG-2", "PERF-4")
@pytest.mark.parametrize(
    "rules",
    [
        "r := given if {\n\tgiven := data.house.settings.words\n\tinput.n == 1\n}\n",
        'r := {"a": given} if {\n\tgiven := data.house.settings.words\n}\n',
        "r contains given if {\n\tdata.house.settings.none != {}\n\tgiven := input.n\n}\n",
        "r contains given if {\n\tgiven := data.house.settings.words\n\tinput.n == 1\n}\n",
        "r := {m | some m in [1, 2]; m == given} if {\n\tdata.house.settings.none != {}\n\tgiven := input.n\n}\n",
        "r := 1 if input.n == 1\n\nelse := given if {\n\tgiven := data.house.settings.words\n}\n",
        (
            "r contains [given] if {\n\tgiven := data.house.settings.words\n\tinput.n\n}\n"
            "r contains given if {\n\tgiven := data.house.settings.list\n\tinput.n == 2\n}\n"
        ),
        "r if {\n\tprint(data.house.settings.no)\n\tinput.n == 1\n}\n",
    ],
)
def test_a_rule_has_what_it_takes_from_the_data(rules: str) -> None:
    linked = link([("house.rego", f"package house\n\n{rules}")])
    assert decided(inlined(linked, json.dumps(DATA))) == decided(linked)


def test_what_goes_wrong_before_is_not_passed_over() -> None:
    linked = link(
        [("house.rego", "package house\n\nr if {\n\tcount(input.n) == 1\n\tdata.house.settings.none != {}\n}\n")]
    )
    for modules in (linked, inlined(linked, json.dumps(DATA))):
        engine = regorus.Engine()
        engine.add_policy("house", modules[0].source)
        engine.add_data_json(json.dumps(DATA))
        engine.set_input_json('{"n": 1}')
        with pytest.raises(RuntimeError, match="count"):
            engine.eval_rule_as_json("data.house.r")
