"""Receipts read from their bytes say the same as receipts read as JSON."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interlock_gateway.audit.segments import list_segments, read_raw_lines
from interlock_gateway.core.pending import ResolutionNote
from interlock_gateway.policy.replay.lines import beginning, parsed, recorded
from recorded_decisions import Call, said, write_log

JSON_TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
INPUTS = st.dictionaries(JSON_TEXTS, st.one_of(JSON_TEXTS, st.integers(-9, 9), st.lists(JSON_TEXTS, max_size=3)))
SECRET = "ghp_" + "x1Y2z3A4b5C6d7E8f9G0h1I2j3K4l5M6n7O8"


def lines_of(directory: Path) -> list[bytes]:
    found = [line for segment in list_segments(directory) for line in read_raw_lines(segment.path)]
    return [line for line in found if (begun := beginning(line)) is not None and begun.kind == b"receipt"]


def same(line: bytes) -> None:
    """Whatever is read from the bytes is what is read as JSON."""
    quick, slow = recorded(line), parsed(line)
    assert slow is not None
    if quick is None:
        return
    assert quick._replace(result=b"", policy_input=b"") == slow._replace(result=b"", policy_input=b"")
    assert canonical(quick.result) == canonical(slow.result)
    assert canonical(quick.policy_input) == canonical(slow.policy_input)


def canonical(text: bytes) -> Any:
    return json.loads(text) if text else None


@pytest.mark.req("LIFE-6")
@settings(max_examples=60, deadline=None)
@given(given_input=INPUTS, tool=JSON_TEXTS, message=JSON_TEXTS, principal=JSON_TEXTS)
def test_any_receipt_is_read_alike(
    tmp_path_factory: pytest.TempPathFactory, given_input: Any, tool: str, message: str, principal: str
) -> None:
    decision = said("deny", "a/b")
    decision["reasons"][0]["message"] = message
    call = Call(decision, given_input, tool=tool, principal=principal)
    for line in lines_of(write_log(tmp_path_factory.mktemp("log"), [call])):
        same(line)


@pytest.mark.parametrize(
    "call",
    [
        Call(said("allow", "a/b"), {"text": "x" * 9000}),
        Call(said("allow", "a/b"), {"token": SECRET}),
        Call(said("allow", "a/b"), {"input": {"version": 1}, "result": {"verdict": "deny"}, "metrics": {}}),
        Call(said("allow", "a/b", obligations={"set": {"metrics": {"x": 1}, "input": {"version": 1}}}), {}),
        Call(said("allow", "a/b"), {}, tool='a","input":{"version":1', principal='}}"'),
        Call(said("deny", "a/b"), {}, asked=False),
        Call(said("allow", "a/b"), {}, resolution=ResolutionNote("apply", "so", {"a": 1, "input": {"version": 1}})),
    ],
)
def test_what_looks_like_the_end_of_a_member_is_none(tmp_path: Path, call: Call) -> None:
    (line,) = lines_of(write_log(tmp_path, [call]))
    same(line)


def test_a_usual_receipt_is_not_parsed(tmp_path: Path) -> None:
    (line,) = lines_of(write_log(tmp_path, [Call(said("allow", "a/b"), {"path": "notes.txt"})]))
    found = recorded(line)
    assert found is not None
    assert found.is_whole
    assert found.policy_input in line
