"""JSON for programs: one style for the SDK's values and the contract's messages, in ASCII."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from interlock.decisions import Decision, Reason, Verdict
from interlock.v1 import gateway_status_pb2, registry_pb2, session_pb2, tool_pb2
from interlock_gateway.cli.jsonable import enum_word, jsonable, to_json


def test_the_text_is_ascii_whatever_is_in_it() -> None:
    text = to_json({"output": "\x1b[2J\u202e\x7f\x9b naïve 😀"})
    assert text.isascii()
    assert text.replace("\n", "").isprintable()
    assert json.loads(text)["output"] == "\x1b[2J\u202e\x7f\x9b naïve 😀"


def test_values_of_the_sdk_keep_their_names() -> None:
    decision = Decision(
        verdict=Verdict.DENY, reasons=(Reason("a", "b", "c"),), decided_at=datetime(2026, 1, 2, tzinfo=UTC)
    )
    document = jsonable(decision)
    assert document["verdict"] == "deny"
    assert document["reasons"] == [{"code": "a", "message": "b", "rule": "c"}]
    assert document["decided_at"] == "2026-01-02T00:00:00+00:00"


def test_spans_are_seconds_bytes_are_text_or_base64_and_paths_are_text() -> None:
    assert jsonable([timedelta(minutes=1), b"text", b"\xff", Path("/a")]) == [60.0, "text", "/w==", "/a"]


def test_messages_of_the_contract_read_like_the_values_of_the_sdk() -> None:
    message = session_pb2.Session(
        session_id="s",
        state=session_pb2.SESSION_STATE_OPEN,
        labels={"a": "b"},
        tools=["read"],
        opened_at=Timestamp(seconds=1),
    )
    document = jsonable(message)
    assert document["state"] == "open"
    assert document["labels"] == {"a": "b"}
    assert document["tools"] == ["read"]
    assert document["opened_at"] == "1970-01-01T00:00:01Z"
    assert document["closed_at"] is None
    assert document["calls"] == 0


def test_json_inside_a_message_is_json_and_not_base64() -> None:
    tool = registry_pb2.ProviderTool(
        declared=tool_pb2.ToolDefinition(name="a", input_schema=b'{"type": "object"}'),
        differences=[registry_pb2.ToolDifference(field="/title", before=b"", after=b'"x"')],
    )
    document = jsonable(tool)
    assert document["declared"]["input_schema"] == {"type": "object"}
    assert document["declared"]["metadata"] is None
    assert document["differences"] == [{"field": "/title", "before": None, "after": "x"}]


@pytest.mark.parametrize(
    ("enum", "number", "word"),
    [
        (session_pb2.SessionState, session_pb2.SESSION_STATE_CLOSED, "closed"),
        (registry_pb2.ProviderKind, registry_pb2.PROVIDER_KIND_MCP_STDIO, "mcp_stdio"),
        (gateway_status_pb2.ComponentState, gateway_status_pb2.COMPONENT_STATE_FAILED, "failed"),
        (registry_pb2.ProviderState, 99, "99"),
    ],
)
def test_a_value_of_an_enum_is_a_word(enum: type, number: int, word: str) -> None:
    assert enum_word(enum.DESCRIPTOR, number) == word  # type: ignore[attr-defined]  # the stubs' enums have one


def test_what_has_no_json_form_is_a_fault_of_ours() -> None:
    with pytest.raises(TypeError, match="a object has no JSON form"):
        jsonable(object())
