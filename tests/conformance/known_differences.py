"""Where the embedded engine and OPA are known to differ, each with a policy that shows it (ENG-2, CON-3).

What is `refused` is not loaded, whichever engine is configured; the code is that of the problem. The rest are
exceptions: what they are about is only known when the policy runs, and what comes of them is said beside each.
A test holds both engines to what is written here, so that an engine that has changed is noticed.
"""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class KnownDifference:
    """`embedded` and `opa` are the values of `answer` in both engines: UNDEFINED, ERROR, or JSON."""

    name: str
    body: str
    embedded: Any
    opa: Any
    refused: str = ""
    document: Any = None


UNDEFINED = "(undefined)"
ERROR = "(error)"
HOLDS, NOT_SO = True, False

REFUSED = (
    KnownDifference(
        "a membership is negated, and its value is undefined",
        'answer if not input.x in {"a"}',
        HOLDS,
        UNDEFINED,
        "negation_refused",
    ),
    KnownDifference(
        "a membership is negated, and its collection is undefined",
        'answer if not "a" in input.x',
        HOLDS,
        UNDEFINED,
        "negation_refused",
    ),
    KnownDifference(
        "a comparison is negated, and an operand is undefined",
        "answer if not input.x > 1",
        HOLDS,
        UNDEFINED,
        "negation_refused",
    ),
    KnownDifference(
        "a built-in function is negated, and its argument is undefined",
        'answer if not startswith(input.x, "a")',
        HOLDS,
        UNDEFINED,
        "negation_refused",
    ),
    KnownDifference(
        "a function is negated, and its argument is undefined",
        "answer if not one(input.x)\n\none(x) if x == 1",
        HOLDS,
        UNDEFINED,
        "negation_refused",
    ),
    KnownDifference(
        "an equation is negated, and one of its sides is built of what is undefined",
        "answer if not input.y == [input.x]",
        HOLDS,
        UNDEFINED,
        "negation_refused",
        {"y": 1},
    ),
    KnownDifference(
        "a reference is negated, and what it looks up is undefined",
        "answer if not input.o[input.x]",
        HOLDS,
        UNDEFINED,
        "negation_refused",
        {"o": {"a": 1}},
    ),
    KnownDifference(
        "a negated function has no value for an empty list",
        "answer if not max(input.l) > 1",
        HOLDS,
        UNDEFINED,
        "negation_refused",
        {"l": []},
    ),
    KnownDifference(
        "a constant is negated, and nothing else is asked",
        "answer := input.a if { not true }",
        UNDEFINED,
        3,
        "negation_refused",
        {"a": 3},
    ),
    KnownDifference(
        "the value of a membership is taken, and its value is undefined",
        'answer := input.x in {"a"}',
        NOT_SO,
        UNDEFINED,
        "membership_refused",
    ),
    KnownDifference(
        "a membership is asked with key and value, of a set",
        'answer if "a", "a" in {"a", "b"}',
        UNDEFINED,
        HOLDS,
        "membership_refused",
    ),
    KnownDifference(
        "`every` unifies",
        'answer if { every v in ["x"] { v = "y" } }',
        HOLDS,
        UNDEFINED,
        "unification_refused",
    ),
    KnownDifference(
        "`every` negates what is looked up by its variable",
        'answer if { every v in ["x"] { not input.o[v] } }',
        UNDEFINED,
        HOLDS,
        "negation_refused",
        {"o": {}},
    ),
    KnownDifference(
        "walk gives its value",
        "answer := [path | [path, _] := walk(input)]",
        [],
        [[], ["a"]],
        "call_refused",
        {"a": 1},
    ),
    KnownDifference(
        "sprintf writes a fraction",
        'answer := sprintf("%f", [input.x])',
        "100",
        "100.000000",
        "call_refused",
        {"x": 1e2},
    ),
    KnownDifference(
        "sprintf writes a negative number",
        'answer := sprintf("%d", [input.x - 3])',
        "--2",
        "-2",
        "call_refused",
        {"x": 1},
    ),
    KnownDifference(
        "a function is replaced with a built-in one",
        "answer := x if x := one(1) with one as is_number\n\none(x) := x",
        ERROR,
        HOLDS,
        "with_refused",
    ),
    KnownDifference(
        "what was replaced before is replaced with a rule",
        "answer contains 1 if { wide with input.l as wide }\n\nanswer contains 2 if { wide with input.l as [3] }\n\n"
        "default wide := []\n\nwide := input.l if input.flag",
        [2],
        [1, 2],
        "with_refused",
        {"flag": False},
    ),
    KnownDifference(
        "a minus sign stands before a reference",
        "answer := -input.x",
        ERROR,
        -3,
        "minus_refused",
        {"x": 3},
    ),
    KnownDifference(
        "text is built from a template",
        'answer := $"{input.x}!"',
        ERROR,
        "a!",
        "parse_error",
        {"x": "a"},
    ),
)

EXCEPTIONS = (
    # Fractions are rounded: write `<` and `>` between them, never `==`.
    KnownDifference("fractions are added", "answer := 0.1 + 0.2", 0.30000000000000004, 0.3),
    # Only the words of a message differ.
    KnownDifference("sprintf writes a number as a string", 'answer := sprintf("%s", [5])', "5", "%!s(int64=5)"),
    KnownDifference(
        "sprintf writes a very great number",
        'answer := sprintf("%v", [input.x])',
        "1000000000000000000000",
        "1e+21",
        document={"x": 1e21},
    ),
    # An error is a denial: the embedded engine denies a call that OPA decides.
    KnownDifference(
        "a function fails beside something undefined",
        'answer if { [to_number("b"), input.x] == [1, 2] }',
        ERROR,
        UNDEFINED,
    ),
    KnownDifference(
        "`some` looks into what is no collection", "answer if some x in input.x", ERROR, UNDEFINED, "", {"x": 5}
    ),
    KnownDifference("replace looks for nothing", 'answer := replace("ä", "", "b")', "bäb", "b\ufffdb\ufffdb"),
    # And the other way round: OPA denies a call that the embedded engine decides.
    KnownDifference("indexof looks for nothing", 'answer := indexof("a", "")', 0, ERROR),
)

# Functions for which OPA has an error with arguments of a wrong kind, and the embedded engine an answer.
FAIL_ONLY_IN_OPA = frozenset({"array.slice", "indexof", "indexof_n", "substring", "time.parse_duration_ns"})
