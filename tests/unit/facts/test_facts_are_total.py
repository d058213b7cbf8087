"""Whatever a call holds, facts come back, match their schema, and cost a bounded amount of work."""

import random

import pytest
from facts_bash_cases import ALL
from facts_calls import Bash, Facts
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from interlock_gateway.facts.shell.reading import MAX_COMMANDS, MAX_DEPTH, MAX_NESTING, MAX_SCRIPT_BYTES, MAX_STEPS
from interlock_gateway.facts.shell.survey import Survey

pytestmark = pytest.mark.req("PIPE-5")

FRAGMENTS = [
    *(
        "zap",
        "x",
        " ",
        "\n",
        ";",
        "&",
        "|",
        "&&",
        "(",
        ")",
        "{ ",
        " }",
        "<",
        ">",
        "<<E\n",
        "\nE\n",
        "<<<",
        "$(",
        "`",
        "'",
        '"',
    ),
    *(
        "\\",
        "\\\n",
        "#",
        "$'",
        "${x:-",
        "}",
        "$((",
        "))",
        "((",
        "[[ ",
        " ]]",
        "if ",
        " then ",
        " fi",
        "case x in ",
        ";;",
        "esac",
    ),
    *(
        *("tim\\\ne ", "coproc\\\n ", "i\\\nf ", "\\\nthen ", "!\\\n ", "{\\\n ", "[\\\n[ ", "(\\\n(", "d\\\no "),
        "for x in ",
        " do ",
        " done",
        "f() ",
        "a=(",
        "a[",
        "]=",
        "<(",
        "eval ",
        "bash -c '",
        "sudo ",
        "xargs ",
        "find . -exec ",
    ),
    *(
        "env ",
        "\t",
        "\r",
        "\0",
        "\u00e9",
        "\u202e",
        "\ud800",
        "\U0010fffe",
        "*",
        "?",
        "~",
        "{a,b}",
        "!",
        "coproc ",
        "time ",
    ),
]
SCRIPTS = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(FRAGMENTS), max_size=25).map("".join))
NAMES = [
    "path",
    "paths",
    "file",
    "command",
    "cwd",
    "edits",
    "x",
    "~/",
    "properties",
    "items",
    "x-interlock-fact",
    "$ref",
]
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=20)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(NAMES), inner, max_size=4)),
    max_leaves=12,
)
BOUNDED = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@given(SCRIPTS)
@BOUNDED
def test_any_text_gives_facts(facts: Facts, script: str) -> None:
    document = facts("bash", {"command": script}, roots=("/workspace",))
    assert document["extracted"] is True
    assert len(document["bash"]["commands"]) <= MAX_COMMANDS


@given(
    st.dictionaries(st.sampled_from(NAMES), JSON, max_size=4), st.dictionaries(st.sampled_from(NAMES), JSON, max_size=4)
)
@BOUNDED
def test_any_input_and_any_schema_give_facts(facts: Facts, call: dict[str, object], schema: dict[str, object]) -> None:
    for permission_class in ("bash", "file"):
        facts(permission_class, call, schema=schema, roots=("/workspace",))


@given(st.text(max_size=60), st.lists(st.text(max_size=20), max_size=2))
@BOUNDED
def test_any_path_gives_facts(facts: Facts, path: str, roots: list[str]) -> None:
    facts("file", {"path": path}, roots=tuple(roots), workdir=path)


def test_an_annotation_may_be_anything(facts: Facts) -> None:
    annotations: tuple[object, ...] = ([], {}, [["path"]], 7, None)
    for annotation in annotations:
        of_items = {"type": "array", "items": {"x-interlock-fact": annotation}}
        schema = {"properties": {"path": {"x-interlock-fact": annotation}, "paths": of_items}}
        document = facts("file", {"path": "a", "paths": ["b"]}, schema=schema, roots=("/workspace",))
        assert document["class"] == "file"


def test_a_damaged_script_gives_facts(bash: Bash) -> None:
    chooser = random.Random(5)
    scripts = [script for script, _, _ in ALL]
    for _ in range(1500):
        script = chooser.choice(scripts) + chooser.choice(scripts)
        at = chooser.randrange(len(script) + 1)
        bash(script[:at] + chooser.choice(FRAGMENTS) + script[at + chooser.randrange(3) :])


