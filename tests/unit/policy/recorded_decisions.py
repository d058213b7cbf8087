"""Logs of receipts for the tests: written as the gateway writes them, about decisions that a bundle made."""

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
from interlock_gateway.core.decision import Decision
from interlock_gateway.core.pending import ResolutionNote
from interlock_gateway.core.session import Principal, Role
from interlock_gateway.pipeline.policy_result import read_decision
from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.trial import evaluate_once
from interlock_gateway.results.redaction import Redactor

POLICY = ActivePolicy("recorded", "standard")


@dataclass(frozen=True, slots=True)
class Call:
    """A call that was decided. `decision` is the document that policy answered; `given` the call's own input."""

    decision: Mapping[str, Any]
    given: Mapping[str, Any]
    tool: str = "look"
    principal: str = "agent-1"
    time: float = 1_780_000_000.0
    revision: str = POLICY.revision
    kind: ReceiptKind = ReceiptKind.RECEIPT
    asked: bool = True
    id: str = ""
    resolution: ResolutionNote | None = None


def said(verdict: str, *rules: str, **more: Any) -> dict[str, Any]:
    """A decision for these rules' reasons."""
    reasons = [{"code": rule.partition("/")[2] or rule, "message": f"{rule} says so", "rule": rule} for rule in rules]
    return {"verdict": verdict, "reasons": reasons, "obligations": {}, "notes": [], **more}


def document(call: Call) -> dict[str, Any]:
    """What policy saw of a call."""
    return {
        "version": 1,
        "principal": {"id": call.principal},
        "call": {"input": call.given},
        "tool": {"name": call.tool},
    }


def decided(bundle: PolicyBundle, call: Call) -> dict[str, Any]:
    """What a bundle says about a call."""
    found: dict[str, Any] = json.loads(evaluate_once(bundle, json.dumps(document(call)).encode()))
    return found


def write_log(directory: Path, calls: Iterable[Call], *, segment_bytes: int = 1 << 20) -> Path:
    """The directory of a closed log with a receipt for each call; `decision-<n>` is the n-th one's id."""
    key = load_or_create(directory / "audit-key.pem")
    chain = Chain(directory / "audit", key, SystemClock(), segment_bytes)
    redactor = Redactor()
    for number, call in enumerate(calls):
        chain.append([encode_members(build_receipt(_facts(call, number)), redactor)])
    chain.close()
    return directory / "audit"


def _facts(call: Call, number: int) -> ReceiptFacts:
    given = json.dumps(call.given).encode()
    text = json.dumps({**document(call), "call": {"input": "?"}}, separators=(",", ":")).encode()
    return ReceiptFacts(
        kind=call.kind,
        time=call.time,
        principal=Principal(call.principal, "token", frozenset({Role.AGENT})),
        session_id="session-1",
        call_id=f"call-{number}",
        tool=call.tool,
        decision=_decision(call, call.id or f"decision-{number}"),
        policy_input=text.replace(b'"input":"?"', b'"input":' + given) if call.asked else b"",
        call_input=given,
        status=CallStatus.COMPLETED if call.kind is ReceiptKind.RECEIPT else None,
        durations={"decide": 0.0003},
        replica="replica-1",
        resolution=call.resolution,
    )


def _decision(call: Call, decision_id: str) -> Decision:
    policy = POLICY._replace(revision=call.revision)
    return read_decision(json.dumps(call.decision).encode(), decision_id=decision_id, policy=policy)
