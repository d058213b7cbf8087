import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Artifact(_message.Message):
    __slots__ = ("uri", "total_bytes", "lines", "media_type", "sha256", "created_at")
    URI_FIELD_NUMBER: _ClassVar[int]
    TOTAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    LINES_FIELD_NUMBER: _ClassVar[int]
    MEDIA_TYPE_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    uri: str
    total_bytes: int
    lines: int
    media_type: str
    sha256: str
    created_at: _timestamp_pb2.Timestamp
    def __init__(self, uri: _Optional[str] = ..., total_bytes: _Optional[int] = ..., lines: _Optional[int] = ..., media_type: _Optional[str] = ..., sha256: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ByteRange(_message.Message):
    __slots__ = ("offset", "length")
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    offset: int
    length: int
    def __init__(self, offset: _Optional[int] = ..., length: _Optional[int] = ...) -> None: ...

class LineRange(_message.Message):
    __slots__ = ("first_line", "count")
    FIRST_LINE_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    first_line: int
    count: int
    def __init__(self, first_line: _Optional[int] = ..., count: _Optional[int] = ...) -> None: ...

class ArtifactMatch(_message.Message):
    __slots__ = ("line", "offset", "text", "before", "after")
    LINE_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    line: int
    offset: int
    text: str
    before: _containers.RepeatedScalarFieldContainer[str]
    after: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, line: _Optional[int] = ..., offset: _Optional[int] = ..., text: _Optional[str] = ..., before: _Optional[_Iterable[str]] = ..., after: _Optional[_Iterable[str]] = ...) -> None: ...

class ArtifactSearchSummary(_message.Message):
    __slots__ = ("matches", "lines_searched", "more_matches", "timed_out")
    MATCHES_FIELD_NUMBER: _ClassVar[int]
    LINES_SEARCHED_FIELD_NUMBER: _ClassVar[int]
    MORE_MATCHES_FIELD_NUMBER: _ClassVar[int]
    TIMED_OUT_FIELD_NUMBER: _ClassVar[int]
    matches: int
    lines_searched: int
    more_matches: bool
    timed_out: bool
    def __init__(self, matches: _Optional[int] = ..., lines_searched: _Optional[int] = ..., more_matches: _Optional[bool] = ..., timed_out: _Optional[bool] = ...) -> None: ...
