import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from interlock.v1 import session_pb2 as _session_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SessionReport(_message.Message):
    __slots__ = ("session", "calls", "calls_by_status", "calls_by_tool", "destructive_calls", "denials_by_reason", "checkpoints", "previews", "undo", "generated_at")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    CALLS_FIELD_NUMBER: _ClassVar[int]
    CALLS_BY_STATUS_FIELD_NUMBER: _ClassVar[int]
    CALLS_BY_TOOL_FIELD_NUMBER: _ClassVar[int]
    DESTRUCTIVE_CALLS_FIELD_NUMBER: _ClassVar[int]
    DENIALS_BY_REASON_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINTS_FIELD_NUMBER: _ClassVar[int]
    PREVIEWS_FIELD_NUMBER: _ClassVar[int]
    UNDO_FIELD_NUMBER: _ClassVar[int]
    GENERATED_AT_FIELD_NUMBER: _ClassVar[int]
    session: _session_pb2.Session
    calls: int
    calls_by_status: _containers.RepeatedCompositeFieldContainer[LabelledCount]
    calls_by_tool: _containers.RepeatedCompositeFieldContainer[LabelledCount]
    destructive_calls: _containers.RepeatedCompositeFieldContainer[DestructiveCallCount]
    denials_by_reason: _containers.RepeatedCompositeFieldContainer[LabelledCount]
    checkpoints: CheckpointCounts
    previews: PreviewCounts
    undo: UndoCounts
    generated_at: _timestamp_pb2.Timestamp
    def __init__(self, session: _Optional[_Union[_session_pb2.Session, _Mapping]] = ..., calls: _Optional[int] = ..., calls_by_status: _Optional[_Iterable[_Union[LabelledCount, _Mapping]]] = ..., calls_by_tool: _Optional[_Iterable[_Union[LabelledCount, _Mapping]]] = ..., destructive_calls: _Optional[_Iterable[_Union[DestructiveCallCount, _Mapping]]] = ..., denials_by_reason: _Optional[_Iterable[_Union[LabelledCount, _Mapping]]] = ..., checkpoints: _Optional[_Union[CheckpointCounts, _Mapping]] = ..., previews: _Optional[_Union[PreviewCounts, _Mapping]] = ..., undo: _Optional[_Union[UndoCounts, _Mapping]] = ..., generated_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class LabelledCount(_message.Message):
    __slots__ = ("label", "count")
    LABEL_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    label: str
    count: int
    def __init__(self, label: _Optional[str] = ..., count: _Optional[int] = ...) -> None: ...

class DestructiveCallCount(_message.Message):
    __slots__ = ("tool", "outcome", "count")
    TOOL_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    tool: str
    outcome: str
    count: int
    def __init__(self, tool: _Optional[str] = ..., outcome: _Optional[str] = ..., count: _Optional[int] = ...) -> None: ...

class CheckpointCounts(_message.Message):
    __slots__ = ("opened", "approved", "denied", "edited", "responded", "expired", "withdrawn", "open")
    OPENED_FIELD_NUMBER: _ClassVar[int]
    APPROVED_FIELD_NUMBER: _ClassVar[int]
    DENIED_FIELD_NUMBER: _ClassVar[int]
    EDITED_FIELD_NUMBER: _ClassVar[int]
    RESPONDED_FIELD_NUMBER: _ClassVar[int]
    EXPIRED_FIELD_NUMBER: _ClassVar[int]
    WITHDRAWN_FIELD_NUMBER: _ClassVar[int]
    OPEN_FIELD_NUMBER: _ClassVar[int]
    opened: int
    approved: int
    denied: int
    edited: int
    responded: int
    expired: int
    withdrawn: int
    open: int
    def __init__(self, opened: _Optional[int] = ..., approved: _Optional[int] = ..., denied: _Optional[int] = ..., edited: _Optional[int] = ..., responded: _Optional[int] = ..., expired: _Optional[int] = ..., withdrawn: _Optional[int] = ..., open: _Optional[int] = ...) -> None: ...

class PreviewCounts(_message.Message):
    __slots__ = ("previewed", "applied", "discarded", "expired", "outcome_unknown", "pending")
    PREVIEWED_FIELD_NUMBER: _ClassVar[int]
    APPLIED_FIELD_NUMBER: _ClassVar[int]
    DISCARDED_FIELD_NUMBER: _ClassVar[int]
    EXPIRED_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_UNKNOWN_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    previewed: int
    applied: int
    discarded: int
    expired: int
    outcome_unknown: int
    pending: int
    def __init__(self, previewed: _Optional[int] = ..., applied: _Optional[int] = ..., discarded: _Optional[int] = ..., expired: _Optional[int] = ..., outcome_unknown: _Optional[int] = ..., pending: _Optional[int] = ...) -> None: ...

class UndoCounts(_message.Message):
    __slots__ = ("operations", "undoable", "irreversible", "undone", "undo_failed", "outcome_unknown", "only_read")
    OPERATIONS_FIELD_NUMBER: _ClassVar[int]
    UNDOABLE_FIELD_NUMBER: _ClassVar[int]
    IRREVERSIBLE_FIELD_NUMBER: _ClassVar[int]
    UNDONE_FIELD_NUMBER: _ClassVar[int]
    UNDO_FAILED_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_UNKNOWN_FIELD_NUMBER: _ClassVar[int]
    ONLY_READ_FIELD_NUMBER: _ClassVar[int]
    operations: int
    undoable: int
    irreversible: int
    undone: int
    undo_failed: int
    outcome_unknown: int
    only_read: int
    def __init__(self, operations: _Optional[int] = ..., undoable: _Optional[int] = ..., irreversible: _Optional[int] = ..., undone: _Optional[int] = ..., undo_failed: _Optional[int] = ..., outcome_unknown: _Optional[int] = ..., only_read: _Optional[int] = ...) -> None: ...
