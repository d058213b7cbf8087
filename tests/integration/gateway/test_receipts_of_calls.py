"""Receipts: one for each evaluated call, whatever came of it, and an intent before each change (AUD-1, AUD-2)."""

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from audited_calls import Audited, audited, cancelled, malformed
from interlock_gateway.audit.verify import verify

SECRET = "ghp_" + "a1B2c3D4e5F6" * 3
MARK = "[redacted:github-token]"

CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "allowed": ("echo", {"text": "x"}),
    "by alias": ("say", {"text": "x"}),
    "changed": ("set_value", {"value": "b"}),
    "denied": ("wreck", {"what": "x"}),
    "undeclared": ("undeclared", {"text": "x"}),
    "unsure": ("careful", {"text": "x"}),
    "unfit": ("set_value", {"value": 3}),
    "unknown": ("no_such_tool", {}),
    "crashed": ("crash", {}),
    "not previewed": ("replace_value", {"value": "impossible"}),
    "pushed": ("propose", {"plan": "p"}),
}
STATUS = {
    "allowed": "completed",
    "by alias": "completed",
    "changed": "completed",
    "denied": "denied",
    "undeclared": "denied",
    "unsure": "denied",
    "unfit": "denied",
    "unknown": "denied",
    "crashed": "failed",
    "not previewed": "completed",
    "pushed": "completed",
    "malformed": "denied",
    "previewed": "preview",
    "again": "preview",
    "applied": "completed",
    "discarded": "completed",
    "left": "completed",
    "nothing left": "completed",
    "cancelled change": "outcome_unknown",
    "cancelled read": "failed",
    "cancelled preview": "failed",
}
CHANGES = {"changed", "crashed", "pushed", "applied", "left", "cancelled change"}


@pytest.fixture
async def mixed(socket_directory: Path) -> Audited:
    """The log after a call of every kind."""
    async with audited(socket_directory) as found:
        session = found.at.agent.session("s")
        for call_id, (name, arguments) in CALLS.items():
            await session.call(name, arguments, call_id=call_id)
        await session.resolve("discard", "not that", call_id="left")
        await malformed(found.at, "malformed")
        await session.call("replace_value", {"value": "c"}, call_id="previewed")
        await session.resolve("apply", "yes", call_id="applied")
        await session.call("replace_value", {"value": "d"}, call_id="again")
        await session.resolve("discard", "no", call_id="discarded")
        await session.resolve("discard", "no", call_id="nothing left")
        await cancelled(found, "slow_change", "cancelled change")
        await cancelled(found, "slow_read", "cancelled read")
        await cancelled(found, "slow_preview", "cancelled preview")
        # Asked again under the same id it is not evaluated again.
        await session.call("set_value", {"value": "b"}, call_id="changed")
    return found


@pytest.mark.req("AUD-1", "PIPE-12")
async def test_every_evaluated_call_has_one_receipt_and_every_change_one_intent_before_it(mixed: Audited) -> None:
    assert mixed.counted("receipt") == Counter(dict.fromkeys(STATUS, 1))
    assert mixed.counted("intent") == Counter(dict.fromkeys(CHANGES, 1))
    assert {call_id: mixed.of(call_id)["outcome"]["status"] for call_id in STATUS} == STATUS
    at = {(one.kind, one.record.get("call_id")): one.sequence for one in mixed.records}
    assert all(at["intent", call_id] < at["receipt", call_id] for call_id in CHANGES)
    assert [one.kind for one in mixed.records if one.kind not in {"receipt", "intent"}] == ["segment", "closed"]


@pytest.mark.req("AUD-1", "CHK-3", "TOOL-6")
async def test_a_receipt_says_who_asked_for_what_and_why_it_was_answered_so(mixed: Audited) -> None:
    receipt = mixed.of("changed")
    revision = mixed.at.gateway.endpoints.policy_revision
    tool_ = mixed.at.gateway.tool("set_value")
    assert tool_ is not None
    assert {name: receipt[name] for name in ("path", "requested_by", "session_id", "call_id", "call_kind")} == {
        "path": "interlock/decision",
        "requested_by": "local-agent",
        "session_id": "s",
        "call_id": "changed",
        "call_kind": "call",
    }
    assert receipt["principal"] == {"id": "local-agent", "kind": "unix"}
    assert receipt["bundles"] == {"interlock": {"revision": revision}}
    assert receipt["labels"]["profile"] == "standard"
    assert (receipt["tool"], receipt["provider"], receipt["pin"]) == ("set_value", "ledger", tool_.sha256)
    assert (receipt["effect"], receipt["audit_operation"]) == ("mutating", "edit")
    assert receipt["outcome"] == {"status": "completed", "is_error": False, "truncated": False, "redactions": 0}
    assert receipt["result"]["verdict"] == "allow"
    assert receipt["result"]["reasons"] == [
        {"code": "reversible", "message": "set_value can be undone", "rule": "generic/reversible"}
    ]
    seen = receipt["input"]
    assert seen["version"] == 1
    assert (seen["call"]["input"], seen["call"]["digest"]) == ({"value": "b"}, receipt["digest"])
    assert seen["tool"]["name"] == "set_value"
    assert len(receipt["digest"]) == 64
    assert {f"timer_interlock_{stage}_ns" for stage in ("decide", "dispatch", "total")} == set(receipt["metrics"])
    assert all(lasted > 0 for lasted in receipt["metrics"].values())
    intent = mixed.of("changed", "intent")
    assert "outcome" not in intent
    assert (intent["decision_id"], intent["digest"]) == (receipt["decision_id"], receipt["digest"])