def filled(piece: str, before: str = "", after: str = "") -> str:
    return before + piece * ((MAX_SCRIPT_BYTES - len(before) - len(after)) // len(piece.encode("utf-8"))) + after


HEAVY = [
    *(
        filled(piece)
        for piece in ("a ", "a;", "a|\n", "\n", "$x ", "''", "a&", ">a ", "2>&1 ", "a=b ", "*? ", "/a/b ", "#\n")
    ),
    *(
        filled(piece)
        for piece in ("$(", "(", "{ ", "`a` ", "<(a) ", "if a;then ", "f(){ a;};", "<<A ", "sudo ", "eval ", "xargs ")
    ),
    *(
        filled(piece)
        for piece in ("cd a;", "cd a&&", "$'\\x41'", "${x} ", "\\a", "\\\n", "[", "a[", "'a[' ", "{a,", "time ", "! ")
    ),
    filled("`a`", "cat <<A\n", "\nA"),
    filled("$x ", "cat <<A\n", "\nA"),
    filled("a) b;;", "case x in ", "esac"),
    filled("(1)+", "echo $((", "1))"),
    filled("{", "echo ${x:-", "}"),
    filled("a[", "echo '$(", "'"),
    filled("a ", "[[ ", " ]]"),
    filled("b ", "a=(", ")"),
    filled("a=b ", "env "),
    filled("a=b ", "alias "),
    filled("bisect run ", "git "),
    filled("foreach submodule -x ", "git "),
    filled("-exec a ';' ", "find "),
    filled("a ", "parallel ::: "),
    filled("a;", "sh -c '", "'"),
    filled('"$(a)"', "echo "),
    "bash -c '" * 40,
    filled("A\n", filled("<<A ", "cat ")[:30_000] + "\n")[:60_000],
]


@pytest.mark.parametrize("script", HEAVY, ids=lambda script: ascii(script[:24]))
def test_work_is_bounded_whatever_the_script(script: str) -> None:
    survey = Survey()
    survey.take_script(script)
    assert survey.budget.steps >= -MAX_STEPS
    assert len(survey.found) <= MAX_COMMANDS
    assert sum(len(found.words) for found in survey.found) <= 2 * MAX_STEPS
    assert max((len(found.wrappers) for found in survey.found), default=0) <= MAX_DEPTH


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("a" * (MAX_SCRIPT_BYTES + 1), "longer than 65536 bytes"),
        ("\u00e9" * (MAX_SCRIPT_BYTES // 2 + 1), "longer than 65536 bytes"),
        ("zap;" * (MAX_COMMANDS + 1), "more than 2000 commands"),
        ("zap x" + " x" * MAX_STEPS, "more than 10000 steps"),
        ("( " * (MAX_DEPTH + 1) + "zap" + ")" * (MAX_DEPTH + 1), "nested more than 16 deep"),
        ("$(" * (MAX_DEPTH + 1) + "zap" + ")" * (MAX_DEPTH + 1), "nested more than 16 deep"),
        ("sudo " * (MAX_DEPTH + 2) + "zap", "wrap one another more than 16 deep"),
        ("eval " * (MAX_DEPTH + 2) + "zap", "nested more than 16 deep"),
        ("echo " + "${a:-" * (MAX_NESTING + 1) + "}" * (MAX_NESTING + 1), "nested more than 48 deep"),
        ("echo " + '"${a:-' * 2_000, "nested more than 48 deep"),
        ("echo " + "${a[" * 2_000, "nested more than 48 deep"),
        ("echo " + "$((" * 2_000, "nested more than 48 deep"),
        ("a=(" * 2_000, "nested more than 48 deep"),
    ],
    ids=lambda value: ascii(value)[:24],
)
def test_what_is_past_a_bound_is_said(bash: Bash, script: str, reason: str) -> None:
    document = bash(script)
    assert document["parse_error"] is True
    assert reason in document["errors"][-1]


def test_what_is_within_the_bounds_is_read(bash: Bash) -> None:
    assert bash("( " * MAX_DEPTH + "zap" + ")" * MAX_DEPTH)["names"] == ["zap"]
    assert len(bash("zap;" * MAX_COMMANDS)["commands"]) == MAX_COMMANDS
    assert bash("echo " + "${a:-" * MAX_NESTING + "}" * MAX_NESTING)["parse_error"] is False
    assert bash("sudo " * MAX_DEPTH + "zap")["names"] == ["sudo", "zap"]
    assert bash("zap '" + "x" * (MAX_SCRIPT_BYTES - 6) + "'")["parse_error"] is False


def test_what_was_read_before_a_bound_is_kept(bash: Bash) -> None:
    document = bash("rm -rf x; " + "( " * (MAX_DEPTH + 1))
    assert document["commands"][0]["argv"] == ["rm", "-rf", "x"]
