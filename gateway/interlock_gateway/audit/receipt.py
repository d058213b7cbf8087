"""What a receipt says (AUD-1), in the words of OPA's decision log where it has one (docs/audit.md, Fields)."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from interlock_gateway.audit.chain import timestamp
from interlock_gateway.audit.masked_arguments import ARGUMENTS as INPUT_POINTER
from interlock_gateway.audit.masked_arguments import masked, masked_input, pointers_to_arguments
from interlock_gateway.audit.masking import AuditRecord, RawJson
from interlock_gateway.core.call import CallKind, CallStatus
from interlock_gateway.core.content import Artifact
from interlock_gateway.core.decision import NO_OBLIGATIONS, Decision, Obligations
from interlock_gateway.core.jsonvalue import JsonObject, JsonValue
from interlock_gateway.core.pending import ResolutionNote
from interlock_gateway.core.session import Principal

DECISION_PATH = "interlock/decision"
LARGEST_INPUT = 4 * 1024
INPUT_MEMBER = b'"input":'
EXTRA_POINTER = "/resolution/extra"


class ReceiptKind(StrEnum):
    """Written before a call that is not read-only is dispatched, or when a call is over."""

    INTENT = "intent"
    RECEIPT = "receipt"


@dataclass(frozen=True, slots=True)
class Approval:
    """How a checkpoint ended: who decided, and what was said."""

    checkpoint_id: str
    outcome: str
    approvers: tuple[str, ...] = ()
    reason: str = ""


class ReceiptFacts(NamedTuple):
    """Everything a receipt is made of. A tuple, because one is made on the event loop for each call.

    `time` is Unix seconds; `durations` are seconds by stage, such as `decide` and `dispatch`. `policy_input` is the
    document that policy saw, as the very text it was given, in which `call_input`, the call's own input, stands as
    `"input":<call_input>`; empty when policy was not asked. `call_input_sha256` is its digest in hex, when that is
    known already. `status` is `None` in an intent. `redactions` is how many
    secrets were masked in the result. `undoes` is the operation that the call takes back, `resolution` what was asked
    for a pending action.
    """

    kind: ReceiptKind
    time: float
    principal: Principal
    session_id: str
    call_id: str
    tool: str
    decision: Decision
    call_kind: CallKind = CallKind.CALL
    provider: str = ""
    pin: str = ""
    digest: str = ""
    effect: str = ""
    audit_operation: str = ""
    policy_input: bytes = b""
    call_input: bytes = b""
    call_input_sha256: str = ""
    status: CallStatus | None = None
    is_error: bool = False
    truncated: bool = False
    artifact: Artifact | None = None
    redactions: int = 0
    durations: Mapping[str, float] = MappingProxyType({})
    pending_id: str = ""
    undoes: str = ""
    resolution: ResolutionNote | None = None
    approval: Approval | None = None
    replica: str = ""
    trace_id: str = ""
    span_id: str = ""


def build_receipt(facts: ReceiptFacts) -> AuditRecord:
    """The record to hand to the log, best as `partial(build_receipt, facts)` so that the writer's thread makes it."""
    decision = facts.decision
    record: dict[str, JsonValue | RawJson] = {
        "kind": facts.kind.value,
        "decision_id": decision.decision_id,
        "timestamp": timestamp(facts.time),
        "path": DECISION_PATH,
        "labels": {"id": facts.replica, "profile": decision.profile},
        "bundles": {"interlock": {"revision": decision.policy_revision}},
        "requested_by": facts.principal.id,
        "principal": {"id": facts.principal.id, "kind": facts.principal.kind},
        "session_id": facts.session_id,
        "call_id": facts.call_id,
        "call_kind": facts.call_kind.value,
        "tool": facts.tool,
        "provider": facts.provider,
        "pin": facts.pin,
        "digest": facts.digest,
        "effect": facts.effect,
        "audit_operation": facts.audit_operation,
        "result": _result(decision),
        "metrics": {f"timer_interlock_{stage}_ns": round(lasted * 1e9) for stage, lasted in facts.durations.items()},
    }
    _add_outcome(record, facts)
    erased, hidden = list[JsonValue](), list[JsonValue]()
    pointers = pointers_to_arguments(decision.obligations.redact)
    if facts.policy_input:
        record["input"], replaced = _input(facts)
        erased += [INPUT_POINTER] * replaced
        if pointers:
            record["input"], hidden = masked_input(record["input"], pointers, is_whole=not replaced)
    if facts.resolution is not None:
        said, replaced = _resolution(facts.resolution)
        erased += [EXTRA_POINTER] * replaced
        # It says again what `resolve` was given.
        record["resolution"], places = masked(said, pointers, "/resolution")
        hidden += places
    record |= {name: places for name, places in (("erased", erased), ("masked", hidden)) if places}
    return record


