from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class MessageRole(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MESSAGE_ROLE_UNSPECIFIED: _ClassVar[MessageRole]
    MESSAGE_ROLE_USER: _ClassVar[MessageRole]
    MESSAGE_ROLE_SYSTEM: _ClassVar[MessageRole]

class ReferenceError(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REFERENCE_ERROR_UNSPECIFIED: _ClassVar[ReferenceError]
    REFERENCE_ERROR_OUT_OF_SCOPE: _ClassVar[ReferenceError]
    REFERENCE_ERROR_NOT_FOUND: _ClassVar[ReferenceError]
    REFERENCE_ERROR_NOT_UTF8: _ClassVar[ReferenceError]
    REFERENCE_ERROR_IO: _ClassVar[ReferenceError]
MESSAGE_ROLE_UNSPECIFIED: MessageRole
MESSAGE_ROLE_USER: MessageRole
MESSAGE_ROLE_SYSTEM: MessageRole
REFERENCE_ERROR_UNSPECIFIED: ReferenceError
REFERENCE_ERROR_OUT_OF_SCOPE: ReferenceError
REFERENCE_ERROR_NOT_FOUND: ReferenceError
REFERENCE_ERROR_NOT_UTF8: ReferenceError
REFERENCE_ERROR_IO: ReferenceError

class PromptSegment(_message.Message):
    __slots__ = ("text", "file", "artifact")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    FILE_FIELD_NUMBER: _ClassVar[int]
    ARTIFACT_FIELD_NUMBER: _ClassVar[int]
    text: str
    file: FileReference
    artifact: ArtifactReference
    def __init__(self, text: _Optional[str] = ..., file: _Optional[_Union[FileReference, _Mapping]] = ..., artifact: _Optional[_Union[ArtifactReference, _Mapping]] = ...) -> None: ...

class FileReference(_message.Message):
    __slots__ = ("path", "source_text")
    PATH_FIELD_NUMBER: _ClassVar[int]
    SOURCE_TEXT_FIELD_NUMBER: _ClassVar[int]
    path: str
    source_text: str
    def __init__(self, path: _Optional[str] = ..., source_text: _Optional[str] = ...) -> None: ...

class ArtifactReference(_message.Message):
    __slots__ = ("uri", "source_text")
    URI_FIELD_NUMBER: _ClassVar[int]
    SOURCE_TEXT_FIELD_NUMBER: _ClassVar[int]
    uri: str
    source_text: str
    def __init__(self, uri: _Optional[str] = ..., source_text: _Optional[str] = ...) -> None: ...

class PromptMessage(_message.Message):
    __slots__ = ("role", "text")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    role: MessageRole
    text: str
    def __init__(self, role: _Optional[_Union[MessageRole, str]] = ..., text: _Optional[str] = ...) -> None: ...

class ReferenceAlert(_message.Message):
    __slots__ = ("segment_index", "reference", "error", "message")
    SEGMENT_INDEX_FIELD_NUMBER: _ClassVar[int]
    REFERENCE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    segment_index: int
    reference: str
    error: ReferenceError
    message: str
    def __init__(self, segment_index: _Optional[int] = ..., reference: _Optional[str] = ..., error: _Optional[_Union[ReferenceError, str]] = ..., message: _Optional[str] = ...) -> None: ...
