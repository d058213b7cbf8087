"""Rules where their names stand: the same decisions, and rules as they were where that is not certain."""

import json

import pytest
import regorus
from interlock_gateway.policy.bundle import DECISION_RULE
from interlock_gateway.policy.embedded.inlining import inlined
from interlock_gateway.policy.embedded.linking import LinkedModule, link
from interlock_gateway.policy.embedded.prepared import prepared
from interlock_gateway.policy.embedded.short_names import shortened
from interlock_gateway.policy.loader import load_bundle

INPUTS = [
    {},
    {"kind": "a", "list": ["x", "y"], "n": 1, "nested": {"kind": "b"}},
    {"kind": "b", "list": [], "n": 2, "nested": {}},
    {"kind": "c", "list": ["y"], "n": 3, "nested": {"kind": "a"}, "more": {"x": 1, "y": 3}},
]
DATA = json.dumps({"settings": {"kinds": ["a", "b"], "most": 2}})
# One policy a line or block, each with a rule `d` and what is expected to be gone from it.
SAME = {
    "a condition that does not hold": ("d if not r\nr if input.n == 1\n", "not r"),
    "a condition of several parts": ("d if not r\nr if {\n\tinput.n == 1\n\tinput.kind == `a`\n}\n", "not r"),
    "a pattern with an end": ('d if not r\nr if {\n\tregex.match(`a$`, input.kind)\n\tinput.kind != "$"\n}\n', "not r"),
    "a condition that holds": ("d if r\nr if {\n\tx := input.n\n\tx > 1\n}\n", "d if r"),
    "one way or the other": ("d if not r\nr if input.n == 1\n\nelse if input.kind == `c`\n", "not r"),
    "not the contrary": ("d if not r\nr if not input.nested.kind\n", "not r"),
    "one in another": ("d if not r\nr if {\n\tnot s\n\tinput.n > 1\n}\ns if input.kind == `b`\n", "not s"),
    "a function": ("d := [n |\n\tsome n in input.list\n\tnot f(n)\n]\nf(x) if {\n\ty := x\n\ty == `x`\n}\n", None),
    "a function that holds": (
        "d contains n if {\n\tsome n in input.list\n\tf(n, 1)\n}\nf(x, _) if x == `x`\n",
        "f(n, 1)",
    ),
    "a function of nothing": ("d if {\n\tnot f(input.no)\n\tinput.n == 1\n}\nf(x) if x == 1\n", "f(input.no)"),
    "of nothing that it looks at": ("d if {\n\tnot f(input.no)\n\tinput.n == 1\n}\nf(_) if 1 == 1\n", "f(input.no)"),
    "one name for two things": (
        "d if {\n\tx := input.n\n\tnot f(input.kind)\n\tx > 1\n}\nf(y) if {\n\tx := y\n\tx == `b`\n}\n",
        None,
    ),
    "twice in one": ("d if {\n\tf(input.n)\n\tf(input.more.x)\n}\nf(a) if {\n\tb := a\n\tb > 0\n}\n", "f(input.n)"),
    "one twice in another": (
        "d if {\n\tnot g(1)\n\tg(2)\n}\ng(x) if {\n\tf(x)\n\tf(input.n)\n}\nf(a) if {\n\tb := a\n\tb > 1\n}\n",
        None,
    ),
    "what every one is": (
        "d if {\n\tevery x in input.list {\n\t\tf(x)\n\t\tnot g(x)\n\t}\n}\nf(x) if x != `x`\ng(x) if x == `z`\n",
        "f(x)",
    ),
    "a set": ("d := s\ns contains 1 if input.n == 1\ns contains x if some x in input.list\n", "contains"),
    "a set of a set": (
        (
            "d contains x if {\n\tinput.n\n\tsome x in s\n}\n"
            "s contains x if some x in input.list\ns contains 1 if r\nr if input.n > 1\n"
        ),
        None,
    ),
    "a set in a comprehension": (
        "d := {x | not r; some x in s}\nr if input.n == 1\ns contains [k, v] if some k, v in input.more\n",
        None,
    ),
    "members of many forms": (
        (
            'd := s\ns contains {\n\t"a": x,\n\t"b": [x, y],\n} if {\n\tsome x, y in input.list\n}\n'
            "s contains sprintf(`%v`, [input.n]) if input.n\n"
        ),
        "contains",
    ),
    "words that look so": (
        'd := ["not r", x] if {\n\tx := `f(1)` # not r\n\tnot r # f(1)\n}\nr if {\n\t# not r\n\tinput.n == 1 # 1\n}\n',
        None,
    ),
    "a value": ("d := x if {\n\tx := f(input.n)\n}\nf(a) := b if {\n\tb := a + 1\n\tb > 2\n}\n", "f(input.n)"),
    "a value of a value": (
        "d := x if {\n\tx := f(input.n)\n}\nf(a) := [g(a)]\ng(a) := {b | b := a + 1}\n",
        "f(input.n)",
    ),
    "a value under another name": (
        "d := [x, y] if {\n\ty := 1\n\tx := f(y)\n}\nf(x) := y if {\n\ty := x + input.n\n}\n",
        "f(y)",
    ),
    "in what a rule is": ("d := {x | some x in input.list; not f(x)}\nf(y) if y == `x`\n", "not f(x)"),
    "one value after another": (
        "d := 1 if not r\n\nelse := 2 if not s\n\nelse := {3 | r}\nr if input.n > 1\ns if input.kind == `b`\n",
        "not s",
    ),
    "numbers below nothing": ("d if not r\nr if {\n\tx := input.n - 3\n\tx >= -1\n}\n", "not r"),
    "numbers below nothing in a comprehension": ("d := [-1 | not f(input.n)]\nf(x) if x == 1\n", "f(input.n)"),
    "numbers with exponents": ("d if not r\nr if {\n\tinput.n > 1e-5\n\tinput.n < 2E+0\n}\n", "not r"),
    "something written that is looked into": (
        'd := x if {\n\tx := f(input.kind)\n}\nf(k) := {"a": 1}[k]\n',
        "f(input.kind)",
    ),
}
STAYS = {
    "what is asked for in several ways": "d if not r\nr if some x in input.list\n",
    "a rule with a default": "d if not r\ndefault r := false\nr if input.n == 1\n",
    "a rule with a value": "d if not r\nr := false if input.n == 1\n",
    "a rule defined twice": "d if not r\nr if input.n == 1\nr if input.n == 2\n",
    "a function defined for some": "d if not f(input.n)\nf(1) if input.n\nf(x) if x == 2\n",
    "a value in several ways": "d := x if {\n\tx := f(input.n)\n}\nf(a) := 1 if a == 1\n\nelse := 2\n",
    "an answer that is handed on": "d if f(input.n, true)\nf(x) if x == 1\n",
    "a value taken apart": "d if not r\nr if {\n\t[x, y] := input.list\n\tx != y\n}\n",
    "a name that nothing gives": "d if not r\nr if input.list[i] == `y`\n",
    "another rule's name": "d if {\n\tx := input.n\n\tnot f(x)\n}\nf(y) if y == x\nx := 2\n",
    "a part of an expression": "d := r == true\nr if input.n == 1\n",
}
# What the engine reads in another way when it stands elsewhere, and what has several values.
AS_WRITTEN = {
    "what would go on with the line before": "d if {\n\tx := input.n\n\tr\n}\nr if -1 == input.n\n",
    "what would be handed to the line before": (
        "d := [x |\n\tsome x in input.list\n\tf(x)\n]\nf(x) if (x in input.list)\n"
    ),
    "members that are not written in one part": (
        "d contains input.n + 1 if not r\nd contains -1 if input.n == 2\nr if input.n == 1\n"
    ),
    "one line behind another": "d if { x := input.n; -1 < x; x == 1 }\n",
    "one of many members": "d := [x |\n\tx := r\n]\nr := input.more[_] if input.n > 0\n",
    "one of many members for a function": "d := [x |\n\tx := f(1)\n]\nf(a) := input.more[_] if a > 0\n",
    "under any key of several parts": (
        "d := [x |\n\tsome x in input.list\n\tf(x)\n]\nf(x) if s[[x, _]]\n"
        "s contains [x, y] if {\n\tsome x in input.list\n\tsome y in [1, 2]\n}\n"
    ),
}