@pytest.mark.req("AUD-1")
async def test_refusals_say_by_what_and_what_policy_was_not_asked_about_has_no_input(mixed: Audited) -> None:
    codes = {call_id: [reason["code"] for reason in mixed.of(call_id)["result"]["reasons"]] for call_id in STATUS}
    assert codes["malformed"] == ["invalid_input"]
    assert codes["unknown"] == ["unknown_tool"]
    assert codes["unfit"] == ["invalid_arguments"]
    assert codes["unsure"] == ["confidence_missing"]
    assert codes["denied"] == ["checkpoint_unavailable", "checkpoint_required"]
    assert "input" not in mixed.of("malformed")
    assert "input" not in mixed.of("unknown")
    assert mixed.of("unknown")["tool"] == "no_such_tool"
    assert mixed.of("by alias")["tool"] == "echo"
    assert len({mixed.of(call_id)["decision_id"] for call_id in STATUS}) == len(STATUS)


@pytest.mark.req("AUD-1", "PREV-6")
async def test_previews_and_what_became_of_them_are_tied_together(mixed: Audited) -> None:
    previewed, applied, intent = mixed.of("previewed"), mixed.of("applied"), mixed.of("applied", "intent")
    assert previewed["pending_id"] == applied["pending_id"] == intent["pending_id"]
    assert (applied["call_kind"], applied["tool"]) == ("apply", "replace_value")
    assert applied["input"]["call"]["phase"] == "apply"
    assert (mixed.of("discarded")["tool"], mixed.of("discarded")["call_kind"]) == ("resolve", "call")
    assert mixed.of("pushed")["pending_id"]


@pytest.mark.req("AUD-1", "RES-4", "RES-6")
async def test_secrets_are_masked_large_inputs_erased_and_artifacts_pointed_at(socket_directory: Path) -> None:
    long_text = "y" * 50_000
    async with audited(socket_directory) as found:
        session = await found.at.agent.open_session(session_id="s", intent=f"use {SECRET}", labels={"key": SECRET})
        await session.call("echo", {"text": SECRET}, call_id="secret", labels={"key": SECRET}, intent=SECRET)
        await session.call("wreck", {"what": SECRET}, call_id="refused")
        large = await session.call("echo", {"text": long_text}, call_id="large")
        await session.call(f"tool-{SECRET}", {}, call_id="named")
    assert SECRET not in json.dumps([one.record for one in found.records])
    secret = found.of("secret")
    assert secret["input"]["call"]["input"] == {"text": MARK}
    assert {"/input/call/input/text", "/input/call/intent", "/input/session/intent"} <= set(secret["masked"])
    assert secret["outcome"]["redactions"] == 1
    assert large.artifact is not None
    receipt = found.of("large")
    sent = json.dumps({"text": long_text}, separators=(",", ":")).encode()
    assert receipt["input"]["call"]["input"]["bytes"] in {len(sent), len(sent) + 1}
    assert receipt["erased"] == ["/input/call/input"]
    assert receipt["artifact"] == {
        "uri": large.artifact.uri,
        "bytes": 50_000,
        "sha256": hashlib.sha256(long_text.encode()).hexdigest(),
    }
    assert receipt["outcome"]["truncated"] is True
    for path in (socket_directory / "state" / "audit").iterdir():
        assert SECRET.encode() not in path.read_bytes()


@pytest.mark.req("AUD-1", "PIPE-12")
async def test_a_decision_alone_leaves_a_receipt_without_an_outcome_and_counts_as_no_call(
    socket_directory: Path,
) -> None:
    async with audited(socket_directory) as found:
        session = found.at.agent.session("s")
        assert (await session.evaluate("echo", {"text": "x"}, call_id="asked")).allowed
        assert not (await session.evaluate("wreck", {"what": "x"}, call_id="asked too")).allowed
        text = found.at.gateway.rooms.metrics.registry
        counted = {sample.name: sample.value for metric in text.collect() for sample in metric.samples}
        assert "interlock_calls_total" not in counted
        assert "interlock_destructive_calls_total" not in counted
        assert counted["interlock_decisions_total"] == 1
    assert found.counted("receipt") == {"asked": 1, "asked too": 1}
    assert found.counted("intent") == Counter()
    for call_id in ("asked", "asked too"):
        assert "outcome" not in found.of(call_id)
    assert found.at.ledger.ran == []


@pytest.mark.req("AUD-2")
async def test_a_log_goes_on_after_a_restart_and_any_change_to_it_is_found(socket_directory: Path) -> None:
    for round_ in ("one", "two"):
        async with audited(socket_directory) as found:
            await found.at.agent.session("s").call("echo", {"text": round_}, call_id=round_)
    assert list(found.counted("receipt")) == ["one", "two"]
    state = socket_directory / "state"
    (segment,) = (state / "audit").glob("receipts-*.jsonl")
    whole, key = segment.read_bytes(), (state / "audit-key.pem.pub").read_bytes()
    for damaged in (
        whole.replace(b'"text":"one"', b'"text":"eno"'),
        whole[:-1],
        whole[: whole.rindex(b"\n", 0, -1) + 1],
    ):
        segment.write_bytes(damaged)
        assert verify(state / "audit", key).problem
    segment.write_bytes(whole)
    assert verify(state / "audit", key).ok
