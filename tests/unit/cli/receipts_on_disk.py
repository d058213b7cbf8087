"""Receipts as a gateway leaves them, of calls that the shipped policies decided."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interlock_gateway.audit.chain import Chain
from interlock_gateway.audit.keys import load_or_create
from interlock_gateway.audit.masking import encode_members
from interlock_gateway.audit.receipt import ReceiptFacts, ReceiptKind, build_receipt
from interlock_gateway.clock import SystemClock
from interlock_gateway.core.answer import ActivePolicy
from interlock_gateway.core.call import CallStatus
from interlock_gateway.core.decision import Decision, Reason, Verdict
from interlock_gateway.core.session import Principal, Role
from interlock_gateway.pipeline.policy_result import read_decision
from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.cases import CaseFile, document_of
from interlock_gateway.policy.trial import evaluate_once
from interlock_gateway.results.redaction import Redactor


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A call and what was recorded about it: what `bundle` decides, unless the rest says otherwise."""

    decision_id: str
    tool: Mapping[str, Any]
    given: Mapping[str, Any]
    bundle: PolicyBundle
    revision: str = ""
    verdict: str = ""
    gateway_error: str = ""
    asked: bool = True
    principal: str = "agent-1"
    time: float = 1_780_000_000.0


def write_receipts(state: Path, calls: Iterable[RecordedCall]) -> Path:
    """The directory of the receipts, with the keys beside it as a gateway has them in `state`."""
    chain = Chain(state / "audit", load_or_create(state / "audit-key.pem"), SystemClock(), 1 << 20)
    for call in calls:
        chain.append([encode_members(build_receipt(_facts(call)), Redactor())])
    chain.close()
    return state / "audit"


def _facts(call: RecordedCall) -> ReceiptFacts:
    described = {
        "tool": call.tool,
        "call": {"input": call.given},
        "principal": {"id": call.principal},
        "expect": {"verdict": "allow"},
    }
    document = json.dumps(document_of(CaseFile.model_validate(described)), separators=(",", ":")).encode()
    decision = _decision(call, document)
    return ReceiptFacts(
        kind=ReceiptKind.RECEIPT,
        time=call.time,
        principal=Principal(call.principal, "token", frozenset({Role.AGENT})),
        session_id="session-1",
        call_id=f"call-of-{call.decision_id}",
        tool=str(call.tool["name"]),
        decision=decision,
        policy_input=document if call.asked else b"",
        call_input=json.dumps(call.given, separators=(",", ":")).encode(),
        status=CallStatus.DENIED if decision.verdict is Verdict.DENY else CallStatus.COMPLETED,
        durations={"decide": 0.0003},
        replica="replica-1",
    )


def _decision(call: RecordedCall, document: bytes) -> Decision:
    policy = ActivePolicy(call.revision or call.bundle.revision, call.bundle.profile)
    if call.gateway_error:
        reasons = (Reason(call.gateway_error, "the gateway says so", "gateway"),)
        return Decision(call.decision_id, Verdict.DENY, reasons, policy_revision=policy.revision)
    if call.verdict:
        raw = json.dumps({"verdict": call.verdict, "reasons": [{"code": "x", "message": "", "rule": "x/was"}]}).encode()
    else:
        raw = evaluate_once(call.bundle, document)
    return read_decision(raw, decision_id=call.decision_id, policy=policy)
