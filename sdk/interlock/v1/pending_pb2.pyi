import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ResolveAction(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RESOLVE_ACTION_UNSPECIFIED: _ClassVar[ResolveAction]
    RESOLVE_ACTION_APPLY: _ClassVar[ResolveAction]
    RESOLVE_ACTION_DISCARD: _ClassVar[ResolveAction]

class PendingState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PENDING_STATE_UNSPECIFIED: _ClassVar[PendingState]
    PENDING_STATE_PENDING: _ClassVar[PendingState]
    PENDING_STATE_APPLYING: _ClassVar[PendingState]
    PENDING_STATE_APPLIED: _ClassVar[PendingState]
    PENDING_STATE_DISCARDED: _ClassVar[PendingState]
    PENDING_STATE_EXPIRED: _ClassVar[PendingState]
    PENDING_STATE_OUTCOME_UNKNOWN: _ClassVar[PendingState]
RESOLVE_ACTION_UNSPECIFIED: ResolveAction
RESOLVE_ACTION_APPLY: ResolveAction
RESOLVE_ACTION_DISCARD: ResolveAction
PENDING_STATE_UNSPECIFIED: PendingState
PENDING_STATE_PENDING: PendingState
PENDING_STATE_APPLYING: PendingState
PENDING_STATE_APPLIED: PendingState
PENDING_STATE_DISCARDED: PendingState
PENDING_STATE_EXPIRED: PendingState
PENDING_STATE_OUTCOME_UNKNOWN: PendingState

class Preview(_message.Message):
    __slots__ = ("would_affect", "preview", "estimated_impact")
    WOULD_AFFECT_FIELD_NUMBER: _ClassVar[int]
    PREVIEW_FIELD_NUMBER: _ClassVar[int]
    ESTIMATED_IMPACT_FIELD_NUMBER: _ClassVar[int]
    would_affect: _containers.RepeatedScalarFieldContainer[str]
    preview: str
    estimated_impact: bytes
    def __init__(self, would_affect: _Optional[_Iterable[str]] = ..., preview: _Optional[str] = ..., estimated_impact: _Optional[bytes] = ...) -> None: ...

class PendingRef(_message.Message):
    __slots__ = ("pending_id", "label", "source_tool", "expires_at")
    PENDING_ID_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    SOURCE_TOOL_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    pending_id: str
    label: str
    source_tool: str
    expires_at: _timestamp_pb2.Timestamp
    def __init__(self, pending_id: _Optional[str] = ..., label: _Optional[str] = ..., source_tool: _Optional[str] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class PendingAction(_message.Message):
    __slots__ = ("pending_id", "session_id", "call_id", "label", "source_tool", "state", "preview", "input_digest", "provider_pushed", "has_reject", "details", "created_at", "expires_at", "decision_id", "last_error")
    PENDING_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    SOURCE_TOOL_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    PREVIEW_FIELD_NUMBER: _ClassVar[int]
    INPUT_DIGEST_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_PUSHED_FIELD_NUMBER: _ClassVar[int]
    HAS_REJECT_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    DECISION_ID_FIELD_NUMBER: _ClassVar[int]
    LAST_ERROR_FIELD_NUMBER: _ClassVar[int]
    pending_id: str
    session_id: str
    call_id: str
    label: str
    source_tool: str
    state: PendingState
    preview: Preview
    input_digest: str
    provider_pushed: bool
    has_reject: bool
    details: bytes
    created_at: _timestamp_pb2.Timestamp
    expires_at: _timestamp_pb2.Timestamp
    decision_id: str
    last_error: str
    def __init__(self, pending_id: _Optional[str] = ..., session_id: _Optional[str] = ..., call_id: _Optional[str] = ..., label: _Optional[str] = ..., source_tool: _Optional[str] = ..., state: _Optional[_Union[PendingState, str]] = ..., preview: _Optional[_Union[Preview, _Mapping]] = ..., input_digest: _Optional[str] = ..., provider_pushed: _Optional[bool] = ..., has_reject: _Optional[bool] = ..., details: _Optional[bytes] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., decision_id: _Optional[str] = ..., last_error: _Optional[str] = ...) -> None: ...