def decided(modules: tuple[LinkedModule, ...], rule: str = "data.p.d") -> list[str]:
    engine = regorus.Engine()
    for module in modules:
        engine.add_policy(module.package, module.source)
    engine.add_data_json(DATA)
    answers = []
    for given in INPUTS:
        engine.set_input_json(json.dumps(given))
        answers.append(engine.eval_rule_as_json(rule))
    return answers


def decided_or_not(modules: tuple[LinkedModule, ...]) -> list[str]:
    try:
        return decided(modules)
    except RuntimeError as error:
        return [str(error).rpartition("error: ")[2].partition("\n")[0]]


def both(*texts: str) -> tuple[tuple[LinkedModule, ...], tuple[LinkedModule, ...]]:
    linked = link([(f"{number}.rego", text) for number, text in enumerate(texts)])
    return linked, inlined(linked, DATA)


@pytest.mark.req("ENG-2", "PERF-4")
@pytest.mark.parametrize("case", SAME)
def test_rules_mean_the_same_where_their_names_stand(case: str) -> None:
    text, gone = SAME[case]
    before, after = both(f"package p\n\n{text}")
    assert decided(after) == decided(before)
    assert len(set(decided(before))) > 1, "all inputs are decided alike"
    assert gone is None or gone not in after[0].source.partition("\nr if")[0]
    assert after != before


