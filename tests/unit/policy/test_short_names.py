"""Packages under shorter names: the same decisions, and names as they were where that is not certain."""

import json

import pytest
import regorus
from interlock_gateway.policy.embedded.linking import LinkedModule, link, relocate
from interlock_gateway.policy.embedded.short_names import shortened
from interlock_gateway.policy.loader import load_bundle

MAIN = """package top

decision := data.top.rules.verdict if data.top.settings.on

said := "data.top.rules.verdict" # data.top.rules.verdict

raw := `data.top.rules.verdict`

nested := input.data.top.rules.verdict
"""
RULES = """package top.rules

verdict := data.top.rules.bash.found["verdict"]

other := data.top.rules.own

own := 1
"""
BASH = 'package top.rules.bash\n\nimport data.top.settings as given\n\nfound := {"verdict": given.word}\n'
DATA = json.dumps({"top": {"settings": {"on": True, "word": "fine"}}})


def sources(*texts: str, data: str = DATA) -> list[str]:
    linked = link([(f"{number}.rego", text) for number, text in enumerate(texts)])
    return [module.source for module in shortened(linked, data)]


def decided(*texts: str) -> object:
    engine = regorus.Engine()
    for number, text in enumerate(texts):
        engine.add_policy(f"{number}", text)
    engine.add_data_json(DATA)
    engine.set_input_json("{}")
    return json.loads(engine.eval_rule_as_json("data.top.decision"))


def test_packages_of_several_parts_get_names_of_one_and_mean_the_same() -> None:
    main, rules, bash = sources(MAIN, RULES, BASH)
    assert main.startswith("package top\n")
    assert "decision := data.top_rules.verdict if data.top.settings.on" in main
    assert rules.startswith("package top_rules\n")
    assert 'data.top_rules_bash.found["verdict"]' in rules
    assert "other := data.top_rules.own" in rules
    assert bash.startswith("package top_rules_bash\nimport data.top.settings as given\n")
    assert decided(MAIN, RULES, BASH) == decided(main, rules, bash) == "fine"


def test_words_that_only_look_like_references_stay() -> None:
    main = sources(MAIN, RULES, BASH)[0]
    assert 'said := "data.top.rules.verdict" # data.top.rules.verdict' in main
    assert "raw := `data.top.rules.verdict`" in main
    assert "nested := input.data.top.rules.verdict" in main


def test_places_in_what_the_engine_says_lead_to_the_files() -> None:
    modules = shortened(link([("main.rego", MAIN), ("rules.rego", RULES)]), DATA)
    assert [module.package for module in modules] == ["top", "top.rules"]
    assert relocate("--> top.rules:4:1", modules) == "--> rules.rego:3:1"


@pytest.mark.parametrize(
    "reading",
    [
        "data.top.rules[input.class].found",
        'data.top["rules"].verdict',
        "data.top.rules",
        "data.top",
        "data[input.name]",
        "data .top.rules.verdict",
        '$"{data.top.rules.verdict}"',
    ],
)
def test_all_names_stay_where_one_is_not_written_down(reading: str) -> None:
    texts = (MAIN, f"{RULES}\nread := {reading}\n", BASH)
    linked = link([(f"{number}.rego", text) for number, text in enumerate(texts)])
    assert shortened(linked, DATA) == linked


@pytest.mark.parametrize(
    ("more", "data"),
    [
        ("package top_rules\n\nx := 1\n", DATA),
        ('package top["a-b"]\n\nx := 1\n', DATA),
        ("package other\n\nx := 1\n", json.dumps({"top_rules": 1})),
        ("package other\n\nx := 1\n", json.dumps({"top": {"rules": {"x": 1}}})),
        ("package other\n\nx := 1\n", json.dumps({"top": 1})),
    ],
)
def test_all_names_stay_where_one_is_taken(more: str, data: str) -> None:
    linked = (*link([("rules.rego", RULES), ("bash.rego", BASH)]), *_linked(more))
    assert shortened(linked, data) == linked


def _linked(text: str) -> tuple[LinkedModule, ...]:
    return link([("more.rego", text)])


@pytest.mark.req("PERF-4")
def test_the_shipped_policies_get_short_names() -> None:
    bundle = load_bundle()
    modules = shortened(link(bundle.modules), bundle.data_json)
    packages = [module.source.split("\n")[0] for module in modules]
    assert {"package interlock", "package interlock_rules", "package interlock_rules_bash"} <= set(packages)
    assert not [package for package in packages if "." in package]
