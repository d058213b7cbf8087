from interlock.v1 import checkpoint_pb2 as _checkpoint_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CheckpointEvent(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CHECKPOINT_EVENT_UNSPECIFIED: _ClassVar[CheckpointEvent]
    CHECKPOINT_EVENT_ALREADY_OPEN: _ClassVar[CheckpointEvent]
    CHECKPOINT_EVENT_OPENED: _ClassVar[CheckpointEvent]
    CHECKPOINT_EVENT_UPDATED: _ClassVar[CheckpointEvent]
    CHECKPOINT_EVENT_CLOSED: _ClassVar[CheckpointEvent]
    CHECKPOINT_EVENT_KEEPALIVE: _ClassVar[CheckpointEvent]
CHECKPOINT_EVENT_UNSPECIFIED: CheckpointEvent
CHECKPOINT_EVENT_ALREADY_OPEN: CheckpointEvent
CHECKPOINT_EVENT_OPENED: CheckpointEvent
CHECKPOINT_EVENT_UPDATED: CheckpointEvent
CHECKPOINT_EVENT_CLOSED: CheckpointEvent
CHECKPOINT_EVENT_KEEPALIVE: CheckpointEvent

class ListCheckpointsRequest(_message.Message):
    __slots__ = ("states", "session_id", "page_size", "page_token")
    STATES_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    states: _containers.RepeatedScalarFieldContainer[_checkpoint_pb2.CheckpointState]
    session_id: str
    page_size: int
    page_token: str
    def __init__(self, states: _Optional[_Iterable[_Union[_checkpoint_pb2.CheckpointState, str]]] = ..., session_id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListCheckpointsResponse(_message.Message):
    __slots__ = ("checkpoints", "next_page_token")
    CHECKPOINTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    checkpoints: _containers.RepeatedCompositeFieldContainer[_checkpoint_pb2.Checkpoint]
    next_page_token: str
    def __init__(self, checkpoints: _Optional[_Iterable[_Union[_checkpoint_pb2.Checkpoint, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class GetCheckpointRequest(_message.Message):
    __slots__ = ("checkpoint_id",)
    CHECKPOINT_ID_FIELD_NUMBER: _ClassVar[int]
    checkpoint_id: str
    def __init__(self, checkpoint_id: _Optional[str] = ...) -> None: ...

class GetCheckpointResponse(_message.Message):
    __slots__ = ("checkpoint",)
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    checkpoint: _checkpoint_pb2.Checkpoint
    def __init__(self, checkpoint: _Optional[_Union[_checkpoint_pb2.Checkpoint, _Mapping]] = ...) -> None: ...

class WatchCheckpointsRequest(_message.Message):
    __slots__ = ("groups",)
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    groups: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, groups: _Optional[_Iterable[str]] = ...) -> None: ...

class WatchCheckpointsResponse(_message.Message):
    __slots__ = ("event", "checkpoint")
    EVENT_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    event: CheckpointEvent
    checkpoint: _checkpoint_pb2.Checkpoint
    def __init__(self, event: _Optional[_Union[CheckpointEvent, str]] = ..., checkpoint: _Optional[_Union[_checkpoint_pb2.Checkpoint, _Mapping]] = ...) -> None: ...

class DecideCheckpointRequest(_message.Message):
    __slots__ = ("checkpoint_id", "decision", "reason", "edited_input", "response", "call_digest")
    CHECKPOINT_ID_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    EDITED_INPUT_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    CALL_DIGEST_FIELD_NUMBER: _ClassVar[int]
    checkpoint_id: str
    decision: _checkpoint_pb2.CheckpointDecision
    reason: str
    edited_input: bytes
    response: str
    call_digest: str
    def __init__(self, checkpoint_id: _Optional[str] = ..., decision: _Optional[_Union[_checkpoint_pb2.CheckpointDecision, str]] = ..., reason: _Optional[str] = ..., edited_input: _Optional[bytes] = ..., response: _Optional[str] = ..., call_digest: _Optional[str] = ...) -> None: ...

class DecideCheckpointResponse(_message.Message):
    __slots__ = ("checkpoint",)
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    checkpoint: _checkpoint_pb2.Checkpoint
    def __init__(self, checkpoint: _Optional[_Union[_checkpoint_pb2.Checkpoint, _Mapping]] = ...) -> None: ...
