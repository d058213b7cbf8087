"""What an approver is shown of a checkpoint: every text in it with what hides or acts made visible (CHK-10).

The one place where that is done: whoever shows a checkpoint, on whatever channel, shows what `shown` gives.
"""

from dataclasses import replace

from interlock_gateway.core.checkpoint import Checkpoint, CheckpointAnswer
from interlock_gateway.core.decision import Decision, Reason
from interlock_gateway.core.jsonvalue import FrozenJsonObject, JsonObject, JsonValue
from interlock_gateway.core.outcome import Preview
from interlock_gateway.core.visible import visible, visible_json, visible_line

LONGEST_TEXT = 64 * 1024
"""In characters. A longer text is cut, and says so: nobody reads it to its end."""


def shown(checkpoint: Checkpoint) -> Checkpoint:
    """`checkpoint` as people may look at it; its ids, digest, groups and times are as they were.

    JSON that an approver may edit (`shown_input`, an answer's `edited_input`) keeps its meaning: what would not be seen
    is escaped in it. Everywhere else it is written out as `<U+202E>`.
    """
    return replace(
        checkpoint,
        requester=visible_line(checkpoint.requester),
        tool=visible_line(checkpoint.tool),
        provider=visible_line(checkpoint.provider),
        workdir=visible_line(checkpoint.workdir),
        intent=text(checkpoint.intent),
        labels=value_object(checkpoint.labels),
        deliverable=None if checkpoint.deliverable is None else value_object(checkpoint.deliverable),
        decision=None if checkpoint.decision is None else _decision(checkpoint.decision),
        facts=value_object(checkpoint.facts),
        shown_input=json_text(checkpoint.shown_input),
        rendered_call=text(checkpoint.rendered_call),
        preview=None if checkpoint.preview is None else _preview(checkpoint.preview),
        answers=tuple(map(_answer, checkpoint.answers)),
        closed_reason=text(checkpoint.closed_reason),
    )


def text(raw: str) -> str:
    """A text of several lines, cut when it is too long to be read."""
    left_out = len(raw) - LONGEST_TEXT
    cut = raw if left_out <= 0 else f"{raw[:LONGEST_TEXT]}\n[{left_out} more characters are not shown]"
    return visible(cut)


def json_text(raw: bytes) -> bytes:
    """JSON of the same meaning, with what would not be seen escaped."""
    return visible_json(raw.decode(errors="surrogateescape")).encode()


def value_object(value: FrozenJsonObject) -> JsonObject:
    """A JSON object with every text in it made visible, its members' names too."""
    return {visible_line(name): _value(item) for name, item in value.items()}


def _value(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return text(value)
    if isinstance(value, dict):
        return value_object(value)
    if isinstance(value, list):
        return [_value(item) for item in value]
    return value


def _decision(decision: Decision) -> Decision:
    reasons = tuple(
        Reason(visible_line(reason.code), text(reason.message), visible_line(reason.rule))
        for reason in decision.reasons
    )
    return replace(decision, reasons=reasons, notes=tuple(map(text, decision.notes)))


def _preview(preview: Preview) -> Preview:
    return Preview(
        tuple(map(visible_line, preview.would_affect)), text(preview.preview), _value(preview.estimated_impact)
    )


def _answer(answer: CheckpointAnswer) -> CheckpointAnswer:
    return replace(
        answer,
        approver=visible_line(answer.approver),
        reason=text(answer.reason),
        edited_input=json_text(answer.edited_input),
        edit_difference=text(answer.edit_difference),
        response=text(answer.response),
    )
