import hashlib
import json
from pathlib import Path

import pytest
from audit_logs import ManualClock, open_log
from interlock_gateway.audit.keys import SigningKey
from interlock_gateway.audit.masking import RawJson
from interlock_gateway.audit.read import read_records
from interlock_gateway.audit.receipt import Approval, ReceiptFacts, ReceiptKind, build_receipt
from interlock_gateway.core.call import CallKind, CallStatus
from interlock_gateway.core.content import Artifact
from interlock_gateway.core.decision import Decision, Obligations, Reason, Verdict
from interlock_gateway.core.jsonvalue import JsonObject
from interlock_gateway.core.session import Principal, Role

PRINCIPAL = Principal("agent-7", "token", frozenset({Role.AGENT}))
DECISION = Decision(
    decision_id="d-1",
    verdict=Verdict.ALLOW,
    reasons=(Reason("readonly", "It only reads.", "readonly/allow"),),
    obligations=Obligations(strip=("x",), max_result_bytes=100),
    notes=("n",),
    policy_revision="rev-9",
    profile="standard",
)


def policy_input(call_input: bytes) -> bytes:
    return b'{"version":1,"call":{"id":"c-1","facts":{"class":"file"},"input":' + call_input + b'},"tool":{"name":"t"}}'


def facts(call_input: bytes = b'{"path": "a.txt"}', **more: object) -> ReceiptFacts:
    given: dict[str, object] = {
        "kind": ReceiptKind.RECEIPT,
        "time": 1_780_000_000.25,
        "principal": PRINCIPAL,
        "session_id": "s-1",
        "call_id": "c-1",
        "tool": "read_file",
        "decision": DECISION,
        "provider": "toolbox",
        "pin": "ab" * 32,
        "digest": "cd" * 32,
        "effect": "read_only",
        "audit_operation": "read",
        "policy_input": policy_input(call_input),
        "call_input": call_input,
        "replica": "r-1",
    }
    return ReceiptFacts(**{**given, **more})  # type: ignore[arg-type] # by name


async def stored(made: ReceiptFacts, directory: Path, key: SigningKey, clock: ManualClock) -> JsonObject:
    log = open_log(directory, key, clock)
    await log.commit(lambda: build_receipt(made))
    log.close()
    return next(record.record for record in read_records(directory) if record.kind in {"receipt", "intent"})


@pytest.mark.req("AUD-1")
async def test_a_receipt_says_everything_there_is_to_say(directory: Path, key: SigningKey, clock: ManualClock) -> None:
    made = facts(
        status=CallStatus.COMPLETED,
        truncated=True,
        redactions=2,
        artifact=Artifact("artifact://s-1/" + "0" * 64, 70_000, 12, "text/plain", "0" * 64),
        durations={"decide": 0.0005, "dispatch": 0.25},
        approval=Approval("cp-1", "approved", ("bob",), "fine"),
        call_kind=CallKind.APPLY,
        pending_id="p-1",
        trace_id="t" * 32,
        span_id="s" * 16,
    )
    record = await stored(made, directory, key, clock)
    assert record == {
        **record,
        "v": 1,
        "sequence": 2,
        "kind": "receipt",
        "decision_id": "d-1",
        "timestamp": "2026-05-28T20:26:40.250000Z",
        "path": "interlock/decision",
        "labels": {"id": "r-1", "profile": "standard"},
        "bundles": {"interlock": {"revision": "rev-9"}},
        "requested_by": "agent-7",
        "principal": {"id": "agent-7", "kind": "token"},
        "session_id": "s-1",
        "call_id": "c-1",
        "call_kind": "apply",
        "tool": "read_file",
        "provider": "toolbox",
        "pin": "ab" * 32,
        "digest": "cd" * 32,
        "effect": "read_only",
        "audit_operation": "read",
        "result": {
            "verdict": "allow",
            "reasons": [{"code": "readonly", "message": "It only reads.", "rule": "readonly/allow"}],
            "obligations": {"strip": ["x"], "max_result_bytes": 100},
            "notes": ["n"],
        },
        "metrics": {"timer_interlock_decide_ns": 500_000, "timer_interlock_dispatch_ns": 250_000_000},
        "outcome": {"status": "completed", "is_error": False, "truncated": True, "redactions": 2},
        "artifact": {"uri": "artifact://s-1/" + "0" * 64, "bytes": 70_000, "sha256": "0" * 64},
        "checkpoint": {"id": "cp-1", "outcome": "approved", "approvers": ["bob"], "reason": "fine"},
        "pending_id": "p-1",
        "trace_id": "t" * 32,
        "span_id": "s" * 16,
        "input": json.loads(policy_input(b'{"path": "a.txt"}')),
    }
    assert "erased" not in record
    assert "masked" not in record