@pytest.mark.req("ENG-2")
@pytest.mark.parametrize("case", STAYS)
def test_what_could_mean_something_else_is_referred_to_by_its_name(case: str) -> None:
    before, after = both(f"package p\n\n{STAYS[case]}")
    assert decided(after) == decided(before)
    asked = next(word for word in ("not r", "not f", "f ", "f(", "r ==") if word in STAYS[case])
    assert asked in after[0].source


@pytest.mark.req("ENG-2")
@pytest.mark.parametrize("case", AS_WRITTEN)
def test_what_would_be_read_in_another_way_elsewhere_stays_where_it_is(case: str) -> None:
    before, after = both(f"package p\n\n{AS_WRITTEN[case]}")
    assert decided_or_not(after) == decided_or_not(before)


@pytest.mark.req("ENG-2")
def test_a_rule_of_another_package_keeps_the_meaning_of_its_names() -> None:
    theirs = "package q\n\nf(x) if {\n\tnot r\n\tx in own\n\tcount(own) == 2\n}\nr if input.n == 3\nown := {`a`, `b`}\n"
    mine = "package p\n\nd if not data.q.f(input.kind)\nr if input.n == 1\nown := {`c`}\n"
    before, after = both(mine, theirs)
    assert decided(after) == decided(before)
    assert "data.q.f" not in after[0].source
    assert "data.q.own" in after[0].source


@pytest.mark.req("ENG-2")
@pytest.mark.parametrize("own", ["count(_) := 0", "count := 0"])
def test_a_function_that_rego_has_is_not_mistaken_for_a_rule_of_the_same_name(own: str) -> None:
    theirs = "package q\n\nf(x) if count(x) == 2\n"
    before, after = both(f"package p\n\nd if not data.q.f(input.list)\n{own}\n", theirs)
    assert "data.q.f" in after[0].source
    assert decided(after) == decided(before)


