from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class DeliverableVerdict(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DELIVERABLE_VERDICT_UNSPECIFIED: _ClassVar[DeliverableVerdict]
    DELIVERABLE_VERDICT_PROCEED: _ClassVar[DeliverableVerdict]
    DELIVERABLE_VERDICT_REVISE: _ClassVar[DeliverableVerdict]
    DELIVERABLE_VERDICT_ABORT: _ClassVar[DeliverableVerdict]
DELIVERABLE_VERDICT_UNSPECIFIED: DeliverableVerdict
DELIVERABLE_VERDICT_PROCEED: DeliverableVerdict
DELIVERABLE_VERDICT_REVISE: DeliverableVerdict
DELIVERABLE_VERDICT_ABORT: DeliverableVerdict

class Deliverable(_message.Message):
    __slots__ = ("hidden_assumptions", "failure_scenarios", "verdict", "verdict_reason")
    HIDDEN_ASSUMPTIONS_FIELD_NUMBER: _ClassVar[int]
    FAILURE_SCENARIOS_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    VERDICT_REASON_FIELD_NUMBER: _ClassVar[int]
    hidden_assumptions: _containers.RepeatedScalarFieldContainer[str]
    failure_scenarios: _containers.RepeatedScalarFieldContainer[str]
    verdict: DeliverableVerdict
    verdict_reason: str
    def __init__(self, hidden_assumptions: _Optional[_Iterable[str]] = ..., failure_scenarios: _Optional[_Iterable[str]] = ..., verdict: _Optional[_Union[DeliverableVerdict, str]] = ..., verdict_reason: _Optional[str] = ...) -> None: ...

class ReflectionForm(_message.Message):
    __slots__ = ("instructions", "schema", "call_digest")
    INSTRUCTIONS_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    CALL_DIGEST_FIELD_NUMBER: _ClassVar[int]
    instructions: str
    schema: bytes
    call_digest: str
    def __init__(self, instructions: _Optional[str] = ..., schema: _Optional[bytes] = ..., call_digest: _Optional[str] = ...) -> None: ...
