from interlock.v1 import content_pb2 as _content_pb2
from interlock.v1 import undo_pb2 as _undo_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ToolInvocation(_message.Message):
    __slots__ = ("session_id", "call_id", "tool", "input", "workdir", "labels")
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
    LABELS_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    call_id: str
    tool: str
    input: bytes
    workdir: str
    labels: _containers.ScalarMap[str, str]
    def __init__(self, session_id: _Optional[str] = ..., call_id: _Optional[str] = ..., tool: _Optional[str] = ..., input: _Optional[bytes] = ..., workdir: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ...) -> None: ...

class ApplyContext(_message.Message):
    __slots__ = ("pending_id", "state_token", "reason", "extra")
    PENDING_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    EXTRA_FIELD_NUMBER: _ClassVar[int]
    pending_id: str
    state_token: str
    reason: str
    extra: bytes
    def __init__(self, pending_id: _Optional[str] = ..., state_token: _Optional[str] = ..., reason: _Optional[str] = ..., extra: _Optional[bytes] = ...) -> None: ...

class ToolResult(_message.Message):
    __slots__ = ("content", "output", "is_error", "tool_error", "data", "undo", "pending_action", "details", "state_changed", "standing_handler", "taint")
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    IS_ERROR_FIELD_NUMBER: _ClassVar[int]
    TOOL_ERROR_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    UNDO_FIELD_NUMBER: _ClassVar[int]
    PENDING_ACTION_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    STATE_CHANGED_FIELD_NUMBER: _ClassVar[int]
    STANDING_HANDLER_FIELD_NUMBER: _ClassVar[int]
    TAINT_FIELD_NUMBER: _ClassVar[int]
    content: _containers.RepeatedCompositeFieldContainer[_content_pb2.Content]
    output: str
    is_error: bool
    tool_error: bool
    data: bytes
    undo: _undo_pb2.UndoInfo
    pending_action: PushedPendingAction
    details: bytes
    state_changed: bool
    standing_handler: StandingHandlerChange
    taint: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, content: _Optional[_Iterable[_Union[_content_pb2.Content, _Mapping]]] = ..., output: _Optional[str] = ..., is_error: _Optional[bool] = ..., tool_error: _Optional[bool] = ..., data: _Optional[bytes] = ..., undo: _Optional[_Union[_undo_pb2.UndoInfo, _Mapping]] = ..., pending_action: _Optional[_Union[PushedPendingAction, _Mapping]] = ..., details: _Optional[bytes] = ..., state_changed: _Optional[bool] = ..., standing_handler: _Optional[_Union[StandingHandlerChange, _Mapping]] = ..., taint: _Optional[_Iterable[str]] = ...) -> None: ...

class PushedPendingAction(_message.Message):
    __slots__ = ("label", "token", "details", "has_reject", "source_tool")
    LABEL_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    HAS_REJECT_FIELD_NUMBER: _ClassVar[int]
    SOURCE_TOOL_FIELD_NUMBER: _ClassVar[int]
    label: str
    token: str
    details: bytes
    has_reject: bool
    source_tool: str
    def __init__(self, label: _Optional[str] = ..., token: _Optional[str] = ..., details: _Optional[bytes] = ..., has_reject: _Optional[bool] = ..., source_tool: _Optional[str] = ...) -> None: ...

class StandingHandlerChange(_message.Message):
    __slots__ = ("register", "clear_token")
    REGISTER_FIELD_NUMBER: _ClassVar[int]
    CLEAR_TOKEN_FIELD_NUMBER: _ClassVar[int]
    register: StandingHandler
    clear_token: str
    def __init__(self, register: _Optional[_Union[StandingHandler, _Mapping]] = ..., clear_token: _Optional[str] = ...) -> None: ...

class StandingHandler(_message.Message):
    __slots__ = ("token", "label", "source_tool", "has_reject", "details")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    SOURCE_TOOL_FIELD_NUMBER: _ClassVar[int]
    HAS_REJECT_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    token: str
    label: str
    source_tool: str
    has_reject: bool
    details: bytes
    def __init__(self, token: _Optional[str] = ..., label: _Optional[str] = ..., source_tool: _Optional[str] = ..., has_reject: _Optional[bool] = ..., details: _Optional[bytes] = ...) -> None: ...

class PendingResolution(_message.Message):
    __slots__ = ("session_id", "call_id", "token", "pending_id", "standing", "source_tool", "reason", "extra")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    PENDING_ID_FIELD_NUMBER: _ClassVar[int]
    STANDING_FIELD_NUMBER: _ClassVar[int]
    SOURCE_TOOL_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    EXTRA_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    call_id: str
    token: str
    pending_id: str
    standing: bool
    source_tool: str
    reason: str
    extra: bytes
    def __init__(self, session_id: _Optional[str] = ..., call_id: _Optional[str] = ..., token: _Optional[str] = ..., pending_id: _Optional[str] = ..., standing: _Optional[bool] = ..., source_tool: _Optional[str] = ..., reason: _Optional[str] = ..., extra: _Optional[bytes] = ...) -> None: ...

class Rendering(_message.Message):
    __slots__ = ("summary", "expanded")
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    EXPANDED_FIELD_NUMBER: _ClassVar[int]
    summary: str
    expanded: str
    def __init__(self, summary: _Optional[str] = ..., expanded: _Optional[str] = ...) -> None: ...
