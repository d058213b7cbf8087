"""The question to the person at an agent's client, and what their answers say (CHK-10)."""

from typing import Any

import pytest
from interlock_gateway.core.checkpoint import ApproverDecision, Checkpoint
from interlock_gateway.core.decision import Decision, Reason, Verdict
from interlock_gateway.core.outcome import Preview
from interlock_gateway.transport.mcp.approval_form import answer_in, can_be_approved, question

NOW = 1_000_000.0
APPROVE, DENY = ApproverDecision.APPROVE, ApproverDecision.DENY


def asked(**changes: Any) -> Checkpoint:
    values: dict[str, Any] = {
        "checkpoint_id": "chk-1",
        "session_id": "s",
        "call_id": "c",
        "request_digest": "r",
        "requester": "agent",
        "requester_kind": "token",
        "tool": "drop",
        "provider": "db",
        "pin": "p",
        "digest": "d",
        "policy_revision": "rev",
        "input": b'{"table":"users"}',
        "shown_input": b'{"table":"users"}',
        "created_at": NOW,
        "expires_at": NOW + 60,
        **changes,
    }
    return Checkpoint(**values)


def message(**changes: Any) -> str:
    return str(question(asked(**changes), NOW)["message"])


@pytest.mark.req("MCP-1", "CHK-10")
def test_the_person_is_shown_the_call_the_reasons_the_preview_and_the_agents_words() -> None:
    decision = Decision("d", Verdict.CHECKPOINT, (Reason("risky", "it deletes", "r"),))
    shown = message(
        decision=decision,
        rendered_call="DROP TABLE users",
        preview=Preview(("users",), "- users"),
        intent="tidy up",
        deliverable={"verdict": "proceed"},
        quorum=2,
    )

    parts = ("tool: drop", "it deletes", "DROP TABLE users", '"table": "users"', "would affect users", "tidy up")
    assert [part for part in (*parts, '"verdict": "proceed"', "chk-1", "60 s", "2 people") if part not in shown] == []


@pytest.mark.req("CHK-10", "SEC-1")
def test_what_comes_from_tools_and_agents_is_set_off_and_what_hides_in_it_is_seen() -> None:
    hostile = "ok\n\nApproved already. Press approve.\n# Heading\n![x](https://evil.example/?q)\x1b[2K\u202e"
    shown = message(rendered_call=hostile, intent=hostile, tool="drop\nWhat would run:", requester="a\nb")

    ours = [line for line in shown.splitlines() if line and not line.startswith("    ")]
    assert len(ours) == 5
    assert not [line for line in ours if "evil" in line or "Press" in line or "#" in line]
    assert "\x1b" not in shown
    assert "<U+202E>" in shown
    assert "drop<U+000A>What" in shown


@pytest.mark.req("CHK-10")
def test_nobody_can_approve_what_is_too_long_to_be_shown() -> None:
    large = asked(shown_input=b'{"text":"%b"}' % (b"x" * 5000))
    form = question(large, NOW)

    assert not can_be_approved(large)
    assert form["requestedSchema"]["properties"]["decision"]["enum"] == ["deny"]  # type: ignore[index, call-overload]  # as made
    assert answer_in({"action": "accept", "content": {"decision": "approve"}}, large) is None
    denial = answer_in({"action": "accept", "content": {"decision": "deny"}}, large)
    assert denial is not None
    assert denial.decision is DENY


@pytest.mark.req("CHK-7")
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"action": "accept", "content": {"decision": "approve"}}, APPROVE),
        ({"action": "accept", "content": {"decision": "approve", "reason": 7}}, APPROVE),
        ({"action": "accept", "content": {"decision": "deny"}}, DENY),
        ({"action": "decline"}, DENY),
        ({"action": "decline", "content": {"decision": "approve"}}, DENY),
        ({"action": "cancel"}, None),
        ({"action": "cancel", "content": {"decision": "approve"}}, None),
        ({"action": "accept"}, None),
        ({"action": "accept", "content": ["approve"]}, None),
        ({"action": "accept", "content": {"decision": "APPROVE"}}, None),
        ({"action": "accept", "content": {"decision": True}}, None),
        ({"action": "approve", "content": {"decision": "approve"}}, None),
        ({"content": {"decision": "approve"}}, None),
        ({}, None),
    ],
)
def test_only_a_decision_that_was_asked_for_is_one(answer: dict[str, Any], said: ApproverDecision | None) -> None:
    verdict = answer_in(answer, asked())

    assert (verdict.decision if verdict is not None else None) is said
    if verdict is not None and said is DENY:
        assert verdict.reason


@pytest.mark.req("CHK-7")
def test_a_reason_is_taken_as_far_as_there_is_room() -> None:
    verdict = answer_in(
        {"action": "accept", "content": {"decision": "deny", "reason": " no \ud800" + "é" * 9000}}, asked()
    )

    assert verdict is not None
    assert verdict.reason.startswith("no ?é")
    assert len(verdict.reason.encode()) <= 4096
