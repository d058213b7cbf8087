import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from interlock.v1 import progress_pb2 as _progress_pb2
from interlock.v1 import provider_pb2 as _provider_pb2
from interlock.v1 import tool_pb2 as _tool_pb2
from interlock.v1 import undo_pb2 as _undo_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class DescribeRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DescribeResponse(_message.Message):
    __slots__ = ("name", "version", "tools", "refresh_after", "knows_result_only")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    REFRESH_AFTER_FIELD_NUMBER: _ClassVar[int]
    KNOWS_RESULT_ONLY_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: str
    tools: _containers.RepeatedCompositeFieldContainer[_tool_pb2.ToolDefinition]
    refresh_after: _duration_pb2.Duration
    knows_result_only: bool
    def __init__(self, name: _Optional[str] = ..., version: _Optional[str] = ..., tools: _Optional[_Iterable[_Union[_tool_pb2.ToolDefinition, _Mapping]]] = ..., refresh_after: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., knows_result_only: _Optional[bool] = ...) -> None: ...

class ExecuteRequest(_message.Message):
    __slots__ = ("invocation", "apply", "result_only")
    INVOCATION_FIELD_NUMBER: _ClassVar[int]
    APPLY_FIELD_NUMBER: _ClassVar[int]
    RESULT_ONLY_FIELD_NUMBER: _ClassVar[int]
    invocation: _provider_pb2.ToolInvocation
    apply: _provider_pb2.ApplyContext
    result_only: bool
    def __init__(self, invocation: _Optional[_Union[_provider_pb2.ToolInvocation, _Mapping]] = ..., apply: _Optional[_Union[_provider_pb2.ApplyContext, _Mapping]] = ..., result_only: _Optional[bool] = ...) -> None: ...

class ExecuteResponse(_message.Message):
    __slots__ = ("progress", "output", "result")
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    progress: _progress_pb2.Progress
    output: _progress_pb2.OutputChunk
    result: _provider_pb2.ToolResult
    def __init__(self, progress: _Optional[_Union[_progress_pb2.Progress, _Mapping]] = ..., output: _Optional[_Union[_progress_pb2.OutputChunk, _Mapping]] = ..., result: _Optional[_Union[_provider_pb2.ToolResult, _Mapping]] = ...) -> None: ...

class DryRunRequest(_message.Message):
    __slots__ = ("invocation",)
    INVOCATION_FIELD_NUMBER: _ClassVar[int]
    invocation: _provider_pb2.ToolInvocation
    def __init__(self, invocation: _Optional[_Union[_provider_pb2.ToolInvocation, _Mapping]] = ...) -> None: ...

class DryRunResponse(_message.Message):
    __slots__ = ("would_affect", "preview", "estimated_impact", "state_token", "is_error", "tool_error", "error_message", "label", "details")
    WOULD_AFFECT_FIELD_NUMBER: _ClassVar[int]
    PREVIEW_FIELD_NUMBER: _ClassVar[int]
    ESTIMATED_IMPACT_FIELD_NUMBER: _ClassVar[int]
    STATE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    IS_ERROR_FIELD_NUMBER: _ClassVar[int]
    TOOL_ERROR_FIELD_NUMBER: _ClassVar[int]
    ERROR_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    would_affect: _containers.RepeatedScalarFieldContainer[str]
    preview: str
    estimated_impact: bytes
    state_token: str
    is_error: bool
    tool_error: bool
    error_message: str
    label: str
    details: bytes
    def __init__(self, would_affect: _Optional[_Iterable[str]] = ..., preview: _Optional[str] = ..., estimated_impact: _Optional[bytes] = ..., state_token: _Optional[str] = ..., is_error: _Optional[bool] = ..., tool_error: _Optional[bool] = ..., error_message: _Optional[str] = ..., label: _Optional[str] = ..., details: _Optional[bytes] = ...) -> None: ...

class GenerateUndoRequest(_message.Message):
    __slots__ = ("invocation", "result")
    INVOCATION_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    invocation: _provider_pb2.ToolInvocation
    result: _provider_pb2.ToolResult
    def __init__(self, invocation: _Optional[_Union[_provider_pb2.ToolInvocation, _Mapping]] = ..., result: _Optional[_Union[_provider_pb2.ToolResult, _Mapping]] = ...) -> None: ...

class GenerateUndoResponse(_message.Message):
    __slots__ = ("undo",)
    UNDO_FIELD_NUMBER: _ClassVar[int]
    undo: _undo_pb2.UndoInfo
    def __init__(self, undo: _Optional[_Union[_undo_pb2.UndoInfo, _Mapping]] = ...) -> None: ...

class ApplyPendingRequest(_message.Message):
    __slots__ = ("resolution",)
    RESOLUTION_FIELD_NUMBER: _ClassVar[int]
    resolution: _provider_pb2.PendingResolution
    def __init__(self, resolution: _Optional[_Union[_provider_pb2.PendingResolution, _Mapping]] = ...) -> None: ...

class ApplyPendingResponse(_message.Message):
    __slots__ = ("result",)
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: _provider_pb2.ToolResult
    def __init__(self, result: _Optional[_Union[_provider_pb2.ToolResult, _Mapping]] = ...) -> None: ...

class RejectPendingRequest(_message.Message):
    __slots__ = ("resolution",)
    RESOLUTION_FIELD_NUMBER: _ClassVar[int]
    resolution: _provider_pb2.PendingResolution
    def __init__(self, resolution: _Optional[_Union[_provider_pb2.PendingResolution, _Mapping]] = ...) -> None: ...

class RejectPendingResponse(_message.Message):
    __slots__ = ("result",)
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: _provider_pb2.ToolResult
    def __init__(self, result: _Optional[_Union[_provider_pb2.ToolResult, _Mapping]] = ...) -> None: ...

class RenderCallRequest(_message.Message):
    __slots__ = ("invocation",)
    INVOCATION_FIELD_NUMBER: _ClassVar[int]
    invocation: _provider_pb2.ToolInvocation
    def __init__(self, invocation: _Optional[_Union[_provider_pb2.ToolInvocation, _Mapping]] = ...) -> None: ...

class RenderCallResponse(_message.Message):
    __slots__ = ("rendering",)
    RENDERING_FIELD_NUMBER: _ClassVar[int]
    rendering: _provider_pb2.Rendering
    def __init__(self, rendering: _Optional[_Union[_provider_pb2.Rendering, _Mapping]] = ...) -> None: ...

class RenderResultRequest(_message.Message):
    __slots__ = ("invocation", "result")
    INVOCATION_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    invocation: _provider_pb2.ToolInvocation
    result: _provider_pb2.ToolResult
    def __init__(self, invocation: _Optional[_Union[_provider_pb2.ToolInvocation, _Mapping]] = ..., result: _Optional[_Union[_provider_pb2.ToolResult, _Mapping]] = ...) -> None: ...

class RenderResultResponse(_message.Message):
    __slots__ = ("rendering",)
    RENDERING_FIELD_NUMBER: _ClassVar[int]
    rendering: _provider_pb2.Rendering
    def __init__(self, rendering: _Optional[_Union[_provider_pb2.Rendering, _Mapping]] = ...) -> None: ...
