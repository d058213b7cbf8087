import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from interlock.v1 import decision_pb2 as _decision_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Receipt(_message.Message):
    __slots__ = ("sequence", "chain", "hash", "previous_hash", "decision_id", "time", "principal_id", "session_id", "call_id", "tool", "effect", "verdict", "outcome", "json")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_HASH_FIELD_NUMBER: _ClassVar[int]
    DECISION_ID_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    EFFECT_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    JSON_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    chain: str
    hash: str
    previous_hash: str
    decision_id: str
    time: _timestamp_pb2.Timestamp
    principal_id: str
    session_id: str
    call_id: str
    tool: str
    effect: _decision_pb2.Effect
    verdict: _decision_pb2.Verdict
    outcome: str
    json: bytes
    def __init__(self, sequence: _Optional[int] = ..., chain: _Optional[str] = ..., hash: _Optional[str] = ..., previous_hash: _Optional[str] = ..., decision_id: _Optional[str] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., principal_id: _Optional[str] = ..., session_id: _Optional[str] = ..., call_id: _Optional[str] = ..., tool: _Optional[str] = ..., effect: _Optional[_Union[_decision_pb2.Effect, str]] = ..., verdict: _Optional[_Union[_decision_pb2.Verdict, str]] = ..., outcome: _Optional[str] = ..., json: _Optional[bytes] = ...) -> None: ...

class ReceiptFilter(_message.Message):
    __slots__ = ("since", "until", "principal_id", "session_id", "call_id", "decision_id", "tool", "effects", "verdicts", "reason_code")
    SINCE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    DECISION_ID_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    EFFECTS_FIELD_NUMBER: _ClassVar[int]
    VERDICTS_FIELD_NUMBER: _ClassVar[int]
    REASON_CODE_FIELD_NUMBER: _ClassVar[int]
    since: _timestamp_pb2.Timestamp
    until: _timestamp_pb2.Timestamp
    principal_id: str
    session_id: str
    call_id: str
    decision_id: str
    tool: str
    effects: _containers.RepeatedScalarFieldContainer[_decision_pb2.Effect]
    verdicts: _containers.RepeatedScalarFieldContainer[_decision_pb2.Verdict]
    reason_code: str
    def __init__(self, since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., principal_id: _Optional[str] = ..., session_id: _Optional[str] = ..., call_id: _Optional[str] = ..., decision_id: _Optional[str] = ..., tool: _Optional[str] = ..., effects: _Optional[_Iterable[_Union[_decision_pb2.Effect, str]]] = ..., verdicts: _Optional[_Iterable[_Union[_decision_pb2.Verdict, str]]] = ..., reason_code: _Optional[str] = ...) -> None: ...
