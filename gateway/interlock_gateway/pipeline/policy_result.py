"""Reads what policy answered (policy.md, Decision); anything but a well-formed decision is an error with a code."""

import json
import math
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import cast

from interlock_gateway.core.answer import ActivePolicy
from interlock_gateway.core.decision import (
    NO_OBLIGATIONS,
    Decision,
    DecisionError,
    GatewayErrorCode,
    Obligations,
    Reason,
    UsedExemption,
    Verdict,
)
from interlock_gateway.core.jsonvalue import JsonObject, JsonValue

_KNOWN = frozenset({"verdict", "reasons", "obligations", "notes", "exemptions"})
_EXEMPTION = frozenset({"id", "rule", "scope", "reason", "owner", "expires"})
_KNOWN_OBLIGATIONS = frozenset(Obligations.__dataclass_fields__) - {"set_fields"} | {"set"}
_VERDICTS: dict[str, Verdict] = {verdict.value: verdict for verdict in Verdict}
_LARGEST_KEPT = 2048
_MAX_SECONDS = 30 * 86_400.0


def read_decision(raw: bytes, *, decision_id: str, policy: ActivePolicy) -> Decision:
    """The decision in `raw`. Raises `DecisionError` with `policy_malformed` for anything that is not exactly one."""
    said = _said_before(raw) if len(raw) <= _LARGEST_KEPT else _said(raw)
    return Decision(
        decision_id=decision_id,
        verdict=said.verdict,
        reasons=said.reasons,
        obligations=said.obligations,
        notes=said.notes,
        exemptions=said.exemptions,
        policy_revision=policy.revision,
        profile=policy.profile,
        enforced=policy.enforced,
    )


@dataclass(frozen=True, slots=True)
class _Said:
    verdict: Verdict
    reasons: tuple[Reason, ...]
    obligations: Obligations
    notes: tuple[str, ...]
    exemptions: tuple[UsedExemption, ...]


def _said(raw: bytes) -> _Said:
    try:
        document = json.loads(raw)
    except ValueError:
        raise _malformed("the policy's answer is not JSON") from None
    if not isinstance(document, dict) or not document.keys() <= _KNOWN:
        raise _malformed("the policy's answer is not a decision object")
    verdict = document.get("verdict")
    if not isinstance(verdict, str) or verdict not in _VERDICTS:
        raise _malformed("the policy's answer has no known verdict")
    return _Said(
        verdict=_VERDICTS[verdict],
        reasons=tuple(_reason(item) for item in _list(document.get("reasons", []), "reasons")),
        obligations=_obligations(document.get("obligations")),
        notes=_strings(document.get("notes", []), "notes"),
        exemptions=tuple(_exemption(item) for item in _list(document.get("exemptions", []), "exemptions")),
    )


# Most answers are the same bytes again; what is read out of them is immutable.
_said_before = lru_cache(maxsize=512)(_said)


def _malformed(message: str) -> DecisionError:
    return DecisionError(GatewayErrorCode.POLICY_MALFORMED, message)


def _list(value: JsonValue, name: str) -> list[JsonValue]:
    if not isinstance(value, list):
        raise _malformed(f"the decision's {name} is not a list")
    return value


def _strings(value: JsonValue, name: str) -> tuple[str, ...]:
    items = _list(value, name)
    if not all(isinstance(item, str) for item in items):
        raise _malformed(f"the decision's {name} holds something that is not a string")
    return tuple(cast("list[str]", items))


def _reason(value: JsonValue) -> Reason:
    if not isinstance(value, dict):
        raise _malformed("a reason of the decision is not an object")
    parts = [value.get(name, "") for name in ("code", "message", "rule")]
    if not all(isinstance(part, str) for part in parts) or not parts[0]:
        raise _malformed("a reason of the decision lacks its code, or holds something that is not a string")
    return Reason(*cast("list[str]", parts))


def _exemption(value: JsonValue) -> UsedExemption:
    if not isinstance(value, dict) or value.keys() != _EXEMPTION:
        raise _malformed("an exemption of the decision is not an object with its six members")
    if not all(isinstance(part, str) for part in value.values()):
        raise _malformed("an exemption of the decision holds something that is not a string")
    said = cast("dict[str, str]", value)
    try:
        ends = datetime.fromisoformat(said["expires"]).timestamp()
    except (ValueError, OverflowError):
        raise _malformed("an exemption of the decision ends at no time") from None
    return UsedExemption(said["id"], said["rule"], said["scope"], said["reason"], said["owner"], ends)


def _obligations(value: JsonValue) -> Obligations:
    if value is None or value == {}:
        return NO_OBLIGATIONS
    if not isinstance(value, dict):
        raise _malformed("the decision's obligations are not an object")
    if unknown := sorted(value.keys() - _KNOWN_OBLIGATIONS):
        raise _malformed(f"the decision asks for an obligation that the gateway does not know: {unknown[0][:60]}")
    return Obligations(
        strip=_strings(value.get("strip", []), "strip"),
        set_fields=_object(value.get("set", {}), "set"),
        max_result_bytes=_whole(value, "max_result_bytes"),
        timeout_s=_seconds(value, "timeout_s"),
        redact=_strings(value.get("redact", []), "redact"),
        approvers=_strings(value.get("approvers", []), "approvers"),
        quorum=_whole(value, "quorum"),
        expires_s=_seconds(value, "expires_s"),
        escalate_to=_strings(value.get("escalate_to", []), "escalate_to"),
        escalate_after_s=_seconds(value, "escalate_after_s"),
        taint=_strings(value.get("taint", []), "taint"),
    )


def _object(value: JsonValue, name: str) -> JsonObject:
    if not isinstance(value, dict):
        raise _malformed(f"the decision's {name} is not an object")
    return value


def _whole(document: JsonObject, name: str) -> int | None:
    value = document.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise _malformed(f"the decision's {name} is not a whole number of at least 1")
    return value


def _seconds(document: JsonObject, name: str) -> float | None:
    value = document.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _malformed(f"the decision's {name} is not a number of seconds")
    if not 0 < value <= _MAX_SECONDS:
        raise _malformed(f"the decision's {name} is out of range")
    return float(value)
