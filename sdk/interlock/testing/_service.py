"""The RPCs of a fake gateway; each reads a request, asks a session, and answers."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import grpc

from interlock.calls import OutputChunk
from interlock.provider._provider import RequestFailed
from interlock.testing import _answers as answers
from interlock.testing._scripts import Allow, Answer
from interlock.testing._session import FakeSession
from interlock.v1 import (
    call_pb2,
    decision_pb2,
    error_reason_pb2,
    operation_pb2,
    pending_pb2,
    progress_pb2,
    session_pb2,
    tool_pb2,
)
from interlock.v1 import gateway_service_pb2 as rpc

_ACTIONS = {pending_pb2.RESOLVE_ACTION_APPLY: "apply", pending_pb2.RESOLVE_ACTION_DISCARD: "discard"}
_STREAMS = {"stdout": progress_pb2.OUTPUT_STREAM_STDOUT, "stderr": progress_pb2.OUTPUT_STREAM_STDERR}
_VERDICTS = {
    "Allow": decision_pb2.VERDICT_ALLOW,
    "Preview": decision_pb2.VERDICT_PREVIEW,
    "Checkpoint": decision_pb2.VERDICT_CHECKPOINT,
    "Reflect": decision_pb2.VERDICT_REFLECT,
    "Fail": decision_pb2.VERDICT_ALLOW,
    "OutcomeUnknown": decision_pb2.VERDICT_ALLOW,
}


@dataclass(slots=True)
class SessionRpcs:
    """The methods about sessions and calls. `session` finds or makes one, `peek` sees what a tool would answer."""

    session: Callable[[str], FakeSession]
    peek: Callable[[str], Answer | None]
    definitions: Callable[[], list[tool_pb2.ToolDefinition]]

    def open_session(self, request: rpc.OpenSessionRequest, _patience: float) -> rpc.OpenSessionResponse:
        """Open a session."""
        session = self.session(request.session_id)
        session.opened = request
        made = session_pb2.Session(
            session_id=session.session_id,
            intent=request.intent,
            labels=request.labels,
            tools=request.tools,
            workspace_roots=request.workspace_roots,
            state=session_pb2.SESSION_STATE_OPEN,
        )
        return rpc.OpenSessionResponse(session=made)

    def close_session(self, request: rpc.CloseSessionRequest, _patience: float) -> rpc.CloseSessionResponse:
        """Close a session, and discard what is pending in it."""
        session = self.session(request.session_id)
        discarded, session.closed = len(session.stack), True
        session.stack.clear()
        return rpc.CloseSessionResponse(discarded_pending_actions=discarded)

    def list_tools(self, request: rpc.ListToolsRequest, _patience: float) -> rpc.ListToolsResponse:
        """The tools, and `resolve` while something is pending."""
        session = self.session(request.session_id)
        wanted = set(session.opened.tools) if session.opened is not None else set()
        tools = [one for one in self.definitions() if not wanted or one.name in wanted]
        answer = rpc.ListToolsResponse()
        if session.stack:
            tools.append(answers.RESOLVE)
            answer.tool_choice.required_tool = answers.RESOLVE.name
        answer.tools.extend(
            tool_pb2.ListedTool(definition=one, pin_state=tool_pb2.PIN_STATE_PINNED, provider="fake") for one in tools
        )
        return answer

    def search_tools(self, request: rpc.SearchToolsRequest, _patience: float) -> rpc.SearchToolsResponse:
        """The tools whose name or description holds the query."""
        query = request.query.lower()
        found = [one for one in self.definitions() if query in f"{one.name} {one.description}".lower()]
        return rpc.SearchToolsResponse(
            matches=[tool_pb2.ToolMatch(name=one.name, description=one.description, score=1.0) for one in found]
        )

    def activate_tools(self, request: rpc.ActivateToolsRequest, _patience: float) -> rpc.ActivateToolsResponse:
        """Everything is active already."""
        known = {one.name: one for one in self.definitions()}
        return rpc.ActivateToolsResponse(
            activated=[tool_pb2.ListedTool(definition=known[name]) for name in request.names if name in known],
            unknown=[name for name in request.names if name not in known],
        )

    def evaluate(self, request: rpc.EvaluateRequest, _patience: float) -> rpc.EvaluateResponse:
        """The verdict of the tool's next answer; nothing is used up."""
        script = self.peek(request.call.tool)
        verdict = _VERDICTS.get(type(script).__name__, decision_pb2.VERDICT_DENY)
        return rpc.EvaluateResponse(decision=decision_pb2.Decision(verdict=verdict, policy_revision="fake"))

    def call_tool(self, request: rpc.CallToolRequest, patience: float) -> rpc.CallToolResponse:
        """One call."""
        return rpc.CallToolResponse(result=self._call(request.call, patience))

    def stream_tool(self, request: rpc.StreamToolRequest, patience: float) -> Iterator[rpc.StreamToolResponse]:
        """One call, after the events that were scripted for it."""
        script = self.peek(request.call.tool)
        for event in script.events if isinstance(script, Allow) else ():
            if isinstance(event, OutputChunk):
                stream = _STREAMS.get(event.stream, progress_pb2.OUTPUT_STREAM_UNSPECIFIED)
                yield rpc.StreamToolResponse(output=progress_pb2.OutputChunk(text=event.text, stream=stream))
            else:
                progress = progress_pb2.Progress(progress=event.done, total=event.total, message=event.message)
                yield rpc.StreamToolResponse(progress=progress)
        yield rpc.StreamToolResponse(result=self._call(request.call, patience))

    def call_batch(self, request: rpc.CallBatchRequest, patience: float) -> Iterator[rpc.CallBatchResponse]:
        """Several calls, one after the other."""
        stopped_by: int | None = None
        for index, call in enumerate(request.calls):
            if stopped_by is not None:
                answer = rpc.CallBatchResponse(index=index)
                answer.error.code = grpc.StatusCode.ABORTED.value[0]
                answer.error.message = "an earlier call of the batch stopped it"
                answer.error.reason = error_reason_pb2.ERROR_REASON_BATCH_STOPPED
                answer.error.metadata["stopped_by_index"] = str(stopped_by)
                yield answer
                continue
            result = self._call(call, patience)
            yield rpc.CallBatchResponse(index=index, result=result)
            if request.stop_on_error and (result.is_error or result.status != call_pb2.CALL_STATUS_COMPLETED):
                stopped_by = index

    def get_call(self, request: rpc.GetCallRequest, _patience: float) -> rpc.GetCallResponse:
        """Where a call stands."""
        return rpc.GetCallResponse(call=self._record(request.session_id, request.call_id, 0.0))

    def wait_call(self, request: rpc.WaitCallRequest, patience: float) -> rpc.WaitCallResponse:
        """Where a call stands, once it is settled or the time is up."""
        asked = request.timeout.ToNanoseconds() / 1e9 if request.HasField("timeout") else patience
        return rpc.WaitCallResponse(call=self._record(request.session_id, request.call_id, min(asked, patience)))

    def resolve(self, request: rpc.ResolveRequest, _patience: float) -> rpc.ResolveResponse:
        """Apply or discard the top pending action."""
        session, action = self.session(request.session_id), _ACTIONS[request.action]
        result = session.resolve(request.call_id, action, request.reason, request.extra, request.pending_id)
        return rpc.ResolveResponse(result=result)

    def list_pending(self, request: rpc.ListPendingRequest, _patience: float) -> rpc.ListPendingResponse:
        """What is pending, top first."""
        stack = self.session(request.session_id).stack
        return rpc.ListPendingResponse(pending=[one.pending for one in reversed(stack)])

    def list_operations(self, request: rpc.ListOperationsRequest, _patience: float) -> rpc.ListOperationsResponse:
        """The journal, newest first."""
        wanted = set(request.states)
        found = [one for one in self.session(request.session_id).journal if not wanted or one.state in wanted]
        return rpc.ListOperationsResponse(operations=reversed(found))

    def rollback(self, request: rpc.RollbackRequest, _patience: float) -> Iterator[rpc.RollbackResponse]:
        """Mark operations as undone, newest first.

        One that is irreversible stops it, unless it is to be skipped; so does one of unknown outcome.
        """
        targets = _targets(request, self.session(request.session_id).journal)
        for index, operation in enumerate(targets):
            outcome = _rollback_outcome(operation, skip=request.skip_irreversible)
            if outcome == operation_pb2.ROLLBACK_OUTCOME_UNDONE:
                operation.state = operation_pb2.OPERATION_STATE_UNDONE
            stops = outcome not in _GOES_ON
            line = rpc.RollbackResponse(
                operation=operation, outcome=outcome, remaining=len(targets) - index - 1 + stops
            )
            line.manual_guide = operation.undo.manual_guide
            yield line
            if stops:
                return

    def settle_operation(self, request: rpc.SettleOperationRequest, _patience: float) -> rpc.SettleOperationResponse:
        """Take the word of whoever asks for an operation of unknown outcome."""
        unknown = operation_pb2.OPERATION_STATE_OUTCOME_UNKNOWN
        for operation in self.session(request.session_id).journal:
            if operation.operation_id == request.operation_id and operation.state == unknown:
                took_effect = request.effect == operation_pb2.OPERATION_EFFECT_TOOK_EFFECT
                done, failed = operation_pb2.OPERATION_STATE_DONE, operation_pb2.OPERATION_STATE_FAILED
                operation.state = done if took_effect else failed
                return rpc.SettleOperationResponse(operation=operation)
        raise RequestFailed(
            grpc.StatusCode.NOT_FOUND,
            "there is no such operation of unknown outcome",
            error_reason_pb2.ERROR_REASON_OPERATION_NOT_FOUND,
        )

    def _call(self, call: call_pb2.ToolCall, patience: float) -> call_pb2.CallResult:
        session = self.session(call.session_id)
        if session.closed:
            raise RequestFailed(
                grpc.StatusCode.FAILED_PRECONDITION,
                "the session is closed",
                error_reason_pb2.ERROR_REASON_SESSION_CLOSED,
            )
        return session.call(call, patience)

    def _record(self, session_id: str, call_id: str, patience: float) -> call_pb2.CallRecord:
        session = self.session(session_id)
        try:
            result = session.settle(call_id, patience)
        except KeyError:
            raise RequestFailed(
                grpc.StatusCode.NOT_FOUND, "there is no such call", error_reason_pb2.ERROR_REASON_CALL_NOT_FOUND
            ) from None
        record = call_pb2.CallRecord(session_id=session_id, call_id=call_id, settled=result is not None)
        record.kind = call_pb2.CALL_KIND_CALL
        if result is None:
            record.state = call_pb2.CALL_STATE_AWAITING_CHECKPOINT
        else:
            record.state = _STATES.get(result.status, call_pb2.CALL_STATE_UNSPECIFIED)
            record.result.CopyFrom(result)
        return record


