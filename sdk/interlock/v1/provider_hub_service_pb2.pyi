import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from interlock.v1 import request_error_pb2 as _request_error_pb2
from interlock.v1 import tool_provider_service_pb2 as _tool_provider_service_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AttachRequest(_message.Message):
    __slots__ = ("request_id", "window", "description", "execute", "dry_run", "generate_undo", "apply_pending", "reject_pending", "render_call", "render_result", "error")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    WINDOW_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    EXECUTE_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    GENERATE_UNDO_FIELD_NUMBER: _ClassVar[int]
    APPLY_PENDING_FIELD_NUMBER: _ClassVar[int]
    REJECT_PENDING_FIELD_NUMBER: _ClassVar[int]
    RENDER_CALL_FIELD_NUMBER: _ClassVar[int]
    RENDER_RESULT_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    request_id: int
    window: int
    description: _tool_provider_service_pb2.DescribeResponse
    execute: _tool_provider_service_pb2.ExecuteResponse
    dry_run: _tool_provider_service_pb2.DryRunResponse
    generate_undo: _tool_provider_service_pb2.GenerateUndoResponse
    apply_pending: _tool_provider_service_pb2.ApplyPendingResponse
    reject_pending: _tool_provider_service_pb2.RejectPendingResponse
    render_call: _tool_provider_service_pb2.RenderCallResponse
    render_result: _tool_provider_service_pb2.RenderResultResponse
    error: _request_error_pb2.RequestError
    def __init__(self, request_id: _Optional[int] = ..., window: _Optional[int] = ..., description: _Optional[_Union[_tool_provider_service_pb2.DescribeResponse, _Mapping]] = ..., execute: _Optional[_Union[_tool_provider_service_pb2.ExecuteResponse, _Mapping]] = ..., dry_run: _Optional[_Union[_tool_provider_service_pb2.DryRunResponse, _Mapping]] = ..., generate_undo: _Optional[_Union[_tool_provider_service_pb2.GenerateUndoResponse, _Mapping]] = ..., apply_pending: _Optional[_Union[_tool_provider_service_pb2.ApplyPendingResponse, _Mapping]] = ..., reject_pending: _Optional[_Union[_tool_provider_service_pb2.RejectPendingResponse, _Mapping]] = ..., render_call: _Optional[_Union[_tool_provider_service_pb2.RenderCallResponse, _Mapping]] = ..., render_result: _Optional[_Union[_tool_provider_service_pb2.RenderResultResponse, _Mapping]] = ..., error: _Optional[_Union[_request_error_pb2.RequestError, _Mapping]] = ...) -> None: ...

class AttachResponse(_message.Message):
    __slots__ = ("request_id", "timeout", "metadata", "welcome", "describe", "execute", "dry_run", "generate_undo", "apply_pending", "reject_pending", "render_call", "render_result", "cancel", "drain")
    class MetadataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    WELCOME_FIELD_NUMBER: _ClassVar[int]
    DESCRIBE_FIELD_NUMBER: _ClassVar[int]
    EXECUTE_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    GENERATE_UNDO_FIELD_NUMBER: _ClassVar[int]
    APPLY_PENDING_FIELD_NUMBER: _ClassVar[int]
    REJECT_PENDING_FIELD_NUMBER: _ClassVar[int]
    RENDER_CALL_FIELD_NUMBER: _ClassVar[int]
    RENDER_RESULT_FIELD_NUMBER: _ClassVar[int]
    CANCEL_FIELD_NUMBER: _ClassVar[int]
    DRAIN_FIELD_NUMBER: _ClassVar[int]
    request_id: int
    timeout: _duration_pb2.Duration
    metadata: _containers.ScalarMap[str, str]
    welcome: AttachWelcome
    describe: _tool_provider_service_pb2.DescribeRequest
    execute: _tool_provider_service_pb2.ExecuteRequest
    dry_run: _tool_provider_service_pb2.DryRunRequest
    generate_undo: _tool_provider_service_pb2.GenerateUndoRequest
    apply_pending: _tool_provider_service_pb2.ApplyPendingRequest
    reject_pending: _tool_provider_service_pb2.RejectPendingRequest
    render_call: _tool_provider_service_pb2.RenderCallRequest
    render_result: _tool_provider_service_pb2.RenderResultRequest
    cancel: AttachCancel
    drain: AttachDrain
    def __init__(self, request_id: _Optional[int] = ..., timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., metadata: _Optional[_Mapping[str, str]] = ..., welcome: _Optional[_Union[AttachWelcome, _Mapping]] = ..., describe: _Optional[_Union[_tool_provider_service_pb2.DescribeRequest, _Mapping]] = ..., execute: _Optional[_Union[_tool_provider_service_pb2.ExecuteRequest, _Mapping]] = ..., dry_run: _Optional[_Union[_tool_provider_service_pb2.DryRunRequest, _Mapping]] = ..., generate_undo: _Optional[_Union[_tool_provider_service_pb2.GenerateUndoRequest, _Mapping]] = ..., apply_pending: _Optional[_Union[_tool_provider_service_pb2.ApplyPendingRequest, _Mapping]] = ..., reject_pending: _Optional[_Union[_tool_provider_service_pb2.RejectPendingRequest, _Mapping]] = ..., render_call: _Optional[_Union[_tool_provider_service_pb2.RenderCallRequest, _Mapping]] = ..., render_result: _Optional[_Union[_tool_provider_service_pb2.RenderResultRequest, _Mapping]] = ..., cancel: _Optional[_Union[AttachCancel, _Mapping]] = ..., drain: _Optional[_Union[AttachDrain, _Mapping]] = ...) -> None: ...

class AttachWelcome(_message.Message):
    __slots__ = ("provider", "accepted_tools", "refused_tools")
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_TOOLS_FIELD_NUMBER: _ClassVar[int]
    REFUSED_TOOLS_FIELD_NUMBER: _ClassVar[int]
    provider: str
    accepted_tools: _containers.RepeatedScalarFieldContainer[str]
    refused_tools: _containers.RepeatedCompositeFieldContainer[RefusedTool]
    def __init__(self, provider: _Optional[str] = ..., accepted_tools: _Optional[_Iterable[str]] = ..., refused_tools: _Optional[_Iterable[_Union[RefusedTool, _Mapping]]] = ...) -> None: ...

class RefusedTool(_message.Message):
    __slots__ = ("name", "message")
    NAME_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    name: str
    message: str
    def __init__(self, name: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...

class AttachCancel(_message.Message):
    __slots__ = ("reason",)
    REASON_FIELD_NUMBER: _ClassVar[int]
    reason: str
    def __init__(self, reason: _Optional[str] = ...) -> None: ...

class AttachDrain(_message.Message):
    __slots__ = ("grace",)
    GRACE_FIELD_NUMBER: _ClassVar[int]
    grace: _duration_pb2.Duration
    def __init__(self, grace: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...
