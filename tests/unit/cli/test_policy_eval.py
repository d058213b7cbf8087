"""`interlock policy eval`: what policy decides about a described call, and each rule that fired."""

import json
from pathlib import Path
from typing import Any

import pytest
from command_runs import run, run_json

READER = {"name": "look", "metadata": {"read_only": True}}
GUARDED = {"name": "edit", "metadata": {"read_only": False}, "capability": {"dry_run": True, "min_confidence": 70}}


def evaluated(call: dict[str, Any], code: int, *arguments: str | Path) -> Any:
    return run_json("policy", "eval", json.dumps(call), *arguments, code=code)


@pytest.mark.parametrize(
    ("tool", "asked", "verdict", "code"),
    [
        (READER, {}, "allow", 0),
        (GUARDED, {}, "deny", 1),
        (GUARDED, {"_flyto_confidence": 90}, "preview", 4),
        ("unheard_of", {}, "checkpoint", 4),
    ],
)
def test_the_exit_code_says_what_was_decided(tool: Any, asked: dict[str, Any], verdict: str, code: int) -> None:
    assert evaluated({"tool": tool, "input": asked}, code)["decision"]["verdict"] == verdict


@pytest.mark.req("LIFE-2")
def test_each_rule_that_fired_is_shown_also_one_that_a_stricter_one_overruled() -> None:
    shown = evaluated({"tool": GUARDED, "input": {"_flyto_confidence": 10}}, 1)
    assert [reason["rule"] for reason in shown["decision"]["reasons"]] == ["confidence/below"]
    fired = {finding["rule"]: finding["verdict"] for finding in shown["findings"]}
    assert fired["confidence/below"] == "deny"
    assert fired["preview/required"] == "preview"
    table = run("policy", "eval", json.dumps({"tool": GUARDED, "input": {"_flyto_confidence": 10}})).stdout
    assert "rules that fired:" in table
    assert table.index("confidence/below") < table.index("preview/required")


def test_what_the_call_is_made_of_can_be_said_in_part(tmp_path: Path) -> None:
    file = tmp_path / "call.json"
    file.write_text(json.dumps({"tool": READER, "principal": {"id": "me"}, "session": {"taints": ["untrusted"]}}))
    document = run_json("policy", "eval", f"@{file}")["input"]
    assert document["principal"]["id"] == "me"
    assert document["principal"]["roles"] == ["agent"]
    assert document["session"]["taints"] == ["untrusted"]


def test_a_whole_document_is_taken_as_it_is() -> None:
    document = evaluated({"tool": READER}, 0)["input"]
    document["tool"]["pin_state"] = "changed"
    again = evaluated(document, 1)
    assert again["input"] == document
    assert again["decision"]["verdict"] == "deny"


def test_the_operators_own_rules_and_overrides_hold(tmp_path: Path) -> None:
    run_json("init", tmp_path)
    config = tmp_path / "interlock.yaml"
    push = {"tool": {"name": "git_push", "metadata": {"read_only": True}}, "input": {"branch": "main"}}
    denied = evaluated(push, 1, "--config", config)
    assert denied["decision"]["reasons"][0]["rule"] == "custom/protected_branch"
    config.write_text(config.read_text().replace("tools:\n", "tools:\n  look: {min_confidence: 50}\n"))
    assert evaluated({"tool": READER}, 1, "--config", config)["decision"]["reasons"][0]["code"] == "confidence_missing"


def test_the_facts_of_a_command_are_what_policy_decides_on() -> None:
    bash = {"name": "bash", "metadata": {"destructive": True, "permission_class": "bash"}}
    shown = evaluated({"tool": bash, "input": {"command": "git status; rm -rf /"}}, 1)
    assert "bash/destructive" in {reason["rule"] for reason in shown["decision"]["reasons"]}


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("{", "the call cannot be read: input is not valid JSON"),
        ('{"tool": "a", "tool": "b"}', 'the key "tool" more than once'),
        ('{"tol": "a"}', "tol is no part of a described call"),
        ('{"tool": "a", "call": {"input": {"x": 1}}}', "`input` stands beside `tool`, not in `call`"),
        ('{"input": {}}', "the call names no tool"),
        ('{"tool": 5}', "tool must be a JSON object"),
        ('{"tool": {}}', "tool needs a name"),
        ('{"tool": {"name": "a", "red_only": true}}', "tool has no red_only; it has name"),
        ('{"tool": {"name": "a", "metadata": {"red_only": true}}}', "tool.metadata has no red_only; it has"),
        ('{"tool": {"name": "a", "pin_state": "new"}}', "tool.pin_state must be pinned, changed, unconfirmed"),
        ('{"tool": "a", "input": []}', "input must be a JSON object"),
        ('{"tool": "a", "call": {"kin": "undo"}}', "call.kin: Extra inputs are not permitted"),
        ('{"version": 2}', "version: Input should be 1"),
        ("@/does/not/exist", "/does/not/exist: No such file or directory"),
    ],
)
def test_a_call_that_no_gateway_would_send_is_named(written: str, said: str) -> None:
    ended = run("policy", "eval", written)
    assert ended.exit_code in {1, 2}
    assert said in ended.stderr


def test_a_file_that_is_named_without_its_sign_is_told_of(tmp_path: Path) -> None:
    written = tmp_path / "call.json"
    written.write_text("{}", encoding="utf-8")
    ended = run("policy", "explain", str(written))
    assert ended.exit_code == 2
    assert f"is given as @{written}" in ended.stderr
