"""The built-in functions that policies may use answer alike in the embedded engine and in OPA (ENG-2, ENG-5)."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import regorus
from interlock_gateway.policy.checks.builtin_list import allowed_builtins

EXPRESSIONS = (
    "abs(-3)",
    "array.concat([1], [2, 3])",
    "array.reverse([1, 2, 3])",
    "array.slice([1, 2, 3], 1, 9)",
    'base64.decode("aGVsbG8=")',
    'base64.encode("hello")',
    "bits.and(6, 3)",
    "bits.or(6, 3)",
    "ceil(1.2)",
    'concat(", ", ["a", "b"])',
    'concat(", ", {"b", "a"})',
    'contains("häuser", "äu")',
    "count({1, 2, 2})",
    'count("äöü")',
    'endswith("abc", "bc")',
    "floor(1.8)",
    "format_int(255, 16)",
    'hex.encode("az")',
    'indexof("häuser", "user")',
    "intersection({{1, 2}, {2, 3}})",
    "is_array([])",
    "is_boolean(false)",
    "is_null(null)",
    "is_number(1.5)",
    "is_object({})",
    "is_set(set())",
    'is_string("")',
    'lower("ÄÖ")',
    "max([1, 3, 2])",
    'max({"a", "b"})',
    "min([3, 1, 2])",
    'net.cidr_contains("10.0.0.0/8", "10.1.2.3")',
    'net.cidr_contains("10.0.0.0/8", "11.1.2.3")',
    "numbers.range(3, 1)",
    'object.filter({"a": 1, "b": 2}, ["a"])',
    'object.get({"a": {"b": 1}}, ["a", "b"], 0)',
    'object.get({"a": 1}, "c", 7)',
    'object.keys({"a": 1, "b": 2})',
    'object.remove({"a": 1, "b": 2}, {"a"})',
    'object.union({"a": {"b": 1}}, {"a": {"c": 2}})',
    'object.union_n([{"a": 1}, {"b": 2}, {"a": 3}])',
    "product([2, 3, 4])",
    'regex.match("^a+b?$", "aaab")',
    'regex.split("[,;]", "a,b;c")',
    'replace("aXbX", "X", "-")',
    "round(2.5)",
    "round(-2.5)",
    'semver.compare("1.10.0", "1.9.0")',
    'sort([3, "a", 1, null, true])',
    'sort({"b", "a"})',
    'split("a/b//c", "/")',
    'sprintf("%s is %d of %v, %v", ["x", 3, [1, "y"], 72.5])',
    'sprintf("%v %v", [72.0, 1e3])',
    'startswith("abc", "ab")',
    'strings.any_prefix_match(["abc"], ["ab", "x"])',
    'strings.any_suffix_match(["abc"], ["bc", "x"])',
    'strings.reverse("äbc")',
    'substring("häuser", 1, 3)',
    'substring("abc", 1, -1)',
    "sum([1, 2.5])",
    "time.clock(1767225600000000000)",
    "time.date(1767225600000000000)",
    'time.parse_rfc3339_ns("2026-01-01T00:00:00.123+00:00")',
    "time.weekday(1767225600000000000)",
    'to_number("12.5")',
    'trim("xxabcx", "x")',
    'trim_left("xxabc", "x")',
    'trim_prefix("abcab", "ab")',
    'trim_right("abcxx", "x")',
    'trim_space("  a b\\t\\n")',
    'trim_suffix("abcab", "ab")',
    "type_name({1})",
    "union({{1}, {2}})",
    'base64url.encode("hello?")',
    "bits.lsh(3, 4)",
    "bits.negate(7)",
    "bits.rsh(48, 4)",
    "bits.xor(6, 3)",
    'graph.reachable({"a": ["b"], "b": []}, ["a"])',
    'graph.reachable_paths({"a": ["b"], "b": []}, ["a"])',
    'hex.decode("617a")',
    'indexof_n("sad", "a")',
    'net.cidr_expand("192.168.0.0/30")',
    'net.cidr_is_valid("10.0.0.0/8")',
    'regex.find_all_string_submatch_n("a(x*)b", "-axxb-ab-", -1)',
    'regex.find_n("a.", "paranormal", -1)',
    "time.diff(1767225600000000000, 1735689600000000000)",
    'time.parse_duration_ns("1h30m")',
    'yaml.unmarshal("a: [1, x]")',
    '[path | walk({"a": [1]}, [path, _])]',
)


@pytest.mark.req("ENG-2", "ENG-5")
def test_every_allowed_function_gives_the_same_answer_in_both(program: Any) -> None:
    opa: Path = program("opa")
    ours = {expression: evaluated(expression) for expression in EXPRESSIONS}
    query = "[" + ", ".join(EXPRESSIONS) + "]"
    answered = subprocess.run([opa, "eval", "--format", "raw", query], capture_output=True, text=True, check=False)
    assert answered.returncode == 0, answered.stderr
    assert ours == dict(zip(EXPRESSIONS, json.loads(answered.stdout), strict=True))


@pytest.mark.req("ENG-5")
def test_every_allowed_function_is_tried() -> None:
    tried = {name for expression in EXPRESSIONS for name in re.findall(r"([a-z_0-9.]+)\(", expression)}
    assert allowed_builtins() - tried == set()


def evaluated(expression: str) -> Any:
    engine = regorus.Engine()
    engine.add_policy("try.rego", f"package try\n\nanswer := {expression}\n")
    return json.loads(engine.eval_rule_as_json("data.try.answer"))
