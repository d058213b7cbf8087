import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from interlock.v1 import artifact_pb2 as _artifact_pb2
from interlock.v1 import checkpoint_pb2 as _checkpoint_pb2
from interlock.v1 import content_pb2 as _content_pb2
from interlock.v1 import decision_pb2 as _decision_pb2
from interlock.v1 import deliverable_pb2 as _deliverable_pb2
from interlock.v1 import pending_pb2 as _pending_pb2
from interlock.v1 import undo_pb2 as _undo_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CallStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CALL_STATUS_UNSPECIFIED: _ClassVar[CallStatus]
    CALL_STATUS_COMPLETED: _ClassVar[CallStatus]
    CALL_STATUS_DENIED: _ClassVar[CallStatus]
    CALL_STATUS_PREVIEW: _ClassVar[CallStatus]
    CALL_STATUS_AWAITING_CHECKPOINT: _ClassVar[CallStatus]
    CALL_STATUS_REFLECTION_REQUIRED: _ClassVar[CallStatus]
    CALL_STATUS_FAILED: _ClassVar[CallStatus]
    CALL_STATUS_OUTCOME_UNKNOWN: _ClassVar[CallStatus]

class CallState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CALL_STATE_UNSPECIFIED: _ClassVar[CallState]
    CALL_STATE_RECEIVED: _ClassVar[CallState]
    CALL_STATE_DECIDED: _ClassVar[CallState]
    CALL_STATE_DENIED: _ClassVar[CallState]
    CALL_STATE_PREVIEWED: _ClassVar[CallState]
    CALL_STATE_AWAITING_CHECKPOINT: _ClassVar[CallState]
    CALL_STATE_REFLECTING: _ClassVar[CallState]
    CALL_STATE_DISPATCHING: _ClassVar[CallState]
    CALL_STATE_COMPLETED: _ClassVar[CallState]
    CALL_STATE_FAILED: _ClassVar[CallState]
    CALL_STATE_OUTCOME_UNKNOWN: _ClassVar[CallState]

class CallKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CALL_KIND_UNSPECIFIED: _ClassVar[CallKind]
    CALL_KIND_CALL: _ClassVar[CallKind]
    CALL_KIND_APPLY: _ClassVar[CallKind]
    CALL_KIND_UNDO: _ClassVar[CallKind]
    CALL_KIND_EDIT: _ClassVar[CallKind]
CALL_STATUS_UNSPECIFIED: CallStatus
CALL_STATUS_COMPLETED: CallStatus
CALL_STATUS_DENIED: CallStatus
CALL_STATUS_PREVIEW: CallStatus
CALL_STATUS_AWAITING_CHECKPOINT: CallStatus
CALL_STATUS_REFLECTION_REQUIRED: CallStatus
CALL_STATUS_FAILED: CallStatus
CALL_STATUS_OUTCOME_UNKNOWN: CallStatus
CALL_STATE_UNSPECIFIED: CallState
CALL_STATE_RECEIVED: CallState
CALL_STATE_DECIDED: CallState
CALL_STATE_DENIED: CallState
CALL_STATE_PREVIEWED: CallState
CALL_STATE_AWAITING_CHECKPOINT: CallState
CALL_STATE_REFLECTING: CallState
CALL_STATE_DISPATCHING: CallState
CALL_STATE_COMPLETED: CallState
CALL_STATE_FAILED: CallState
CALL_STATE_OUTCOME_UNKNOWN: CallState
CALL_KIND_UNSPECIFIED: CallKind
CALL_KIND_CALL: CallKind
CALL_KIND_APPLY: CallKind
CALL_KIND_UNDO: CallKind
CALL_KIND_EDIT: CallKind

