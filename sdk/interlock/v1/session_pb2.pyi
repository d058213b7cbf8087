import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from interlock.v1 import principal_pb2 as _principal_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SessionState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SESSION_STATE_UNSPECIFIED: _ClassVar[SessionState]
    SESSION_STATE_OPEN: _ClassVar[SessionState]
    SESSION_STATE_CLOSED: _ClassVar[SessionState]
SESSION_STATE_UNSPECIFIED: SessionState
SESSION_STATE_OPEN: SessionState
SESSION_STATE_CLOSED: SessionState

class Session(_message.Message):
    __slots__ = ("session_id", "principal", "intent", "labels", "tools", "workspace_roots", "state", "opened_at", "last_call_at", "closed_at", "calls", "destructive_calls", "pending_actions", "taints", "activated_tools", "always_loaded_tools", "deferred_threshold")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    INTENT_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    WORKSPACE_ROOTS_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    OPENED_AT_FIELD_NUMBER: _ClassVar[int]
    LAST_CALL_AT_FIELD_NUMBER: _ClassVar[int]
    CLOSED_AT_FIELD_NUMBER: _ClassVar[int]
    CALLS_FIELD_NUMBER: _ClassVar[int]
    DESTRUCTIVE_CALLS_FIELD_NUMBER: _ClassVar[int]
    PENDING_ACTIONS_FIELD_NUMBER: _ClassVar[int]
    TAINTS_FIELD_NUMBER: _ClassVar[int]
    ACTIVATED_TOOLS_FIELD_NUMBER: _ClassVar[int]
    ALWAYS_LOADED_TOOLS_FIELD_NUMBER: _ClassVar[int]
    DEFERRED_THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    principal: _principal_pb2.Principal
    intent: str
    labels: _containers.ScalarMap[str, str]
    tools: _containers.RepeatedScalarFieldContainer[str]
    workspace_roots: _containers.RepeatedScalarFieldContainer[str]
    state: SessionState
    opened_at: _timestamp_pb2.Timestamp
    last_call_at: _timestamp_pb2.Timestamp
    closed_at: _timestamp_pb2.Timestamp
    calls: int
    destructive_calls: int
    pending_actions: int
    taints: _containers.RepeatedScalarFieldContainer[str]
    activated_tools: _containers.RepeatedScalarFieldContainer[str]
    always_loaded_tools: _containers.RepeatedScalarFieldContainer[str]
    deferred_threshold: int
    def __init__(self, session_id: _Optional[str] = ..., principal: _Optional[_Union[_principal_pb2.Principal, _Mapping]] = ..., intent: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ..., tools: _Optional[_Iterable[str]] = ..., workspace_roots: _Optional[_Iterable[str]] = ..., state: _Optional[_Union[SessionState, str]] = ..., opened_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_call_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., closed_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., calls: _Optional[int] = ..., destructive_calls: _Optional[int] = ..., pending_actions: _Optional[int] = ..., taints: _Optional[_Iterable[str]] = ..., activated_tools: _Optional[_Iterable[str]] = ..., always_loaded_tools: _Optional[_Iterable[str]] = ..., deferred_threshold: _Optional[int] = ...) -> None: ...
