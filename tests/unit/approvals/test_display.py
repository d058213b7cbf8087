"""Hostile text in any field of a checkpoint is shown and does nothing (CHK-10)."""

import json
from dataclasses import fields, replace
from typing import Any

import pytest
from interlock.v1 import checkpoint_pb2
from interlock_gateway.approvals.display import LONGEST_TEXT, shown, text
from interlock_gateway.approvals.history import PastCall
from interlock_gateway.core.checkpoint import ApproverDecision, CheckpointAnswer
from interlock_gateway.core.decision import Decision, Reason, Verdict
from interlock_gateway.core.outcome import Preview
from interlock_gateway.core.tool import Effect
from interlock_gateway.transport.grpc.encode_checkpoint import checkpoint as encoded
from waiting_checkpoints import NOW, waiting

HOSTILE = "a\x1b[2J\x1b]0;x\x07b\u202egnp\u2066c\u200bd\x9b2Je\x7f\U000e0041"
ACTING = frozenset("\x1b\x07\u202e\u2066\u200b\x9b\x7f\U000e0041")


def hostile_checkpoint() -> Any:
    said = CheckpointAnswer(
        HOSTILE,
        "token",
        (),
        ApproverDecision.EDIT,
        HOSTILE,
        "grpc",
        NOW,
        json.dumps({HOSTILE: HOSTILE}, ensure_ascii=False).encode(),
        HOSTILE,
        HOSTILE,
    )
    raw = json.dumps({"cmd": HOSTILE, HOSTILE: [HOSTILE]}, ensure_ascii=False).encode()
    return waiting(
        requester=HOSTILE,
        tool=HOSTILE,
        provider=HOSTILE,
        workdir=HOSTILE,
        intent=HOSTILE,
        labels={HOSTILE: HOSTILE},
        deliverable={"hidden_assumptions": [HOSTILE], "failure_scenarios": [HOSTILE], "verdict_reason": HOSTILE},
        decision=Decision("d", Verdict.CHECKPOINT, (Reason(HOSTILE, HOSTILE, HOSTILE),), notes=(HOSTILE,)),
        facts={"paths": [HOSTILE], HOSTILE: {"x": HOSTILE}},
        input=raw,
        shown_input=raw,
        rendered_call=HOSTILE,
        preview=Preview((HOSTILE,), HOSTILE, {HOSTILE: [HOSTILE]}),
        answers=(said,),
        closed_reason=HOSTILE,
    )


def texts_of(message: Any) -> list[str]:
    """Every text of a message, however deep."""
    found: list[str] = []
    for field, value in message.ListFields():
        for item in value if field.is_repeated else [value]:
            if isinstance(item, str):
                found.append(item)
            elif isinstance(item, bytes):
                found.append(item.decode())
            elif hasattr(item, "ListFields"):
                found += texts_of(item)
    return found


@pytest.mark.req("CHK-10")
def test_no_text_that_an_approver_is_sent_acts_hides_or_reorders() -> None:
    message = encoded(hostile_checkpoint(), lambda *_: None)
    texts = texts_of(message)
    assert len([one for one in texts if "<U+202E>" in one or "\\u202e" in one]) >= 18
    assert [one for one in texts if ACTING & set(one)] == []


@pytest.mark.req("CHK-10")
def test_json_that_may_be_edited_still_means_what_it_meant() -> None:
    one = hostile_checkpoint()
    assert json.loads(shown(one).shown_input) == json.loads(one.shown_input)
    assert json.loads(shown(one).answers[0].edited_input) == json.loads(one.answers[0].edited_input)


@pytest.mark.req("CHK-10")
def test_every_field_with_words_in_it_is_looked_after() -> None:
    """A field that is added to a checkpoint has to be shown safely, or listed here as none that is shown."""
    ids = {"checkpoint_id", "session_id", "call_id", "request_digest", "requester_kind", "pin", "digest"}
    unshown = {"policy_revision", "input", "pending_id", "operation_id", "edited_from", "approvers", "escalate_to"}
    safe = shown(hostile_checkpoint())
    for field in fields(safe):
        if field.name not in ids | unshown:
            value = getattr(safe, field.name)
            words = value.decode() if isinstance(value, bytes) else repr_of(value)
            assert not ACTING & set(words), field.name


def repr_of(value: Any) -> str:
    """All the text in a value, not escaped as `repr` would."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, dict):
        return "".join(f"{key}{repr_of(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return "".join(map(repr_of, value))
    if hasattr(value, "__dataclass_fields__"):
        return "".join(repr_of(getattr(value, field.name)) for field in fields(value))
    return str(value)


def test_a_text_nobody_would_read_to_its_end_is_cut_and_says_so() -> None:
    assert text("x" * (LONGEST_TEXT + 7)).endswith("\n[7 more characters are not shown]")


def test_what_ran_before_goes_along() -> None:
    past = PastCall("c", "read", "path: a", Effect.READ_ONLY, Verdict.ALLOW, "done", NOW)
    message = encoded(replace(waiting(), escalated=True), lambda *_: None, [past])
    assert [(one.tool, one.status) for one in message.history] == [("read", "done")]
    assert message.state == checkpoint_pb2.CHECKPOINT_STATE_OPEN
