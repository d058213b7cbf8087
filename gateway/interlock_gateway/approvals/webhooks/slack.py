"""Slack: a checkpoint as a message with buttons, and what a pressed button says (CHK-8, CHK-10).

What comes from tools and agents stands in `plain_text` and preformatted rich text alone, where Slack reads no markup:
it can mention nobody, link nowhere and look like nothing of ours.
"""

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qs

from interlock_gateway.approvals.answers import Said
from interlock_gateway.approvals.display import shown
from interlock_gateway.approvals.webhooks.payloads import SentLink, WebhookEvent
from interlock_gateway.core.checkpoint import ApproverDecision, Checkpoint
from interlock_gateway.core.jsonvalue import JsonObject, JsonValue
from interlock_gateway.errors import RequestError, RequestFault

APPROVE, DENY = "interlock.approve", "interlock.deny"
DEFAULT_DENIAL = "denied in Slack"
_REASON_BLOCK, _REASON_FIELD = "interlock_reason", "reason"
_DECISIONS = {APPROVE: ApproverDecision.APPROVE, DENY: ApproverDecision.DENY}
# Slack refuses a message with a longer text, header or button.
_LONGEST_TEXT, _LONGEST_HEADER = 2500, 140
_UNSEEN = (
    "The input is too long for Slack, and nobody approves what they have not seen: look at it with\n"
    "interlock checkpoints show, and answer there. It can be denied here."
)
_CUT = "\n[more: interlock checkpoints show]"


def message(event: WebhookEvent, checkpoint: Checkpoint, links: Sequence[SentLink]) -> bytes:
    """The body to post to an incoming webhook."""
    safe = shown(checkpoint)
    return json.dumps(_closed(safe) if event is WebhookEvent.CLOSED else _opened(safe, links)).encode()


def pressed(body: bytes) -> tuple[str, Said]:
    """Who pressed which button of ours: their id at Slack, and what that says. Raises `RequestError`."""
    payload = _payload(body)
    actions = payload.get("actions")
    action = actions[0] if isinstance(actions, list) and len(actions) == 1 else None
    user = payload.get("user")
    if payload.get("type") != "block_actions" or not isinstance(action, dict) or not isinstance(user, dict):
        raise _malformed("it is not one pressed button")
    decision = _DECISIONS.get(str(action.get("action_id")))
    checkpoint_id, _, digest = str(action.get("value", "")).rpartition(":")
    if decision is None or not checkpoint_id:
        raise _malformed("the button is none of ours")
    reason = _reason(payload)
    if decision is ApproverDecision.DENY:
        reason = reason or DEFAULT_DENIAL
    said = Said(checkpoint_id, decision, reason=reason, call_digest=digest or "-", channel="webhook")
    return str(user.get("id", "")), said


def _opened(safe: Checkpoint, links: Sequence[SentLink]) -> JsonObject:
    reasons = "\n".join(reason.message or reason.code for reason in (safe.decision.reasons if safe.decision else ()))
    about = [f"Tool: {safe.tool}", f"Asked by: {safe.requester}", f"Session: {safe.session_id}"]
    if safe.intent:
        # On one line: others would look like ours.
        about.append(f"Intent, in the agent's words: {' '.join(safe.intent.split())}")
    blocks: list[JsonValue] = [
        {"type": "header", "text": _plain(f"{safe.tool} waits for you", _LONGEST_HEADER)},
        {"type": "section", "text": _plain("\n".join(about))},
    ]
    if safe.rendered_call:
        blocks.append(_preformatted(safe.rendered_call))
    # The rendering is the provider's and may leave things out; the input is what is approved.
    given = safe.shown_input.decode()
    blocks.append(_preformatted(given))
    whole = len(given) <= _LONGEST_TEXT
    if not whole:
        blocks.append({"type": "section", "text": _plain(_UNSEEN)})
    if reasons:
        blocks.append({"type": "section", "text": _plain(f"Why a person is asked:\n{reasons}")})
    if safe.preview is not None and safe.preview.preview:
        blocks.append(_preformatted(safe.preview.preview))
    blocks += [_reason_input(), _buttons(safe, approves=whole)]
    if links:
        blocks.append(_links(links))
    return {"text": "An agent's call waits for a person.", "blocks": blocks}


def _closed(safe: Checkpoint) -> JsonObject:
    who = ", ".join(f"{one.decision.value} by {one.approver}" for one in safe.answers)
    words = f"{safe.checkpoint_id} ({safe.tool}) is {safe.state.value}" + (f": {who}" if who else "")
    return {
        "text": "A checkpoint is closed.",
        "blocks": [{"type": "section", "text": _plain(words)}],
    }


def _reason_input() -> JsonObject:
    return {
        "type": "input",
        "block_id": _REASON_BLOCK,
        "optional": True,
        "label": _plain("Reason (the agent is told why not)"),
        "element": {"type": "plain_text_input", "action_id": _REASON_FIELD, "max_length": 2000},
    }


def _buttons(safe: Checkpoint, *, approves: bool) -> JsonObject:
    # The digest goes along: a button approves the call that stands above it and no other.
    value = f"{safe.checkpoint_id}:{safe.digest}"
    elements: list[JsonValue] = [
        {"type": "button", "action_id": DENY, "value": value, "style": "danger", "text": _plain("Deny")},
    ]
    if approves:
        approve = {"type": "button", "action_id": APPROVE, "value": value, "style": "primary"}
        elements.insert(0, {**approve, "text": _plain("Approve")})
    return {"type": "actions", "elements": elements}


def _links(links: Sequence[SentLink]) -> JsonObject:
    elements: list[JsonValue] = []
    for one in links:
        elements.append({"type": "link", "url": one.url, "text": f"{one.decision.value} as {one.approver}"})
        elements.append({"type": "text", "text": "  "})
    return {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": elements}]}


def _preformatted(text: str) -> JsonObject:
    element: JsonObject = {
        "type": "rich_text_preformatted",
        "elements": [{"type": "text", "text": _cut(text, _LONGEST_TEXT) or " "}],
    }
    return {"type": "rich_text", "elements": [element]}


def _plain(text: str, limit: int = _LONGEST_TEXT) -> JsonObject:
    return {"type": "plain_text", "text": _cut(text, limit), "emoji": False}


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - len(_CUT)] + _CUT


def _payload(body: bytes) -> dict[str, Any]:
    try:
        fields = parse_qs(body.decode(), strict_parsing=True, max_num_fields=8)
        payload = json.loads(fields["payload"][0])
    except (ValueError, KeyError, RecursionError):
        raise _malformed("it holds no payload") from None
    if not isinstance(payload, dict):
        raise _malformed("its payload is no object")
    return payload


def _reason(payload: dict[str, Any]) -> str:
    found: Any = payload
    for name in ("state", "values", _REASON_BLOCK, _REASON_FIELD, "value"):
        found = found.get(name) if isinstance(found, dict) else None
    return found.strip() if isinstance(found, str) else ""


def _malformed(message_: str) -> RequestError:
    return RequestError(RequestFault.INVALID_FIELD, f"this is no answer: {message_}", field="payload")
