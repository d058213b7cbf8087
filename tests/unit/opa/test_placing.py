"""Policies moved to a place of their own: every reference goes along, and nothing else changes (ENG-2, LIFE-3)."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from asked_opa import saying
from interlock_gateway.policy.bundle import make_bundle
from interlock_gateway.policy.engine import PolicyUnavailableError
from interlock_gateway.policy.loader import read_bundle
from interlock_gateway.policy.opa.outline import outline
from interlock_gateway.policy.opa.placing import moved, place

SPACE = "s.p"


@pytest.mark.parametrize(
    ("source", "there"),
    [
        ("package a", "package s.p.a"),
        ("package a.b # data.x\n", "package s.p.a.b # data.x\n"),
        ("import data.a.b as c", "import data.s.p.a.b as c"),
        ("x := data.a.b", "x := data.s.p.a.b"),
        ('x := data["a"][input.data]', 'x := data.s.p["a"][input.data]'),
        ("x := data[y]", "x := data.s.p[y]"),
        ("x := [data.a, {data.b: data.c}]", "x := [data.s.p.a, {data.s.p.b: data.s.p.c}]"),
        ('x := "data.a \\" data.b"', 'x := "data.a \\" data.b"'),
        ("x := `data.a\npackage data.b`", "x := `data.a\npackage data.b`"),
        ("x := input.data.data", "x := input.data.data"),
        ("my_data := database.data", "my_data := database.data"),
        ("# data.a\nx := 1", "# data.a\nx := 1"),
        ('x := f("#", data.a) # "', 'x := f("#", data.s.p.a) # "'),
    ],
)
def test_references_to_data_are_moved_and_nothing_else_is(source: str, there: str) -> None:
    assert moved("x.rego", source, SPACE) == there


def test_a_template_string_is_not_moved_but_refused() -> None:
    with pytest.raises(PolicyUnavailableError, match=r"x\.rego: a template string"):
        moved("x.rego", 'x := $"{data.a}"', SPACE)


@pytest.mark.req("ENG-2")
def test_the_shipped_policies_are_sound_where_they_are_moved_to(program: Any, tmp_path: Path) -> None:
    placed = place(read_bundle())
    for number, (_, source) in enumerate((*placed.modules, placed.entry)):
        assert not re.search(r"data\.interlock\b", re.sub(r"#.*", "", source))
        (tmp_path / f"{number}.rego").write_text(source)
    checked = subprocess.run([program("opa"), "check", tmp_path], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


@pytest.mark.req("LIFE-3")
def test_a_place_is_named_by_everything_that_can_change_a_decision() -> None:
    first = saying("a")
    others = [
        saying("b"),
        make_bundle(dict(first.modules), {"interlock": {"settings": {"x": 1}}}, profile="standard"),
        make_bundle(dict(first.modules), {"interlock": {"settings": {}}}, profile="strict"),
        make_bundle(dict(first.modules), {"interlock": {"settings": {}}}, profile="standard", enforced=False),
    ]
    names = {place(bundle).name for bundle in (first, *others)}
    assert len(names) == 5
    assert place(saying("a")).name == place(first).name


def test_an_outline_has_each_function_with_its_arguments_and_calls_nothing() -> None:
    source = """package a.b # c

import data.x

f(y) := x.g(y)

e({"k": [a, b], "l": c}, "(,", `
(,`) if { a; b
c }

default h(_, _) := 1

g(
\ty,
\tz
) := 2 if {
\tinner(y)
}

rule := f(1)
"""
    assert outline(source) == (
        "package a.b\n\nf(a0) := a0\n\ne(a0, a1, a2) := a0\n\nh(a0, a1) := a0\n\ng(a0, a1) := a0\n"
    )


@pytest.mark.req("PERF-6")
def test_a_gateway_that_asks_no_server_does_not_load_the_client() -> None:
    heavy = "{'aiohttp', 'opa_client'} & set(sys.modules)"
    script = f"import sys, interlock_gateway.app; found = {heavy}; assert not found, found"
    subprocess.run([sys.executable, "-c", script], check=True)
