import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from interlock.v1 import checkpoint_pb2 as _checkpoint_pb2
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class WaitReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    WAIT_REASON_UNSPECIFIED: _ClassVar[WaitReason]
    WAIT_REASON_LOCK: _ClassVar[WaitReason]
    WAIT_REASON_CHECKPOINT: _ClassVar[WaitReason]

class OutputStream(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OUTPUT_STREAM_UNSPECIFIED: _ClassVar[OutputStream]
    OUTPUT_STREAM_STDOUT: _ClassVar[OutputStream]
    OUTPUT_STREAM_STDERR: _ClassVar[OutputStream]
WAIT_REASON_UNSPECIFIED: WaitReason
WAIT_REASON_LOCK: WaitReason
WAIT_REASON_CHECKPOINT: WaitReason
OUTPUT_STREAM_UNSPECIFIED: OutputStream
OUTPUT_STREAM_STDOUT: OutputStream
OUTPUT_STREAM_STDERR: OutputStream

class Progress(_message.Message):
    __slots__ = ("progress", "total", "message")
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    progress: float
    total: float
    message: str
    def __init__(self, progress: _Optional[float] = ..., total: _Optional[float] = ..., message: _Optional[str] = ...) -> None: ...

class OutputChunk(_message.Message):
    __slots__ = ("stream", "text")
    STREAM_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    stream: OutputStream
    text: str
    def __init__(self, stream: _Optional[_Union[OutputStream, str]] = ..., text: _Optional[str] = ...) -> None: ...

class Waiting(_message.Message):
    __slots__ = ("reason", "since", "calls_ahead", "checkpoint")
    REASON_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    CALLS_AHEAD_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    reason: WaitReason
    since: _timestamp_pb2.Timestamp
    calls_ahead: int
    checkpoint: _checkpoint_pb2.CheckpointRef
    def __init__(self, reason: _Optional[_Union[WaitReason, str]] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., calls_ahead: _Optional[int] = ..., checkpoint: _Optional[_Union[_checkpoint_pb2.CheckpointRef, _Mapping]] = ...) -> None: ...
