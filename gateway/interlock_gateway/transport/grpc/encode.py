"""From our own types to the protos: everything the gateway says."""

import json
from typing import Any

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from interlock.v1 import (
    artifact_pb2,
    call_pb2,
    checkpoint_pb2,
    content_pb2,
    decision_pb2,
    deliverable_pb2,
    pending_pb2,
    principal_pb2,
    progress_pb2,
    session_pb2,
    undo_pb2,
)

from interlock_gateway.core import content as core_content
from interlock_gateway.core.call import (
    CallKind,
    CallResult,
    CallState,
    CallStatus,
    CheckpointRef,
    PendingRef,
    ReflectionForm,
)
from interlock_gateway.core.decision import NO_OBLIGATIONS, Decision, Obligations, Verdict
from interlock_gateway.core.jsonvalue import FrozenJsonObject, JsonValue
from interlock_gateway.core.operation import UndoInfo
from interlock_gateway.core.outcome import OutputEvent, Preview, ProgressEvent, WaitingEvent
from interlock_gateway.core.pending import PendingAction, PendingOrigin, PendingState
from interlock_gateway.core.session import Principal, label_texts
from interlock_gateway.core.tool import Classification, Effect
from interlock_gateway.pipeline.call_records import KnownCall
from interlock_gateway.pipeline.shadow_port import ShadowOpinion
from interlock_gateway.sessions.live import LiveSession

# The generated stubs type enum fields by class and `Value` by int, so these are `Any` by necessity.
STATUS: dict[CallStatus, Any] = {
    status: call_pb2.CallStatus.Value(f"CALL_STATUS_{status.name}") for status in CallStatus
}
CALL_STATE: dict[CallState, Any] = {state: call_pb2.CallState.Value(f"CALL_STATE_{state.name}") for state in CallState}
CALL_KIND: dict[CallKind, Any] = {kind: call_pb2.CallKind.Value(f"CALL_KIND_{kind.name}") for kind in CallKind}
VERDICT: dict[Verdict, Any] = {verdict: decision_pb2.Verdict.Value(f"VERDICT_{verdict.name}") for verdict in Verdict}
EFFECT: dict[Effect, Any] = {effect: decision_pb2.Effect.Value(f"EFFECT_{effect.name}") for effect in Effect}
PENDING_STATE: dict[PendingState, Any] = {
    state: pending_pb2.PendingState.Value(f"PENDING_STATE_{state.name}") for state in PendingState
}


def json_bytes(value: JsonValue | FrozenJsonObject) -> bytes:
    """A JSON field."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def timestamp(unix_s: float | None) -> Timestamp | None:
    """A time, `None` when there is none."""
    if unix_s is None:
        return None
    whole = int(unix_s)
    return Timestamp(seconds=whole, nanos=int((unix_s - whole) * 1e9))


def duration(seconds: float | None) -> Duration | None:
    """A duration, `None` when there is none."""
    if seconds is None:
        return None
    whole = int(seconds)
    return Duration(seconds=whole, nanos=int((seconds - whole) * 1e9))


def classification(kind: Classification) -> decision_pb2.Classification:
    """What follows from a tool's metadata."""
    return decision_pb2.Classification(
        effect=EFFECT[kind.effect],
        safety_level=kind.safety_level,
        audit_operation=kind.audit_operation,
        open_world=kind.open_world,
        external_effect=kind.external_effect,
    )


def decision(made: Decision, kind: Classification | None) -> decision_pb2.Decision:
    """A decision."""
    message = decision_pb2.Decision()
    _fill_decision(message, made, kind)
    return message


# Filled in its place, field by field: made apart and copied, as part of every answer, it takes three times as long.
def _fill_decision(message: decision_pb2.Decision, made: Decision, kind: Classification | None) -> None:
    message.decision_id = made.decision_id
    message.verdict = VERDICT[made.verdict]
    for reason in made.reasons:
        message.reasons.add(code=reason.code, message=reason.message, rule=reason.rule)
    if kind is not None:
        message.classification.CopyFrom(classification(kind))
    message.policy_revision = made.policy_revision
    message.profile = made.profile
    if made.notes:
        message.notes.extend(made.notes)
    for used in made.exemptions:
        message.exemptions.add(
            id=used.id,
            rule=used.rule,
            scope=used.scope,
            reason=used.reason,
            owner=used.owner,
            expires_at=timestamp(used.expires_unix_s),
        )
    message.observe_only = not made.enforced
    if made.decided_at:
        at, whole = message.decided_at, int(made.decided_at)
        at.seconds, at.nanos = whole, int((made.decided_at - whole) * 1e9)
    message.call_digest = made.call_digest
    if made.obligations is not NO_OBLIGATIONS:
        message.obligations.CopyFrom(_obligations(made.obligations))


