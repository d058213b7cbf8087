"""What is posted to a generic webhook: one event of a checkpoint, as JSON in ASCII (CHK-10)."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from interlock_gateway.approvals.display import shown
from interlock_gateway.core.checkpoint import ApproverDecision, Checkpoint, CheckpointAnswer
from interlock_gateway.core.jsonvalue import JsonObject, JsonValue

MOST_INLINE_BYTES = 256 * 1024
"""A larger input is not posted; the approver looks at it with `interlock checkpoints show`."""


class WebhookEvent(StrEnum):
    """Why something is posted."""

    OPENED = "checkpoint.opened"
    CLOSED = "checkpoint.closed"


@dataclass(frozen=True, slots=True)
class SentLink:
    """A link as it is sent, with its token in it."""

    approver: str
    decision: ApproverDecision
    url: str


def payload(
    event: WebhookEvent, checkpoint: Checkpoint, answer_url: str, links: Sequence[SentLink], now: float
) -> bytes:
    """The body. Times are RFC 3339; the names are those of the contract's `Checkpoint`."""
    document: JsonObject = {
        "type": event.value,
        "timestamp": _time(now),
        "data": {
            "checkpoint": _checkpoint(shown(checkpoint)),
            "answer_url": answer_url,
            "links": [{"approver": one.approver, "decision": one.decision.value, "url": one.url} for one in links],
        },
    }
    return json.dumps(document).encode()


def _checkpoint(safe: Checkpoint) -> JsonObject:
    decision, preview = safe.decision, safe.preview
    reasons: list[JsonValue] = [
        {"code": reason.code, "message": reason.message, "rule": reason.rule}
        for reason in (decision.reasons if decision is not None else ())
    ]
    return {
        "checkpoint_id": safe.checkpoint_id,
        "state": safe.state.value,
        "session_id": safe.session_id,
        "call_id": safe.call_id,
        "tool": safe.tool,
        "requester": safe.requester,
        "intent": safe.intent,
        "rendered_call": safe.rendered_call,
        "input": _inline(safe.shown_input),
        "facts": dict(safe.facts) if len(json.dumps(dict(safe.facts))) <= MOST_INLINE_BYTES else None,
        "preview": {"preview": preview.preview, "would_affect": list(preview.would_affect)} if preview else None,
        "reasons": reasons,
        "deliverable": dict(safe.deliverable) if safe.deliverable is not None else None,
        "approver_groups": list(safe.groups),
        "quorum": safe.quorum,
        "answers": [_answer(one) for one in safe.answers],
        "call_digest": safe.digest,
        "created_at": _time(safe.created_at),
        "expires_at": _time(safe.expires_at),
        "escalated": safe.escalated,
    }


def _answer(said: CheckpointAnswer) -> JsonObject:
    return {
        "approver": said.approver,
        "decision": said.decision.value,
        "reason": said.reason,
        "channel": said.channel,
        "answered_at": _time(said.answered_at),
    }


def _inline(raw: bytes) -> JsonValue:
    if len(raw) > MOST_INLINE_BYTES:
        return None
    value: JsonValue = json.loads(raw or b"{}")
    return value


def _time(unix_s: float) -> str:
    return datetime.fromtimestamp(unix_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