_STATES = {
    call_pb2.CALL_STATUS_COMPLETED: call_pb2.CALL_STATE_COMPLETED,
    call_pb2.CALL_STATUS_DENIED: call_pb2.CALL_STATE_DENIED,
    call_pb2.CALL_STATUS_PREVIEW: call_pb2.CALL_STATE_PREVIEWED,
    call_pb2.CALL_STATUS_FAILED: call_pb2.CALL_STATE_FAILED,
    call_pb2.CALL_STATUS_OUTCOME_UNKNOWN: call_pb2.CALL_STATE_OUTCOME_UNKNOWN,
}


def _targets(request: rpc.RollbackRequest, journal: list[operation_pb2.Operation]) -> list[operation_pb2.Operation]:
    standing = (operation_pb2.OPERATION_STATE_DONE, operation_pb2.OPERATION_STATE_OUTCOME_UNKNOWN)
    newest = [one for one in reversed(journal) if one.state in standing]
    if request.count:
        return newest[: request.count]
    for index, one in enumerate(newest):
        if request.last_operation_id == one.operation_id or request.since_call_id == one.call_id:
            return newest[: index + 1]
    return []


_GOES_ON = (operation_pb2.ROLLBACK_OUTCOME_UNDONE, operation_pb2.ROLLBACK_OUTCOME_SKIPPED_IRREVERSIBLE)


def _rollback_outcome(operation: operation_pb2.Operation, *, skip: bool) -> operation_pb2.RollbackOutcome:
    if operation.state == operation_pb2.OPERATION_STATE_OUTCOME_UNKNOWN:
        return operation_pb2.ROLLBACK_OUTCOME_OUTCOME_UNKNOWN
    if not operation.undo.irreversible and operation.HasField("undo"):
        return operation_pb2.ROLLBACK_OUTCOME_UNDONE
    if skip:
        return operation_pb2.ROLLBACK_OUTCOME_SKIPPED_IRREVERSIBLE
    return operation_pb2.ROLLBACK_OUTCOME_STOPPED_IRREVERSIBLE
