import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from interlock.v1 import decision_pb2 as _decision_pb2
from interlock.v1 import undo_pb2 as _undo_pb2
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class OperationState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OPERATION_STATE_UNSPECIFIED: _ClassVar[OperationState]
    OPERATION_STATE_INTENDED: _ClassVar[OperationState]
    OPERATION_STATE_DONE: _ClassVar[OperationState]
    OPERATION_STATE_FAILED: _ClassVar[OperationState]
    OPERATION_STATE_OUTCOME_UNKNOWN: _ClassVar[OperationState]
    OPERATION_STATE_UNDOING: _ClassVar[OperationState]
    OPERATION_STATE_UNDONE: _ClassVar[OperationState]
    OPERATION_STATE_UNDO_FAILED: _ClassVar[OperationState]
    OPERATION_STATE_UNDO_UNKNOWN: _ClassVar[OperationState]

class RollbackOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ROLLBACK_OUTCOME_UNSPECIFIED: _ClassVar[RollbackOutcome]
    ROLLBACK_OUTCOME_UNDONE: _ClassVar[RollbackOutcome]
    ROLLBACK_OUTCOME_ALREADY_UNDONE: _ClassVar[RollbackOutcome]
    ROLLBACK_OUTCOME_SKIPPED_IRREVERSIBLE: _ClassVar[RollbackOutcome]
    ROLLBACK_OUTCOME_STOPPED_IRREVERSIBLE: _ClassVar[RollbackOutcome]
    ROLLBACK_OUTCOME_FAILED: _ClassVar[RollbackOutcome]
    ROLLBACK_OUTCOME_DENIED: _ClassVar[RollbackOutcome]
    ROLLBACK_OUTCOME_HELD: _ClassVar[RollbackOutcome]
    ROLLBACK_OUTCOME_OUTCOME_UNKNOWN: _ClassVar[RollbackOutcome]
    ROLLBACK_OUTCOME_NOTHING_TO_UNDO: _ClassVar[RollbackOutcome]

class OperationEffect(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OPERATION_EFFECT_UNSPECIFIED: _ClassVar[OperationEffect]
    OPERATION_EFFECT_TOOK_EFFECT: _ClassVar[OperationEffect]
    OPERATION_EFFECT_NONE: _ClassVar[OperationEffect]
OPERATION_STATE_UNSPECIFIED: OperationState
OPERATION_STATE_INTENDED: OperationState
OPERATION_STATE_DONE: OperationState
OPERATION_STATE_FAILED: OperationState
OPERATION_STATE_OUTCOME_UNKNOWN: OperationState
OPERATION_STATE_UNDOING: OperationState
OPERATION_STATE_UNDONE: OperationState
OPERATION_STATE_UNDO_FAILED: OperationState
OPERATION_STATE_UNDO_UNKNOWN: OperationState
ROLLBACK_OUTCOME_UNSPECIFIED: RollbackOutcome
ROLLBACK_OUTCOME_UNDONE: RollbackOutcome
ROLLBACK_OUTCOME_ALREADY_UNDONE: RollbackOutcome
ROLLBACK_OUTCOME_SKIPPED_IRREVERSIBLE: RollbackOutcome
ROLLBACK_OUTCOME_STOPPED_IRREVERSIBLE: RollbackOutcome
ROLLBACK_OUTCOME_FAILED: RollbackOutcome
ROLLBACK_OUTCOME_DENIED: RollbackOutcome
ROLLBACK_OUTCOME_HELD: RollbackOutcome
ROLLBACK_OUTCOME_OUTCOME_UNKNOWN: RollbackOutcome
ROLLBACK_OUTCOME_NOTHING_TO_UNDO: RollbackOutcome
OPERATION_EFFECT_UNSPECIFIED: OperationEffect
OPERATION_EFFECT_TOOK_EFFECT: OperationEffect
OPERATION_EFFECT_NONE: OperationEffect

class Operation(_message.Message):
    __slots__ = ("operation_id", "sequence", "session_id", "call_id", "tool", "provider", "effect", "state", "undo", "undo_call_id", "error", "decision_id", "intended_at", "finished_at", "undone_at", "undoes_operation_id", "only_reads")
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    EFFECT_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    UNDO_FIELD_NUMBER: _ClassVar[int]
    UNDO_CALL_ID_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    DECISION_ID_FIELD_NUMBER: _ClassVar[int]
    INTENDED_AT_FIELD_NUMBER: _ClassVar[int]
    FINISHED_AT_FIELD_NUMBER: _ClassVar[int]
    UNDONE_AT_FIELD_NUMBER: _ClassVar[int]
    UNDOES_OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    ONLY_READS_FIELD_NUMBER: _ClassVar[int]
    operation_id: str
    sequence: int
    session_id: str
    call_id: str
    tool: str
    provider: str
    effect: _decision_pb2.Effect
    state: OperationState
    undo: _undo_pb2.UndoInfo
    undo_call_id: str
    error: str
    decision_id: str
    intended_at: _timestamp_pb2.Timestamp
    finished_at: _timestamp_pb2.Timestamp
    undone_at: _timestamp_pb2.Timestamp
    undoes_operation_id: str
    only_reads: bool
    def __init__(self, operation_id: _Optional[str] = ..., sequence: _Optional[int] = ..., session_id: _Optional[str] = ..., call_id: _Optional[str] = ..., tool: _Optional[str] = ..., provider: _Optional[str] = ..., effect: _Optional[_Union[_decision_pb2.Effect, str]] = ..., state: _Optional[_Union[OperationState, str]] = ..., undo: _Optional[_Union[_undo_pb2.UndoInfo, _Mapping]] = ..., undo_call_id: _Optional[str] = ..., error: _Optional[str] = ..., decision_id: _Optional[str] = ..., intended_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., finished_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., undone_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., undoes_operation_id: _Optional[str] = ..., only_reads: _Optional[bool] = ...) -> None: ...
