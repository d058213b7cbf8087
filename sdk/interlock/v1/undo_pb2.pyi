from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class UndoMethod(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    UNDO_METHOD_UNSPECIFIED: _ClassVar[UndoMethod]
    UNDO_METHOD_TOOL: _ClassVar[UndoMethod]
    UNDO_METHOD_MANUAL: _ClassVar[UndoMethod]
UNDO_METHOD_UNSPECIFIED: UndoMethod
UNDO_METHOD_TOOL: UndoMethod
UNDO_METHOD_MANUAL: UndoMethod

class UndoInfo(_message.Message):
    __slots__ = ("tool", "input", "description", "irreversible", "manual_guide")
    TOOL_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    IRREVERSIBLE_FIELD_NUMBER: _ClassVar[int]
    MANUAL_GUIDE_FIELD_NUMBER: _ClassVar[int]
    tool: str
    input: bytes
    description: str
    irreversible: bool
    manual_guide: str
    def __init__(self, tool: _Optional[str] = ..., input: _Optional[bytes] = ..., description: _Optional[str] = ..., irreversible: _Optional[bool] = ..., manual_guide: _Optional[str] = ...) -> None: ...