def _obligations(asked: Obligations) -> decision_pb2.Obligations:
    return decision_pb2.Obligations(
        strip=asked.strip,
        set=json_bytes(dict(asked.set_fields)) if asked.set_fields else b"",
        max_result_bytes=asked.max_result_bytes,
        timeout=duration(asked.timeout_s),
        redact=asked.redact,
        approvers=asked.approvers,
        quorum=asked.quorum or 0,
        expires=duration(asked.expires_s),
        escalate_to=asked.escalate_to,
        escalate_after=duration(asked.escalate_after_s),
        taint=asked.taint,
    )


def content(part: core_content.Content) -> content_pb2.Content:
    """One part of a result."""
    message = content_pb2.Content()
    _fill_content(message, part)
    return message


def _fill_content(message: content_pb2.Content, part: core_content.Content) -> None:
    message.annotations, message.meta = part.annotations, part.meta
    match part:
        case core_content.Text():
            message.text.text = part.text
        case core_content.Image():
            message.image.data, message.image.media_type = part.data, part.media_type
        case core_content.Audio():
            message.audio.data, message.audio.media_type = part.data, part.media_type
        case core_content.Resource():
            message.resource.CopyFrom(_resource(part))


def _resource(part: core_content.Resource) -> content_pb2.ResourceContent:
    message = content_pb2.ResourceContent(
        uri=part.uri,
        name=part.name,
        title=part.title,
        description=part.description,
        media_type=part.media_type,
        size_bytes=part.size_bytes,
        extra=part.extra,
    )
    if part.text is not None:
        message.text = part.text
    elif part.blob is not None:
        message.blob = part.blob
    return message


def artifact(stored: core_content.Artifact) -> artifact_pb2.Artifact:
    """A stored result."""
    return artifact_pb2.Artifact(
        uri=stored.uri,
        total_bytes=stored.total_bytes,
        lines=stored.total_lines,
        media_type=stored.media_type,
        sha256=stored.sha256,
        created_at=timestamp(stored.created_at),
    )


def undo(info: UndoInfo) -> undo_pb2.UndoInfo:
    """How an operation would be undone."""
    return undo_pb2.UndoInfo(
        tool=info.tool,
        input=json_bytes(dict(info.input)) if info.input else b"",
        description=info.description,
        irreversible=info.irreversible,
        manual_guide=info.manual_guide,
    )


def preview(shown: Preview) -> pending_pb2.Preview:
    """What a call would do."""
    impact = json_bytes(shown.estimated_impact) if shown.estimated_impact is not None else b""
    return pending_pb2.Preview(would_affect=shown.would_affect, preview=shown.preview, estimated_impact=impact)


def pending_ref(ref: PendingRef) -> pending_pb2.PendingRef:
    """What an answer says about its pending action."""
    return pending_pb2.PendingRef(
        pending_id=ref.pending_id,
        label=ref.label,
        source_tool=ref.source_tool,
        expires_at=timestamp(ref.expires_at),
    )


def pending_action(action: PendingAction) -> pending_pb2.PendingAction:
    """A pending action, in full."""
    pushed = action.origin is PendingOrigin.PROVIDER
    return pending_pb2.PendingAction(
        pending_id=action.pending_id,
        session_id=action.session_id,
        call_id=action.call_id,
        label=action.label,
        source_tool=action.source_tool,
        state=PENDING_STATE[action.state],
        input_digest="" if pushed else action.digest,
        provider_pushed=pushed,
        has_reject=action.has_reject,
        details=json_bytes(dict(action.details)) if action.details is not None else b"",
        created_at=timestamp(action.created_at),
        expires_at=timestamp(action.expires_at),
        preview=preview(action.preview) if action.preview is not None else None,
        decision_id=action.decision_id,
        last_error=action.last_error,
    )


def call_result(result: CallResult) -> call_pb2.CallResult:
    """The answer to a call."""
    message = call_pb2.CallResult(
        call_id=result.call_id,
        status=STATUS[result.status],
        is_error=result.is_error,
        truncated=result.truncated,
        redactions=result.redactions,
    )
    for part in result.content:
        _fill_content(message.content.add(), part)
    if result.steering:
        message.steering.extend(result.steering)
    if result.decision is not None:
        _fill_decision(message.decision, result.decision, result.classification)
    if result.has_data:
        message.data = json_bytes(result.data)
    if result.details:
        message.details = json_bytes(dict(result.details))
    _fill_what_else_there_is(message, result)
    return message


