"""From what travels to what a session hands out besides results: events, records, tools, the journal, artifacts."""

from typing import Any, Literal, cast

import grpc

from interlock._decode import (
    call_result,
    classification,
    member_of,
    moment,
    object_of,
    preview,
    undo,
    word_of,
)
from interlock.artifacts import ArtifactMatch, ArtifactSearch
from interlock.calls import CallEvent, CallRecord, CallState, OutputChunk, Progress, Waiting
from interlock.decisions import Effect
from interlock.errors import RequestError, error_class
from interlock.journal import (
    Operation,
    OperationState,
    PendingAction,
    PendingState,
    RollbackLine,
    RollbackOutcome,
)
from interlock.references import Prompt, PromptMessage, ReferenceAlert, ReferenceProblem
from interlock.tools import Tool, ToolMatch
from interlock.v1 import (
    call_pb2,
    decision_pb2,
    error_reason_pb2,
    operation_pb2,
    pending_pb2,
    progress_pb2,
    reference_pb2,
    request_error_pb2,
    tool_pb2,
)
from interlock.v1 import gateway_service_pb2 as rpc

_CODES = {code.value[0]: code for code in grpc.StatusCode}


def event(message: rpc.StreamToolResponse) -> CallEvent | None:
    """What happened on a call's way; None for something this SDK does not know."""
    match message.WhichOneof("event"):
        case "progress":
            total = message.progress.total if message.progress.HasField("total") else None
            return Progress(message.progress.progress, total, message.progress.message)
        case "output":
            stream = word_of(progress_pb2.OutputStream, message.output.stream)
            known = cast("Literal['', 'stdout', 'stderr']", "" if stream == "unknown" else stream)
            return OutputChunk(message.output.text, known)
        case "waiting":
            return _waiting(message.waiting)
        case "result":
            return call_result(message.result)
    return None


def _waiting(message: progress_pb2.Waiting) -> Waiting:
    reason = word_of(progress_pb2.WaitReason, message.reason)
    return Waiting(
        reason=cast("Literal['unknown', 'lock', 'checkpoint']", reason),
        since=moment(message, "since"),
        calls_ahead=message.calls_ahead,
        checkpoint_id=message.checkpoint.checkpoint_id,
    )


def request_error(message: request_error_pb2.RequestError) -> RequestError:
    """A gRPC error that travelled inside a stream."""
    code = _CODES.get(message.code, grpc.StatusCode.UNKNOWN)
    reason = error_reason_pb2.ErrorReason.DESCRIPTOR.values_by_number.get(message.reason)
    name = reason.name.removeprefix("ERROR_REASON_") if reason is not None and message.reason else ""
    return error_class(code)(message.message, code=code, reason=name, metadata=message.metadata)


def call_record(message: call_pb2.CallRecord) -> CallRecord:
    """A call as the gateway remembers it."""
    return CallRecord(
        session_id=message.session_id,
        call_id=message.call_id,
        tool=message.tool,
        kind=cast("Any", word_of(call_pb2.CallKind, message.kind)),
        state=member_of(CallState, call_pb2.CallState, message.state),
        settled=message.settled,
        result=call_result(message.result) if message.HasField("result") else None,
        received_at=moment(message, "received_at"),
        finished_at=moment(message, "finished_at"),
    )


def tool(message: tool_pb2.ListedTool) -> Tool:
    """A tool as a session sees it."""
    made = message.definition
    return Tool(
        name=made.name,
        description=made.description,
        input_schema=object_of(made.input_schema) or {"type": "object"},
        output_schema=object_of(made.output_schema) if made.output_schema else None,
        title=made.title,
        aliases=tuple(made.aliases),
        classification=classification(message.classification),
        min_confidence=made.capability.min_confidence,
        safety_hints=tuple(message.safety_hints),
        provider=message.provider,
        callable=message.pin_state != tool_pb2.PIN_STATE_CHANGED,
    )


def tool_match(message: tool_pb2.ToolMatch) -> ToolMatch:
    """A deferred tool."""
    return ToolMatch(
        name=message.name,
        title=message.title,
        description=message.description,
        classification=classification(message.classification),
        score=message.score,
    )


def pending_action(message: pending_pb2.PendingAction) -> PendingAction:
    """A pending action."""
    return PendingAction(
        pending_id=message.pending_id,
        call_id=message.call_id,
        label=message.label,
        source_tool=message.source_tool,
        state=member_of(PendingState, pending_pb2.PendingState, message.state),
        preview=preview(message.preview) if message.HasField("preview") else None,
        details=object_of(message.details),
        created_at=moment(message, "created_at"),
        expires_at=moment(message, "expires_at"),
        decision_id=message.decision_id,
        last_error=message.last_error,
    )


def operation(message: operation_pb2.Operation) -> Operation:
    """An operation of the journal."""
    return Operation(
        operation_id=message.operation_id,
        sequence=message.sequence,
        call_id=message.call_id,
        tool=message.tool,
        provider=message.provider,
        effect=member_of(Effect, decision_pb2.Effect, message.effect),
        state=member_of(OperationState, operation_pb2.OperationState, message.state),
        undo=undo(message.undo) if message.HasField("undo") else None,
        undo_call_id=message.undo_call_id,
        error=message.error,
        decision_id=message.decision_id,
        intended_at=moment(message, "intended_at"),
        finished_at=moment(message, "finished_at"),
        undone_at=moment(message, "undone_at"),
        undoes_operation_id=message.undoes_operation_id,
        only_reads=message.only_reads,
    )


def rollback_line(message: rpc.RollbackResponse) -> RollbackLine:
    """One line of a rollback."""
    return RollbackLine(
        operation=operation(message.operation),
        outcome=member_of(RollbackOutcome, operation_pb2.RollbackOutcome, message.outcome),
        message=message.message,
        manual_guide=message.manual_guide,
        result=call_result(message.result) if message.HasField("result") else None,
        remaining=message.remaining,
    )


def artifact_search(messages: list[rpc.SearchArtifactResponse]) -> ArtifactSearch:
    """The matches and the summary of a search; without a summary it is taken as cut off."""
    summary = messages[-1].summary if messages and messages[-1].WhichOneof("event") == "summary" else None
    return ArtifactSearch(
        matches=tuple(
            ArtifactMatch(
                line=one.match.line,
                text=one.match.text,
                offset=one.match.offset,
                before=tuple(one.match.before),
                after=tuple(one.match.after),
            )
            for one in messages
            if one.WhichOneof("event") == "match"
        ),
        lines_searched=summary.lines_searched if summary else 0,
        more_matches=summary.more_matches if summary else True,
        timed_out=summary.timed_out if summary else False,
    )


def prompt(message: rpc.ResolveReferencesResponse) -> Prompt:
    """A prompt with its references resolved."""
    return Prompt(
        messages=tuple(
            PromptMessage(cast("Any", word_of(reference_pb2.MessageRole, one.role)), one.text)
            for one in message.messages
        ),
        alerts=tuple(
            ReferenceAlert(
                one.segment_index,
                one.reference,
                member_of(ReferenceProblem, reference_pb2.ReferenceError, one.error),
                one.message,
            )
            for one in message.alerts
        ),
    )
