"""From what travels (`interlock.v1`) to what this SDK hands out."""

import json
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, TypeVar, cast

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from interlock.decisions import (
    Classification,
    Decision,
    Effect,
    Exemption,
    Obligations,
    Reason,
    ShadowDecision,
    Verdict,
)
from interlock.results import (
    Artifact,
    CallResult,
    CallStatus,
    CheckpointRef,
    Content,
    ContentKind,
    PendingRef,
    Preview,
    ReflectionForm,
    UndoInfo,
)
from interlock.v1 import (
    artifact_pb2,
    call_pb2,
    content_pb2,
    decision_pb2,
    deliverable_pb2,
    pending_pb2,
    undo_pb2,
)

E = TypeVar("E", bound=StrEnum)


def word_of(values: Any, number: int) -> str:
    """The name of an enum's value in lower case, without the enum's own name; `unknown` for 0 and for new values."""
    found = values.DESCRIPTOR.values_by_number.get(number)
    if found is None or number == 0:
        return "unknown"
    prefix = values.DESCRIPTOR.values_by_number[0].name.removesuffix("UNSPECIFIED")
    return str(found.name.removeprefix(prefix).lower())


def member_of(kind: type[E], values: Any, number: int) -> E:
    """The member for an enum's number; `UNKNOWN` for 0, and for whatever this SDK does not know: fail closed."""
    known = _MEMBERS.get(kind)
    if known is None:
        words = {member.value for member in kind}
        found = {n: word_of(values, n) for n in values.values()}
        known = _MEMBERS[kind] = {n: kind(word) for n, word in found.items() if word in words}
    return cast("E", known.get(number) or kind("unknown"))


_MEMBERS: dict[type[StrEnum], dict[int, StrEnum]] = {}


def json_of(raw: bytes) -> Any:
    """The value of a json field; None when it is empty or no JSON."""
    try:
        return json.loads(raw) if raw else None
    except ValueError:
        return None


def object_of(raw: bytes) -> dict[str, Any]:
    """The object of a json field; empty when it is empty or no object."""
    value = json_of(raw)
    return value if isinstance(value, dict) else {}


def moment(message: Any, field: str) -> datetime | None:
    """A timestamp field in UTC; None when it is absent."""
    value: Timestamp = getattr(message, field)
    return value.ToDatetime(tzinfo=UTC) if message.HasField(field) else None


def span(message: Any, field: str) -> timedelta | None:
    """A duration field; None when it is absent."""
    value: Duration = getattr(message, field)
    return value.ToTimedelta() if message.HasField(field) else None


def call_result(message: call_pb2.CallResult) -> CallResult:
    """A call's result."""
    return CallResult(
        call_id=message.call_id,
        status=member_of(CallStatus, call_pb2.CallStatus, message.status),
        decision=decision(message.decision),
        content=tuple(content(part) for part in message.content if part.WhichOneof("part")),
        is_error=message.is_error,
        data=json_of(message.data),
        truncated=message.truncated,
        artifact=artifact(message.artifact) if message.HasField("artifact") else None,
        undo=undo(message.undo) if message.HasField("undo") else None,
        pending=_pending(message.pending) if message.HasField("pending") else None,
        checkpoint=CheckpointRef(
            checkpoint_id=message.checkpoint.checkpoint_id, expires_at=moment(message.checkpoint, "expires_at")
        )
        if message.HasField("checkpoint")
        else None,
        steering=tuple(message.steering),
        details=object_of(message.details),
        preview=preview(message.preview) if message.HasField("preview") else None,
        reflection=_reflection(message.reflection) if message.HasField("reflection") else None,
        redactions=message.redactions,
    )


def decision(message: decision_pb2.Decision) -> Decision:
    """A decision."""
    return Decision(
        decision_id=message.decision_id,
        verdict=member_of(Verdict, decision_pb2.Verdict, message.verdict),
        reasons=_reasons(message.reasons),
        classification=classification(message.classification),
        obligations=_obligations(message.obligations),
        policy_revision=message.policy_revision,
        shadow=_shadow(message.shadow) if message.HasField("shadow") else None,
        profile=message.profile,
        notes=tuple(message.notes),
        observe_only=message.observe_only,
        call_digest=message.call_digest,
        decided_at=moment(message, "decided_at"),
        exemptions=tuple(map(_exemption, message.exemptions)),
    )


