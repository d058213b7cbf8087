import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from interlock.v1 import artifact_pb2 as _artifact_pb2
from interlock.v1 import call_pb2 as _call_pb2
from interlock.v1 import checkpoint_pb2 as _checkpoint_pb2
from interlock.v1 import decision_pb2 as _decision_pb2
from interlock.v1 import operation_pb2 as _operation_pb2
from interlock.v1 import pending_pb2 as _pending_pb2
from interlock.v1 import progress_pb2 as _progress_pb2
from interlock.v1 import reference_pb2 as _reference_pb2
from interlock.v1 import request_error_pb2 as _request_error_pb2
from interlock.v1 import session_pb2 as _session_pb2
from interlock.v1 import tool_pb2 as _tool_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class OpenSessionRequest(_message.Message):
    __slots__ = ("session_id", "intent", "labels", "tools", "workspace_roots", "always_loaded_tools", "deferred_threshold")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    INTENT_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    WORKSPACE_ROOTS_FIELD_NUMBER: _ClassVar[int]
    ALWAYS_LOADED_TOOLS_FIELD_NUMBER: _ClassVar[int]
    DEFERRED_THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    intent: str
    labels: _containers.ScalarMap[str, str]
    tools: _containers.RepeatedScalarFieldContainer[str]
    workspace_roots: _containers.RepeatedScalarFieldContainer[str]
    always_loaded_tools: _containers.RepeatedScalarFieldContainer[str]
    deferred_threshold: int
    def __init__(self, session_id: _Optional[str] = ..., intent: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ..., tools: _Optional[_Iterable[str]] = ..., workspace_roots: _Optional[_Iterable[str]] = ..., always_loaded_tools: _Optional[_Iterable[str]] = ..., deferred_threshold: _Optional[int] = ...) -> None: ...

class OpenSessionResponse(_message.Message):
    __slots__ = ("session",)
    SESSION_FIELD_NUMBER: _ClassVar[int]
    session: _session_pb2.Session
    def __init__(self, session: _Optional[_Union[_session_pb2.Session, _Mapping]] = ...) -> None: ...

class CloseSessionRequest(_message.Message):
    __slots__ = ("session_id",)
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    def __init__(self, session_id: _Optional[str] = ...) -> None: ...

class CloseSessionResponse(_message.Message):
    __slots__ = ("session", "discarded_pending_actions")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    DISCARDED_PENDING_ACTIONS_FIELD_NUMBER: _ClassVar[int]
    session: _session_pb2.Session
    discarded_pending_actions: int
    def __init__(self, session: _Optional[_Union[_session_pb2.Session, _Mapping]] = ..., discarded_pending_actions: _Optional[int] = ...) -> None: ...

class ListToolsRequest(_message.Message):
    __slots__ = ("session_id",)
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    def __init__(self, session_id: _Optional[str] = ...) -> None: ...

class ListToolsResponse(_message.Message):
    __slots__ = ("tools", "tool_choice", "available_tools_block", "guidelines_block", "deferred_tools")
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    TOOL_CHOICE_FIELD_NUMBER: _ClassVar[int]
    AVAILABLE_TOOLS_BLOCK_FIELD_NUMBER: _ClassVar[int]
    GUIDELINES_BLOCK_FIELD_NUMBER: _ClassVar[int]
    DEFERRED_TOOLS_FIELD_NUMBER: _ClassVar[int]
    tools: _containers.RepeatedCompositeFieldContainer[_tool_pb2.ListedTool]
    tool_choice: _tool_pb2.ToolChoice
    available_tools_block: str
    guidelines_block: str
    deferred_tools: int
    def __init__(self, tools: _Optional[_Iterable[_Union[_tool_pb2.ListedTool, _Mapping]]] = ..., tool_choice: _Optional[_Union[_tool_pb2.ToolChoice, _Mapping]] = ..., available_tools_block: _Optional[str] = ..., guidelines_block: _Optional[str] = ..., deferred_tools: _Optional[int] = ...) -> None: ...

class SearchToolsRequest(_message.Message):
    __slots__ = ("session_id", "query", "max_results")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    MAX_RESULTS_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    query: str
    max_results: int
    def __init__(self, session_id: _Optional[str] = ..., query: _Optional[str] = ..., max_results: _Optional[int] = ...) -> None: ...

class SearchToolsResponse(_message.Message):
    __slots__ = ("matches",)
    MATCHES_FIELD_NUMBER: _ClassVar[int]
    matches: _containers.RepeatedCompositeFieldContainer[_tool_pb2.ToolMatch]
    def __init__(self, matches: _Optional[_Iterable[_Union[_tool_pb2.ToolMatch, _Mapping]]] = ...) -> None: ...

