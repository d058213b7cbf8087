"""The question to the person at an agent's client: what they are shown, the form, and what an answer says (CHK-10).

What comes from tools and agents stands in lines that are indented by four spaces, and nothing else is: a client that
shows plain text shows it set off, and one that reads Markdown shows it as it is, with no link or picture in it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from interlock_gateway.approvals.answers import MAX_REASON_BYTES
from interlock_gateway.approvals.display import shown
from interlock_gateway.core.checkpoint import ApproverDecision, Checkpoint
from interlock_gateway.core.jsonvalue import JsonObject, JsonValue

LONGEST_TEXT = 4_000
"""In characters, of each part. Nobody approves an input that they were not shown to its end."""
DECLINED = "The person at the client declined."
NO_REASON = "The person at the client denied this call and gave no reason."
_CUT = "\n[cut]"
_UNSEEN = (
    "The input is too long to be shown here, and nobody approves what they have not seen. It can be denied here; "
    "`interlock checkpoints show` has all of it, and it can be approved there."
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the person said."""

    decision: ApproverDecision
    reason: str


def can_be_approved(checkpoint: Checkpoint) -> bool:
    """Whether all of what would run fits the question."""
    return len(_input(shown(checkpoint))) <= LONGEST_TEXT


def question(checkpoint: Checkpoint, now: float) -> JsonObject:
    """The params of `elicitation/create`: form mode, as every revision that has elicitation knows it."""
    return {"message": _message(shown(checkpoint), now), "requestedSchema": _schema(checkpoint)}


def answer_in(result: Mapping[str, Any], checkpoint: Checkpoint) -> Verdict | None:
    """What the client's answer says; `None` when nothing was decided, and the question stays open.

    `decline` is a person's no. `cancel` is none: the question was put away. An accepted form without a decision in it
    that was offered decides nothing either, so that a client which accepts whatever it is asked approves nothing.
    """
    action = result.get("action")
    if action == "decline":
        return Verdict(ApproverDecision.DENY, DECLINED)
    content = result.get("content")
    if action != "accept" or not isinstance(content, Mapping):
        return None
    decision = content.get("decision")
    reason = _reason(content.get("reason"))
    if decision == ApproverDecision.DENY.value:
        return Verdict(ApproverDecision.DENY, reason or NO_REASON)
    if decision == ApproverDecision.APPROVE.value and can_be_approved(checkpoint):
        return Verdict(ApproverDecision.APPROVE, reason)
    return None


def _schema(checkpoint: Checkpoint) -> JsonObject:
    # To deny stands first: a client that chooses the first of a list for its user chooses that.
    choices: list[JsonValue] = [ApproverDecision.DENY.value]
    if can_be_approved(checkpoint):
        choices.append(ApproverDecision.APPROVE.value)
    return {
        "type": "object",
        "properties": {
            "decision": {"type": "string", "title": "Decision", "enum": choices},
            "reason": {
                "type": "string",
                "title": "Reason",
                "description": "Why. The agent is told when you deny.",
                "maxLength": 1000,
            },
        },
        "required": ["decision"],
    }


def _message(safe: Checkpoint, now: float) -> str:
    decision, preview = safe.decision, safe.preview
    facts = [f"tool: {safe.tool}", f"provider: {safe.provider}", f"asked by: {safe.requester}"]
    if safe.workdir:
        facts.append(f"in: {safe.workdir}")
    reasons = "\n".join(reason.message or reason.code for reason in decision.reasons) if decision is not None else ""
    effects = "\n".join((preview.preview, *(f"would affect {one}" for one in preview.would_affect))) if preview else ""
    parts = [
        ("A person has to decide about this call. Nothing has run yet.", "\n".join(facts)),
        ("Why a person is asked:", reasons),
        ("What would run:", safe.rendered_call),
        # The rendering is the provider's and may leave things out; the input is what is approved.
        ("Its input:", _input(safe)),
        ("What it would do:", effects.strip()),
        ("What the agent says it is for:", safe.intent),
        ("What the agent thought of it:", _pretty(safe.deliverable) if safe.deliverable else ""),
    ]
    lines = [f"{title}\n\n{_indented(text)}\n" for title, text in parts if text]
    if not can_be_approved(safe):
        lines.append(f"{_UNSEEN}\n")
    return "\n".join((*lines, _ending(safe, now)))


def _ending(safe: Checkpoint, now: float) -> str:
    words = [f"Checkpoint {safe.checkpoint_id}; it expires in {max(0, round(safe.expires_at - now))} s."]
    if safe.quorum > 1:
        words.append(f"{safe.quorum} people have to approve; {len(safe.approvals)} have.")
    return " ".join(words)


def _input(safe: Checkpoint) -> str:
    try:
        return _pretty(json.loads(safe.shown_input or b"{}"))
    except ValueError:
        return safe.shown_input.decode(errors="replace")


def _pretty(value: object) -> str:
    # In ASCII: what `shown` has escaped stays escaped.
    return json.dumps(value, indent=2)


def _indented(text: str) -> str:
    cut = text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT] + _CUT
    return "\n".join(f"    {line}" for line in cut.split("\n"))


def _reason(given: object) -> str:
    if not isinstance(given, str):
        return ""
    return given.encode(errors="replace")[:MAX_REASON_BYTES].decode(errors="ignore").strip()
