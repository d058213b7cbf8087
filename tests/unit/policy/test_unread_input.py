"""What no rule can read is not sent to the engine, and whatever one may read is."""

import json

import pytest
from interlock_gateway.pipeline.policy_input import LONG, PolicyInput, policy_input
from interlock_gateway.policy.embedded.unread import reads_previous
from interlock_gateway.policy.loader import shipped_policies

READERS = (
    'x if input.session.previous[_].tool == "a"',
    "x if count(input.session . previous) > 1",
    "x if input.session\n\t.previous == []",
    'x if input.session["previous"] == []',
    'x if input["session"].previous == []',
    'x if object.get(input, ["session", "previous"], []) != []',
    "x if count(input.session) > 1",
    "x if f(input.session)",
    "x if input.session[key]",
    "x if walk(input)",
    "x if f(input)",
    "x := input",
    "s := input.session",
    "x if input",
    "x if input.session",
    "x if input[a].previous",
    "x if some input in input",
    "import input.session as s",
    "import input.session.previous",
    'x := $"{input.session.previous}"',
    "x if every one in input.session { one }",
    "x := [one | one := input.session.previous[_]]",
    'x := "a" # input.session\ny := input.session.previous',
    "x := `#` == input.session.previous",
)
OTHERS = (
    "x if input.session.taints[_] == 1",
    "x if input.session.counters.calls > 1",
    "x if f(input.call)",
    'x if input.call["input"].session.previous == 1',
    "x if data.session.previous",
    "x if input.call.input.previous # of input.session, and of input",
    'x := "input.session.previous"',
    "x := `input[$]`",
    "previous if true",
)


@pytest.mark.parametrize("source", READERS)
def test_a_rule_that_may_read_the_calls_before_is_seen(source: str) -> None:
    assert reads_previous((("a.rego", "package a\n"), ("b.rego", f"package b\n{source}\n")))


@pytest.mark.parametrize("source", OTHERS)
def test_one_that_cannot_is_none(source: str) -> None:
    assert not reads_previous((("a.rego", f"package a\n{source}\n"),))


def test_the_shipped_rules_do_not_read_them() -> None:
    files = [(str(path), path.read_text()) for path in sorted(shipped_policies().rglob("*.rego"))]
    assert not reads_previous(tuple((path, text) for path, text in files if not path.endswith("_test.rego")))


@pytest.mark.parametrize("read", [True, False])
def test_the_whole_input_is_kept_whatever_is_asked(*, read: bool) -> None:
    made = _made(b'{"previous":[1],"a":"x"}', read=read)
    whole = json.loads(made.whole)
    assert whole["session"] == {"id": "s", "taints": ["a"], "previous": [{"tool": "t"}]}
    asked = json.loads(made.asked)
    assert ("previous" in asked["session"]) is read
    whole["session"].pop("previous")
    asked["session"].pop("previous", None)
    assert asked == whole


def test_of_long_arguments_no_second_copy_is_made() -> None:
    made = _made(b'{"a":"%b"}' % (b"x" * LONG), read=False)
    assert made.asked is made.whole


def _made(arguments: bytes, *, read: bool) -> PolicyInput:
    return policy_input(
        principal='{"id":"p","claims":{"previous":[2]}}',
        recent="{}",
        session='{"id":"s","taints":["a"]',
        previous='[{"tool":"t"}]',
        call='{"input":',
        arguments=arguments,
        tool=b'{"name":"t"}',
        gateway='{"replica":"r"}',
        reads_previous=read,
    )