class ActivateToolsRequest(_message.Message):
    __slots__ = ("session_id", "names")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    names: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, session_id: _Optional[str] = ..., names: _Optional[_Iterable[str]] = ...) -> None: ...

class ActivateToolsResponse(_message.Message):
    __slots__ = ("activated", "unknown")
    ACTIVATED_FIELD_NUMBER: _ClassVar[int]
    UNKNOWN_FIELD_NUMBER: _ClassVar[int]
    activated: _containers.RepeatedCompositeFieldContainer[_tool_pb2.ListedTool]
    unknown: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, activated: _Optional[_Iterable[_Union[_tool_pb2.ListedTool, _Mapping]]] = ..., unknown: _Optional[_Iterable[str]] = ...) -> None: ...

class EvaluateRequest(_message.Message):
    __slots__ = ("call",)
    CALL_FIELD_NUMBER: _ClassVar[int]
    call: _call_pb2.ToolCall
    def __init__(self, call: _Optional[_Union[_call_pb2.ToolCall, _Mapping]] = ...) -> None: ...

class EvaluateResponse(_message.Message):
    __slots__ = ("decision",)
    DECISION_FIELD_NUMBER: _ClassVar[int]
    decision: _decision_pb2.Decision
    def __init__(self, decision: _Optional[_Union[_decision_pb2.Decision, _Mapping]] = ...) -> None: ...

class CallToolRequest(_message.Message):
    __slots__ = ("call",)
    CALL_FIELD_NUMBER: _ClassVar[int]
    call: _call_pb2.ToolCall
    def __init__(self, call: _Optional[_Union[_call_pb2.ToolCall, _Mapping]] = ...) -> None: ...

class CallToolResponse(_message.Message):
    __slots__ = ("result",)
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: _call_pb2.CallResult
    def __init__(self, result: _Optional[_Union[_call_pb2.CallResult, _Mapping]] = ...) -> None: ...

class StreamToolRequest(_message.Message):
    __slots__ = ("call",)
    CALL_FIELD_NUMBER: _ClassVar[int]
    call: _call_pb2.ToolCall
    def __init__(self, call: _Optional[_Union[_call_pb2.ToolCall, _Mapping]] = ...) -> None: ...

class StreamToolResponse(_message.Message):
    __slots__ = ("progress", "waiting", "output", "result")
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    progress: _progress_pb2.Progress
    waiting: _progress_pb2.Waiting
    output: _progress_pb2.OutputChunk
    result: _call_pb2.CallResult
    def __init__(self, progress: _Optional[_Union[_progress_pb2.Progress, _Mapping]] = ..., waiting: _Optional[_Union[_progress_pb2.Waiting, _Mapping]] = ..., output: _Optional[_Union[_progress_pb2.OutputChunk, _Mapping]] = ..., result: _Optional[_Union[_call_pb2.CallResult, _Mapping]] = ...) -> None: ...

class CallBatchRequest(_message.Message):
    __slots__ = ("session_id", "calls", "stop_on_error", "max_parallel")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    CALLS_FIELD_NUMBER: _ClassVar[int]
    STOP_ON_ERROR_FIELD_NUMBER: _ClassVar[int]
    MAX_PARALLEL_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    calls: _containers.RepeatedCompositeFieldContainer[_call_pb2.ToolCall]
    stop_on_error: bool
    max_parallel: int
    def __init__(self, session_id: _Optional[str] = ..., calls: _Optional[_Iterable[_Union[_call_pb2.ToolCall, _Mapping]]] = ..., stop_on_error: _Optional[bool] = ..., max_parallel: _Optional[int] = ...) -> None: ...

class CallBatchResponse(_message.Message):
    __slots__ = ("index", "result", "error")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    index: int
    result: _call_pb2.CallResult
    error: _request_error_pb2.RequestError
    def __init__(self, index: _Optional[int] = ..., result: _Optional[_Union[_call_pb2.CallResult, _Mapping]] = ..., error: _Optional[_Union[_request_error_pb2.RequestError, _Mapping]] = ...) -> None: ...

class GetCallRequest(_message.Message):
    __slots__ = ("session_id", "call_id")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    call_id: str
    def __init__(self, session_id: _Optional[str] = ..., call_id: _Optional[str] = ...) -> None: ...

class GetCallResponse(_message.Message):
    __slots__ = ("call",)
    CALL_FIELD_NUMBER: _ClassVar[int]
    call: _call_pb2.CallRecord
    def __init__(self, call: _Optional[_Union[_call_pb2.CallRecord, _Mapping]] = ...) -> None: ...