def _resolution(said: ResolutionNote) -> tuple[JsonObject, bool]:
    """What was asked for a pending action, and whether `extra` was too large and is replaced by its digest and size."""
    told: JsonObject = {"action": said.action, "reason": said.reason}
    named = {name: getattr(said, name) for name in ("pending_id", "label", "source_tool", "tool", "input_sha256")}
    told |= {name: value for name, value in named.items() if value}
    if said.extra is None:
        return told, False
    raw = json.dumps(dict(said.extra), ensure_ascii=False).encode("utf-8", "replace")
    if len(raw) <= LARGEST_INPUT:
        return {**told, "extra": dict(said.extra)}, False
    return {**told, "extra": {"sha256": hashlib.sha256(raw).hexdigest(), "bytes": len(raw)}}, True


def _result(decision: Decision) -> JsonObject:
    return {
        "verdict": decision.verdict.value,
        "reasons": [{"code": it.code, "message": it.message, "rule": it.rule} for it in decision.reasons],
        "obligations": _obligations(decision.obligations),
        "notes": list(decision.notes),
    }


def _obligations(asked: Obligations) -> JsonObject:
    if asked is NO_OBLIGATIONS:
        return {}
    everything: JsonObject = {
        "strip": list(asked.strip),
        "set": dict(asked.set_fields),
        "max_result_bytes": asked.max_result_bytes,
        "timeout_s": asked.timeout_s,
        "redact": list(asked.redact),
        "approvers": list(asked.approvers),
        "quorum": asked.quorum,
        "expires_s": asked.expires_s,
        "escalate_to": list(asked.escalate_to),
        "escalate_after_s": asked.escalate_after_s,
        "taint": list(asked.taint),
    }
    return {name: value for name, value in everything.items() if value not in (None, [], {})}


def _add_outcome(record: dict[str, JsonValue | RawJson], facts: ReceiptFacts) -> None:
    if facts.status is not None:
        record["outcome"] = {
            "status": facts.status.value,
            "is_error": facts.is_error,
            "truncated": facts.truncated,
            "redactions": facts.redactions,
        }
    if facts.artifact is not None:
        about = facts.artifact
        record["artifact"] = {"uri": about.uri, "bytes": about.total_bytes, "sha256": about.sha256}
    if facts.pending_id:
        record["pending_id"] = facts.pending_id
    if facts.undoes:
        record["undoes"] = facts.undoes
    if facts.approval is not None:
        approval = facts.approval
        record["checkpoint"] = {
            "id": approval.checkpoint_id,
            "outcome": approval.outcome,
            "approvers": list(approval.approvers),
            "reason": approval.reason,
        }
    if facts.trace_id:
        record["trace_id"], record["span_id"] = facts.trace_id, facts.span_id


def _input(facts: ReceiptFacts) -> tuple[JsonValue | RawJson, bool]:
    """The policy input, and whether the call's own input was too large and is replaced by its digest and size."""
    if len(facts.call_input) <= LARGEST_INPUT:
        return RawJson(facts.policy_input), False
    digest = facts.call_input_sha256 or hashlib.sha256(facts.call_input).hexdigest()
    stand_in: JsonObject = {"sha256": digest, "bytes": len(facts.call_input)}
    at = _spliced_at(facts.policy_input, facts.call_input)
    if at >= 0:
        before, after = facts.policy_input[:at], facts.policy_input[at + len(facts.call_input) :]
        return RawJson(b"%s%s%s" % (before, json.dumps(stand_in).encode(), after)), True
    document = json.loads(facts.policy_input)
    document["call"]["input"] = stand_in
    return document, True


def _spliced_at(policy_input: bytes, call_input: bytes) -> int:
    """Where the call's own input stands in the policy input; -1 when it does not.

    It is found by its beginning, and then compared: to search for megabytes keeps the interpreter for 15 ms.
    """
    beginning = INPUT_MEMBER + call_input[:LARGEST_INPUT]
    found = policy_input.find(beginning)
    while found >= 0:
        at = found + len(INPUT_MEMBER)
        if policy_input.startswith(call_input, at):
            return at
        found = policy_input.find(beginning, at)
    return -1