def _fill_what_else_there_is(message: call_pb2.CallResult, result: CallResult) -> None:
    if result.artifact is not None:
        message.artifact.CopyFrom(artifact(result.artifact))
    if result.undo is not None:
        message.undo.CopyFrom(undo(result.undo))
    if result.pending is not None:
        message.pending.CopyFrom(pending_ref(result.pending))
    if result.preview is not None:
        message.preview.CopyFrom(preview(result.preview))
    if result.checkpoint is not None:
        message.checkpoint.CopyFrom(checkpoint_ref(result.checkpoint))
    if result.reflection is not None:
        message.reflection.CopyFrom(reflection_form(result.reflection))


def call_record(known: KnownCall, opinion: ShadowOpinion | None) -> call_pb2.CallRecord:
    """Where a call stands; `opinion` is what a candidate policy says of its decision, as far as it is known."""
    message = call_pb2.CallRecord(
        session_id=known.session_id,
        call_id=known.call_id,
        tool=known.tool,
        kind=CALL_KIND[known.kind],
        state=CALL_STATE[known.state],
        settled=known.settled,
        result=call_result(known.result) if known.result is not None else None,
        received_at=timestamp(known.received_at),
        finished_at=timestamp(known.finished_at),
    )
    if opinion is not None:
        message.result.decision.shadow.CopyFrom(_shadow_decision(opinion))
    return message


def _shadow_decision(opinion: ShadowOpinion) -> decision_pb2.ShadowDecision:
    said = opinion.decision
    return decision_pb2.ShadowDecision(
        verdict=VERDICT[said.verdict],
        reasons=[decision_pb2.Reason(code=one.code, message=one.message, rule=one.rule) for one in said.reasons],
        obligations=_obligations(said.obligations) if said.obligations is not NO_OBLIGATIONS else None,
        policy_revision=said.policy_revision,
        differs=opinion.differs,
    )


def checkpoint_ref(ref: CheckpointRef) -> checkpoint_pb2.CheckpointRef:
    """The checkpoint that holds a call, as its answer names it."""
    return checkpoint_pb2.CheckpointRef(checkpoint_id=ref.checkpoint_id, expires_at=timestamp(ref.expires_at))


def reflection_form(form: ReflectionForm) -> deliverable_pb2.ReflectionForm:
    """What the agent is asked to fill in."""
    return deliverable_pb2.ReflectionForm(
        instructions=form.instructions, schema=json_bytes(dict(form.schema)), call_digest=form.call_digest
    )


def progress(event: ProgressEvent) -> progress_pb2.Progress:
    """How far a tool has come."""
    return progress_pb2.Progress(progress=event.progress, total=event.total, message=event.message)


def output(event: OutputEvent) -> progress_pb2.OutputChunk:
    """Output while a tool runs."""
    stream = progress_pb2.OUTPUT_STREAM_STDERR if event.stderr else progress_pb2.OUTPUT_STREAM_STDOUT
    return progress_pb2.OutputChunk(stream=stream, text=event.text)


def waiting(event: WaitingEvent, now: float) -> progress_pb2.Waiting:
    """A call waits for its turn, or for a person; `now` is when, unless it says since when."""
    since = timestamp(event.since or now)
    if event.checkpoint_id:
        ref = checkpoint_ref(CheckpointRef(event.checkpoint_id, event.expires_at))
        return progress_pb2.Waiting(reason=progress_pb2.WAIT_REASON_CHECKPOINT, since=since, checkpoint=ref)
    return progress_pb2.Waiting(reason=progress_pb2.WAIT_REASON_LOCK, since=since, calls_ahead=event.calls_ahead)


def principal(who: Principal) -> principal_pb2.Principal:
    """A principal."""
    return principal_pb2.Principal(
        id=who.id, kind=who.kind, roles=sorted(role.value for role in who.roles), groups=who.groups
    )


def session(live: LiveSession, owner: principal_pb2.Principal, deferred_threshold: int) -> session_pb2.Session:
    """A session with its counts; the threshold is the one in force."""
    record, whole = live.session, live.whole
    return session_pb2.Session(
        session_id=record.session_id,
        principal=owner,
        intent=record.intent,
        labels=label_texts(record.labels),
        tools=record.tools,
        workspace_roots=record.roots,
        state=session_pb2.SESSION_STATE_OPEN if record.is_open else session_pb2.SESSION_STATE_CLOSED,
        opened_at=timestamp(record.opened_at),
        last_call_at=timestamp(whole.last_call_at or None),
        closed_at=timestamp(record.closed_at),
        calls=whole.calls,
        destructive_calls=whole.destructive_calls,
        pending_actions=live.pending_count,
        taints=sorted(whole.taints),
        activated_tools=record.activated,
        always_loaded_tools=record.always_loaded,
        deferred_threshold=deferred_threshold,
    )