class WaitCallRequest(_message.Message):
    __slots__ = ("session_id", "call_id", "timeout")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    call_id: str
    timeout: _duration_pb2.Duration
    def __init__(self, session_id: _Optional[str] = ..., call_id: _Optional[str] = ..., timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class WaitCallResponse(_message.Message):
    __slots__ = ("call",)
    CALL_FIELD_NUMBER: _ClassVar[int]
    call: _call_pb2.CallRecord
    def __init__(self, call: _Optional[_Union[_call_pb2.CallRecord, _Mapping]] = ...) -> None: ...

class ResolveRequest(_message.Message):
    __slots__ = ("session_id", "call_id", "action", "reason", "extra", "pending_id")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    EXTRA_FIELD_NUMBER: _ClassVar[int]
    PENDING_ID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    call_id: str
    action: _pending_pb2.ResolveAction
    reason: str
    extra: bytes
    pending_id: str
    def __init__(self, session_id: _Optional[str] = ..., call_id: _Optional[str] = ..., action: _Optional[_Union[_pending_pb2.ResolveAction, str]] = ..., reason: _Optional[str] = ..., extra: _Optional[bytes] = ..., pending_id: _Optional[str] = ...) -> None: ...

class ResolveResponse(_message.Message):
    __slots__ = ("result",)
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: _call_pb2.CallResult
    def __init__(self, result: _Optional[_Union[_call_pb2.CallResult, _Mapping]] = ...) -> None: ...

class ListPendingRequest(_message.Message):
    __slots__ = ("session_id", "page_size", "page_token")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    page_size: int
    page_token: str
    def __init__(self, session_id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListPendingResponse(_message.Message):
    __slots__ = ("pending", "standing_handler", "next_page_token")
    PENDING_FIELD_NUMBER: _ClassVar[int]
    STANDING_HANDLER_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    pending: _containers.RepeatedCompositeFieldContainer[_pending_pb2.PendingAction]
    standing_handler: str
    next_page_token: str
    def __init__(self, pending: _Optional[_Iterable[_Union[_pending_pb2.PendingAction, _Mapping]]] = ..., standing_handler: _Optional[str] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class RollbackRequest(_message.Message):
    __slots__ = ("session_id", "last_operation_id", "count", "since_call_id", "skip_irreversible", "reason", "checkpoint_mode")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    LAST_OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    SINCE_CALL_ID_FIELD_NUMBER: _ClassVar[int]
    SKIP_IRREVERSIBLE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_MODE_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    last_operation_id: str
    count: int
    since_call_id: str
    skip_irreversible: bool
    reason: str
    checkpoint_mode: _checkpoint_pb2.CheckpointMode
    def __init__(self, session_id: _Optional[str] = ..., last_operation_id: _Optional[str] = ..., count: _Optional[int] = ..., since_call_id: _Optional[str] = ..., skip_irreversible: _Optional[bool] = ..., reason: _Optional[str] = ..., checkpoint_mode: _Optional[_Union[_checkpoint_pb2.CheckpointMode, str]] = ...) -> None: ...

class RollbackResponse(_message.Message):
    __slots__ = ("operation", "outcome", "message", "manual_guide", "result", "remaining")
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    MANUAL_GUIDE_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    REMAINING_FIELD_NUMBER: _ClassVar[int]
    operation: _operation_pb2.Operation
    outcome: _operation_pb2.RollbackOutcome
    message: str
    manual_guide: str
    result: _call_pb2.CallResult
    remaining: int
    def __init__(self, operation: _Optional[_Union[_operation_pb2.Operation, _Mapping]] = ..., outcome: _Optional[_Union[_operation_pb2.RollbackOutcome, str]] = ..., message: _Optional[str] = ..., manual_guide: _Optional[str] = ..., result: _Optional[_Union[_call_pb2.CallResult, _Mapping]] = ..., remaining: _Optional[int] = ...) -> None: ...

class ListOperationsRequest(_message.Message):
    __slots__ = ("session_id", "states", "page_size", "page_token")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    states: _containers.RepeatedScalarFieldContainer[_operation_pb2.OperationState]
    page_size: int
    page_token: str
    def __init__(self, session_id: _Optional[str] = ..., states: _Optional[_Iterable[_Union[_operation_pb2.OperationState, str]]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListOperationsResponse(_message.Message):
    __slots__ = ("operations", "next_page_token")
    OPERATIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    operations: _containers.RepeatedCompositeFieldContainer[_operation_pb2.Operation]
    next_page_token: str
    def __init__(self, operations: _Optional[_Iterable[_Union[_operation_pb2.Operation, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class SettleOperationRequest(_message.Message):
    __slots__ = ("session_id", "operation_id", "effect", "reason")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    EFFECT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    operation_id: str
    effect: _operation_pb2.OperationEffect
    reason: str
    def __init__(self, session_id: _Optional[str] = ..., operation_id: _Optional[str] = ..., effect: _Optional[_Union[_operation_pb2.OperationEffect, str]] = ..., reason: _Optional[str] = ...) -> None: ...

class SettleOperationResponse(_message.Message):
    __slots__ = ("operation",)
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    operation: _operation_pb2.Operation
    def __init__(self, operation: _Optional[_Union[_operation_pb2.Operation, _Mapping]] = ...) -> None: ...

class ReadArtifactRequest(_message.Message):
    __slots__ = ("uri", "bytes", "lines")
    URI_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    LINES_FIELD_NUMBER: _ClassVar[int]
    uri: str
    bytes: _artifact_pb2.ByteRange
    lines: _artifact_pb2.LineRange
    def __init__(self, uri: _Optional[str] = ..., bytes: _Optional[_Union[_artifact_pb2.ByteRange, _Mapping]] = ..., lines: _Optional[_Union[_artifact_pb2.LineRange, _Mapping]] = ...) -> None: ...

class ReadArtifactResponse(_message.Message):
    __slots__ = ("artifact", "data", "offset", "first_line", "end")
    ARTIFACT_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    FIRST_LINE_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    artifact: _artifact_pb2.Artifact
    data: bytes
    offset: int
    first_line: int
    end: bool
    def __init__(self, artifact: _Optional[_Union[_artifact_pb2.Artifact, _Mapping]] = ..., data: _Optional[bytes] = ..., offset: _Optional[int] = ..., first_line: _Optional[int] = ..., end: _Optional[bool] = ...) -> None: ...

class SearchArtifactRequest(_message.Message):
    __slots__ = ("uri", "literal", "regular_expression", "ignore_case", "context_lines", "max_matches")
    URI_FIELD_NUMBER: _ClassVar[int]
    LITERAL_FIELD_NUMBER: _ClassVar[int]
    REGULAR_EXPRESSION_FIELD_NUMBER: _ClassVar[int]
    IGNORE_CASE_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_LINES_FIELD_NUMBER: _ClassVar[int]
    MAX_MATCHES_FIELD_NUMBER: _ClassVar[int]
    uri: str
    literal: str
    regular_expression: str
    ignore_case: bool
    context_lines: int
    max_matches: int
    def __init__(self, uri: _Optional[str] = ..., literal: _Optional[str] = ..., regular_expression: _Optional[str] = ..., ignore_case: _Optional[bool] = ..., context_lines: _Optional[int] = ..., max_matches: _Optional[int] = ...) -> None: ...

class SearchArtifactResponse(_message.Message):
    __slots__ = ("match", "summary")
    MATCH_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    match: _artifact_pb2.ArtifactMatch
    summary: _artifact_pb2.ArtifactSearchSummary
    def __init__(self, match: _Optional[_Union[_artifact_pb2.ArtifactMatch, _Mapping]] = ..., summary: _Optional[_Union[_artifact_pb2.ArtifactSearchSummary, _Mapping]] = ...) -> None: ...

class StatArtifactRequest(_message.Message):
    __slots__ = ("uri",)
    URI_FIELD_NUMBER: _ClassVar[int]
    uri: str
    def __init__(self, uri: _Optional[str] = ...) -> None: ...

class StatArtifactResponse(_message.Message):
    __slots__ = ("artifact",)
    ARTIFACT_FIELD_NUMBER: _ClassVar[int]
    artifact: _artifact_pb2.Artifact
    def __init__(self, artifact: _Optional[_Union[_artifact_pb2.Artifact, _Mapping]] = ...) -> None: ...

class ResolveReferencesRequest(_message.Message):
    __slots__ = ("session_id", "segments")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    segments: _containers.RepeatedCompositeFieldContainer[_reference_pb2.PromptSegment]
    def __init__(self, session_id: _Optional[str] = ..., segments: _Optional[_Iterable[_Union[_reference_pb2.PromptSegment, _Mapping]]] = ...) -> None: ...

class ResolveReferencesResponse(_message.Message):
    __slots__ = ("messages", "alerts")
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    ALERTS_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[_reference_pb2.PromptMessage]
    alerts: _containers.RepeatedCompositeFieldContainer[_reference_pb2.ReferenceAlert]
    def __init__(self, messages: _Optional[_Iterable[_Union[_reference_pb2.PromptMessage, _Mapping]]] = ..., alerts: _Optional[_Iterable[_Union[_reference_pb2.ReferenceAlert, _Mapping]]] = ...) -> None: ...