@pytest.mark.parametrize(
    "unusual",
    [
        "d if not r with input.n as 1\nr if input.n == 1\n",
        "d if not r\nr if input.n == 1\nv_1 := 1\n",
        'd if not r\nr if input.kind == $"{input.nested.kind}"\n',
        "d if not r\nr if input.kind == $`{input.nested.kind}`\n",
    ],
)
def test_all_stays_where_names_can_mean_anything(unusual: str) -> None:
    before, after = both(f"package p\n\n{unusual}")
    assert after == before


def test_packages_with_imports_stay_and_so_do_those_with_names_of_several_parts() -> None:
    before, after = both(
        "package p\n\nimport data.q as x\n\nd if not x.r\n", "package q\n\nr if not s\ns if input.n == 1\n"
    )
    assert after[0] == before[0]
    assert after[1] != before[1]
    assert decided(after) == decided(before)
    before, after = both("package p.q\n\nd if not r\nr if input.n == 1\n")
    assert after == before


def test_rules_may_be_written_in_any_way() -> None:
    text = "package p\n\nd if {\nnot r\nx:=input.n;not f( x , 1 )\n}\nr if {input.n==1;y:=2\ny>1}\nf(x,\ny) if x==y\n"
    before, after = both(text)
    assert decided(after) == decided(before)
    assert len(set(decided(before))) > 1


@pytest.mark.req("ENG-2")
@pytest.mark.parametrize(
    "crowded",
    [
        "d if not r\nr if input.n == 1 r if input.n == 2\n",
        "d if not r\nr if input.n == 1\n  r if input.n == 2\n",
        "d if not r\nr if {input.n == 1} {input.n == 2}\n",
        "d if not r\nr if {input.n == 1} r if {input.n == 2}\n",
        "d if not r\nr if {\n\tinput.n == 1 input.kind == `a`\n}\n",
        "d if not r x := 1\nr if input.n == 1 default r := false\n",
    ],
)
def test_all_stays_where_it_cannot_be_told_where_one_thing_ends(crowded: str) -> None:
    before, after = both(f"package p\n\n{crowded}")
    assert after == before


@pytest.mark.req("PERF-4")
def test_thousands_of_definitions_become_one_that_is_not_deep() -> None:
    many = "".join(f"d contains {number} if input.n == {number % 5}\n" for number in range(3000))
    before, after = both(f"package p\n\n{many}")
    assert "contains" not in after[0].source
    assert decided(after) == decided(before)


def test_what_would_become_too_long_for_the_engine_stays() -> None:
    names = ", ".join(f'"{number}"' for number in range(150))
    before, after = both(f"package p\n\nd if {{\n\tnot r\n\tinput.kind in {{{names}}}\n}}\nr if input.n == 1\n")
    assert max(map(len, before[0].source.split("\n"))) < 1024
    assert decided(after) == decided(before)


@pytest.mark.req("PERF-4")
def test_functions_that_ask_for_each_other_often_are_put_together_in_a_moment() -> None:
    chained = "".join(
        f"f{number}(x) if {{\n\tnot f{number + 1}(x)\n\tnot f{number + 1}([x])\n\tf{number + 1}({{x}})\n}}\n"
        for number in range(40)
    )
    before, after = both(f"package p\n\nd if not f38(input.n)\n{chained}f40(x) if x == 1\n")
    assert decided(after) == decided(before)


@pytest.mark.req("PERF-4")
def test_the_shipped_policies_are_put_together() -> None:
    bundle = load_bundle()
    short = {module.package: module.source for module in shortened(link(bundle.modules), bundle.data_json)}
    ready = {module.package: module.source for module in prepared(bundle.modules, bundle.data_json)}
    assert short.keys() == ready.keys()
    assert not [package for package in short if short[package] == ready[package] and package != "interlock.scope"]
    for gone in ("not usual\n", "some finding in change_findings", "findings contains finding if"):
        assert gone in short["interlock.rules"].replace("usual;", "usual\n")
        assert gone not in ready["interlock.rules"]
    assert DECISION_RULE == "data.interlock.decision"