class ToolCall(_message.Message):
    __slots__ = ("session_id", "call_id", "tool", "input", "workdir", "deliverable", "checkpoint_mode", "intent", "labels")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    WORKDIR_FIELD_NUMBER: _ClassVar[int]
    DELIVERABLE_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_MODE_FIELD_NUMBER: _ClassVar[int]
    INTENT_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    call_id: str
    tool: str
    input: bytes
    workdir: str
    deliverable: _deliverable_pb2.Deliverable
    checkpoint_mode: _checkpoint_pb2.CheckpointMode
    intent: str
    labels: _containers.ScalarMap[str, str]
    def __init__(self, session_id: _Optional[str] = ..., call_id: _Optional[str] = ..., tool: _Optional[str] = ..., input: _Optional[bytes] = ..., workdir: _Optional[str] = ..., deliverable: _Optional[_Union[_deliverable_pb2.Deliverable, _Mapping]] = ..., checkpoint_mode: _Optional[_Union[_checkpoint_pb2.CheckpointMode, str]] = ..., intent: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ...) -> None: ...

class CallResult(_message.Message):
    __slots__ = ("call_id", "status", "decision", "content", "is_error", "data", "truncated", "artifact", "undo", "pending", "checkpoint", "steering", "details", "preview", "reflection", "redactions")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    IS_ERROR_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    ARTIFACT_FIELD_NUMBER: _ClassVar[int]
    UNDO_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    STEERING_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    PREVIEW_FIELD_NUMBER: _ClassVar[int]
    REFLECTION_FIELD_NUMBER: _ClassVar[int]
    REDACTIONS_FIELD_NUMBER: _ClassVar[int]
    call_id: str
    status: CallStatus
    decision: _decision_pb2.Decision
    content: _containers.RepeatedCompositeFieldContainer[_content_pb2.Content]
    is_error: bool
    data: bytes
    truncated: bool
    artifact: _artifact_pb2.Artifact
    undo: _undo_pb2.UndoInfo
    pending: _pending_pb2.PendingRef
    checkpoint: _checkpoint_pb2.CheckpointRef
    steering: _containers.RepeatedScalarFieldContainer[str]
    details: bytes
    preview: _pending_pb2.Preview
    reflection: _deliverable_pb2.ReflectionForm
    redactions: int
    def __init__(self, call_id: _Optional[str] = ..., status: _Optional[_Union[CallStatus, str]] = ..., decision: _Optional[_Union[_decision_pb2.Decision, _Mapping]] = ..., content: _Optional[_Iterable[_Union[_content_pb2.Content, _Mapping]]] = ..., is_error: _Optional[bool] = ..., data: _Optional[bytes] = ..., truncated: _Optional[bool] = ..., artifact: _Optional[_Union[_artifact_pb2.Artifact, _Mapping]] = ..., undo: _Optional[_Union[_undo_pb2.UndoInfo, _Mapping]] = ..., pending: _Optional[_Union[_pending_pb2.PendingRef, _Mapping]] = ..., checkpoint: _Optional[_Union[_checkpoint_pb2.CheckpointRef, _Mapping]] = ..., steering: _Optional[_Iterable[str]] = ..., details: _Optional[bytes] = ..., preview: _Optional[_Union[_pending_pb2.Preview, _Mapping]] = ..., reflection: _Optional[_Union[_deliverable_pb2.ReflectionForm, _Mapping]] = ..., redactions: _Optional[int] = ...) -> None: ...

class CallRecord(_message.Message):
    __slots__ = ("session_id", "call_id", "tool", "kind", "state", "settled", "result", "received_at", "finished_at")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    SETTLED_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    RECEIVED_AT_FIELD_NUMBER: _ClassVar[int]
    FINISHED_AT_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    call_id: str
    tool: str
    kind: CallKind
    state: CallState
    settled: bool
    result: CallResult
    received_at: _timestamp_pb2.Timestamp
    finished_at: _timestamp_pb2.Timestamp
    def __init__(self, session_id: _Optional[str] = ..., call_id: _Optional[str] = ..., tool: _Optional[str] = ..., kind: _Optional[_Union[CallKind, str]] = ..., state: _Optional[_Union[CallState, str]] = ..., settled: _Optional[bool] = ..., result: _Optional[_Union[CallResult, _Mapping]] = ..., received_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., finished_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...
