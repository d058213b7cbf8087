"""How a checkpoint is shown: what would run and why a person is asked first, then who asks, then all the rest.

The gateway has made visible what hides (CHK-10); `Screen` does so once more, for a gateway that would not.
"""

import json
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp
from interlock.v1 import approval_service_pb2, checkpoint_pb2, decision_pb2, deliverable_pb2

from interlock_gateway.cli.jsonable import enum_word
from interlock_gateway.cli.screen import Block, Fields, Table, Text
from interlock_gateway.core.visible import visible_line

_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86_400
_LONGEST_LINE = 100


def blocks(one: checkpoint_pb2.Checkpoint, now: float) -> list[Block]:
    """A checkpoint in full, as it is at `now` (Unix seconds)."""
    shown: list[Block] = [Fields(_head(one, now))]
    if one.rendered_call:
        shown.append(Text(one.rendered_call, title="what would run"))
    shown.append(Text(pretty(one.input), title="input"))
    if one.HasField("preview"):
        shown.append(Text(_preview(one), title="preview"))
    if one.facts:
        shown.append(Text(pretty(one.facts), title="facts"))
    if one.HasField("deliverable"):
        shown.append(_deliverable(one.deliverable))
    if one.history:
        rows = [(_clock(entry.time), entry.tool, entry.status, entry.summary) for entry in one.history]
        shown.append(Table(("time", "tool", "state", "call"), rows, title="what ran before in the session"))
    if one.answers:
        shown.append(Table(("approver", "said", "reason", "channel"), [*map(_answer, one.answers)], title="answers"))
        shown += [Text(said.edit_difference, title="edit") for said in one.answers if said.edit_difference]
    return shown


def row(one: checkpoint_pb2.Checkpoint, now: float) -> tuple[Any, ...]:
    """A checkpoint as a row under `COLUMNS`."""
    return (one.checkpoint_id, state(one), one.tool, one.requester.id, remaining(one, now), brief(one))


COLUMNS = ("checkpoint", "state", "tool", "asked by", "expires", "call")


def event_line(told: approval_service_pb2.WatchCheckpointsResponse, now: float) -> str:
    """What a watch tells, on one line."""
    one, event = told.checkpoint, enum_word(approval_service_pb2.CheckpointEvent.DESCRIPTOR, told.event)
    words = {"already_open": "open", "closed": state(one)}.get(event, event)
    ends = f"expires {remaining(one, now)}" if state(one) == "open" else closing(one)
    return visible_line(f"{one.checkpoint_id}  {words}  {one.tool}  asked by {one.requester.id}  {ends}  {brief(one)}")


def closing(one: checkpoint_pb2.Checkpoint) -> str:
    """Who ended a checkpoint, if somebody did."""
    return ", ".join(f"{enum_word(_DECISIONS, said.decision)} by {said.approver.id}" for said in one.answers)


def state(one: checkpoint_pb2.Checkpoint) -> str:
    """Where a checkpoint stands, as a word."""
    return enum_word(checkpoint_pb2.CheckpointState.DESCRIPTOR, one.state)


def brief(one: checkpoint_pb2.Checkpoint) -> str:
    """The call on a short line."""
    text = " ".join((one.rendered_call or pretty(one.input)).split())
    return text if len(text) <= _LONGEST_LINE else f"{text[: _LONGEST_LINE - 3]}..."


def remaining(one: checkpoint_pb2.Checkpoint, now: float) -> str:
    """How long a checkpoint is open yet, in words."""
    left = one.expires_at.seconds + one.expires_at.nanos / 1e9 - now
    if left <= 0:
        return "passed"
    if left < 2 * _MINUTE_S:
        return f"in {left:.0f} s"
    if left < 2 * _HOUR_S:
        return f"in {left / _MINUTE_S:.0f} min"
    return f"in {left / _HOUR_S:.0f} h" if left < 2 * _DAY_S else f"in {left / _DAY_S:.0f} days"


def pretty(raw: bytes) -> str:
    """JSON, a member on each line; as it is when it is none."""
    try:
        return json.dumps(json.loads(raw or b"{}"), indent=2, ensure_ascii=False)
    except ValueError:
        return raw.decode(errors="replace")


_DECISIONS: Any = checkpoint_pb2.CheckpointDecision.DESCRIPTOR


def _head(one: checkpoint_pb2.Checkpoint, now: float) -> list[tuple[str, Any]]:
    kind = one.decision.classification
    effect = enum_word(decision_pb2.Effect.DESCRIPTOR, kind.effect) if kind.effect else ""
    reasons = "\n".join(f"{reason.code}: {reason.message} ({reason.rule})" for reason in one.decision.reasons)
    approvals = sum(said.decision == checkpoint_pb2.CHECKPOINT_DECISION_APPROVE for said in one.answers)
    return [
        ("checkpoint", one.checkpoint_id),
        ("state", state(one)),
        ("tool", f"{one.tool} ({effect})" if effect else one.tool),
        ("asked by", one.requester.id),
        ("why a person", reasons),
        ("expires", remaining(one, now) if state(one) == "open" else None),
        ("for members of", list(one.approver_groups) or None),
        ("approvals", f"{approvals} of {one.quorum}" if one.quorum > 1 else None),
        ("escalated", "yes, the second groups are asked too" if one.escalated else None),
        ("intent, in the agent's words", one.intent),
        ("session", one.session_id),
        ("call", one.call_id),
        ("digest", one.call_digest),
    ]


def _preview(one: checkpoint_pb2.Checkpoint) -> str:
    affected = [f"would affect {item}" for item in one.preview.would_affect]
    return "\n".join((one.preview.preview, *affected)).strip()


def _deliverable(written: deliverable_pb2.Deliverable) -> Fields:
    verdict = enum_word(deliverable_pb2.DeliverableVerdict.DESCRIPTOR, written.verdict)
    said = (
        ("hidden assumptions", "\n".join(written.hidden_assumptions)),
        ("failure scenarios", "\n".join(written.failure_scenarios)),
        ("verdict", f"{verdict}: {written.verdict_reason}"),
    )
    return Fields(said, title="the agent's challenge of its own call")


def _answer(said: checkpoint_pb2.CheckpointAnswer) -> tuple[str, ...]:
    return said.approver.id, enum_word(_DECISIONS, said.decision), said.reason or said.response, said.channel


def _clock(at: Timestamp) -> str:
    return at.ToJsonString() if at.seconds else ""