@pytest.mark.req("AUD-1")
async def test_an_intent_has_no_outcome(directory: Path, key: SigningKey, clock: ManualClock) -> None:
    record = await stored(facts(kind=ReceiptKind.INTENT), directory, key, clock)
    assert record["kind"] == "intent"
    assert "outcome" not in record


@pytest.mark.req("AUD-1")
async def test_a_small_input_is_kept_as_it_was_sent_but_for_secrets(
    directory: Path, key: SigningKey, clock: ManualClock
) -> None:
    given = b'{\n "token": "ghp_' + b"x1y2z3" * 6 + b'",\r\n "path": "a"}'
    record = await stored(facts(given), directory, key, clock)
    assert record["input"] == {
        "version": 1,
        "call": {
            "id": "c-1",
            "facts": {"class": "file"},
            "input": {"token": "[redacted:secret]", "path": "a"},
        },
        "tool": {"name": "t"},
    }
    assert record["masked"] == ["/input/call/input/token"]


@pytest.mark.req("AUD-1")
async def test_a_large_input_is_replaced_by_its_digest_and_named_as_erased(
    directory: Path, key: SigningKey, clock: ManualClock
) -> None:
    given = json.dumps({"text": "x" * 5000}).encode()
    record = await stored(facts(given), directory, key, clock)
    assert isinstance(record["input"], dict)
    assert record["input"]["call"] == {
        "id": "c-1",
        "facts": {"class": "file"},
        "input": {"sha256": hashlib.sha256(given).hexdigest(), "bytes": len(given)},
    }
    assert record["erased"] == ["/input/call/input"]
    known = build_receipt(facts(given, call_input_sha256="ef" * 32))["input"]
    assert isinstance(known, RawJson)
    assert json.loads(known.text)["call"]["input"] == {"sha256": "ef" * 32, "bytes": len(given)}


@pytest.mark.req("AUD-1")
async def test_what_only_begins_like_a_large_input_is_left_where_it_stands(
    directory: Path, key: SigningKey, clock: ManualClock
) -> None:
    given = json.dumps({"text": "x" * 5000}).encode()
    lookalike = given.replace(b'x"}', b'y"}')
    whole = b'{"labels":{"input":' + lookalike + b'},"call":{"input":' + given + b"}}"
    record = await stored(facts(given, policy_input=whole), directory, key, clock)
    assert record["input"] == {
        "labels": {"input": json.loads(lookalike)},
        "call": {"input": {"sha256": hashlib.sha256(given).hexdigest(), "bytes": len(given)}},
    }


@pytest.mark.req("AUD-1")
async def test_a_large_input_is_replaced_even_where_it_was_encoded_anew(
    directory: Path, key: SigningKey, clock: ManualClock
) -> None:
    given = json.dumps({"text": "x" * 5000})
    document = json.dumps({"version": 1, "call": {"input": json.loads(given)}}, indent=2).encode()
    record = await stored(facts(given.encode(), policy_input=document), directory, key, clock)
    assert "xxxxx" not in json.dumps(record)
    assert record["erased"] == ["/input/call/input"]


@pytest.mark.req("AUD-1")
async def test_a_call_that_policy_never_saw_has_no_input(directory: Path, key: SigningKey, clock: ManualClock) -> None:
    record = await stored(facts(policy_input=b"", call_input=b""), directory, key, clock)
    assert "input" not in record