def _exemption(message: decision_pb2.Exemption) -> Exemption:
    return Exemption(
        id=message.id,
        rule=message.rule,
        scope=message.scope,
        reason=message.reason,
        owner=message.owner,
        expires_at=moment(message, "expires_at"),
    )


def classification(message: decision_pb2.Classification) -> Classification:
    """A classification."""
    return Classification(
        effect=member_of(Effect, decision_pb2.Effect, message.effect),
        safety_level=message.safety_level,
        audit_operation=message.audit_operation,
        open_world=message.open_world,
        external_effect=message.external_effect,
    )


def content(message: content_pb2.Content) -> Content:
    """One part of a result."""
    kind = ContentKind(str(message.WhichOneof("part")))
    more: dict[str, Any] = {"annotations": object_of(message.annotations), "meta": object_of(message.meta)}
    match kind:
        case ContentKind.TEXT:
            return Content(kind=kind, text=message.text.text, **more)
        case ContentKind.IMAGE:
            return Content(kind=kind, data=message.image.data, media_type=message.image.media_type, **more)
        case ContentKind.AUDIO:
            return Content(kind=kind, data=message.audio.data, media_type=message.audio.media_type, **more)
    part = message.resource
    return Content(
        kind=kind,
        text=part.text,
        data=part.blob,
        media_type=part.media_type,
        uri=part.uri,
        name=part.name,
        title=part.title,
        description=part.description,
        size_bytes=part.size_bytes if part.HasField("size_bytes") else None,
        extra=object_of(part.extra),
        **more,
    )


def artifact(message: artifact_pb2.Artifact) -> Artifact:
    """An artifact."""
    return Artifact(
        uri=message.uri,
        total_bytes=message.total_bytes,
        lines=message.lines,
        media_type=message.media_type,
        sha256=message.sha256,
        created_at=moment(message, "created_at"),
    )


def undo(message: undo_pb2.UndoInfo) -> UndoInfo:
    """Undo info."""
    return UndoInfo(
        tool=message.tool,
        input=object_of(message.input),
        description=message.description,
        irreversible=message.irreversible,
        manual_guide=message.manual_guide,
    )


def preview(message: pending_pb2.Preview) -> Preview:
    """A preview."""
    return Preview(
        would_affect=tuple(message.would_affect),
        preview=message.preview,
        estimated_impact=json_of(message.estimated_impact),
    )


def _pending(message: pending_pb2.PendingRef) -> PendingRef:
    return PendingRef(
        pending_id=message.pending_id,
        label=message.label,
        source_tool=message.source_tool,
        expires_at=moment(message, "expires_at"),
    )


def _reflection(message: deliverable_pb2.ReflectionForm) -> ReflectionForm:
    return ReflectionForm(
        instructions=message.instructions, schema=object_of(message.schema), call_digest=message.call_digest
    )


def _reasons(messages: Any) -> tuple[Reason, ...]:
    return tuple(Reason(one.code, one.message, one.rule) for one in messages)


def _obligations(message: decision_pb2.Obligations) -> Obligations:
    return Obligations(
        strip=tuple(message.strip),
        set=object_of(message.set),
        max_result_bytes=message.max_result_bytes if message.HasField("max_result_bytes") else None,
        timeout=span(message, "timeout"),
        redact=tuple(message.redact),
        approvers=tuple(message.approvers),
        quorum=message.quorum,
        expires=span(message, "expires"),
        taint=tuple(message.taint),
        escalate_to=tuple(message.escalate_to),
        escalate_after=span(message, "escalate_after"),
    )


def _shadow(message: decision_pb2.ShadowDecision) -> ShadowDecision:
    return ShadowDecision(
        verdict=member_of(Verdict, decision_pb2.Verdict, message.verdict),
        reasons=_reasons(message.reasons),
        policy_revision=message.policy_revision,
        differs=message.differs,
    )
