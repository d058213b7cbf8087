import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from interlock.v1 import decision_pb2 as _decision_pb2
from interlock.v1 import deliverable_pb2 as _deliverable_pb2
from interlock.v1 import pending_pb2 as _pending_pb2
from interlock.v1 import principal_pb2 as _principal_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CheckpointMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CHECKPOINT_MODE_UNSPECIFIED: _ClassVar[CheckpointMode]
    CHECKPOINT_MODE_WAIT: _ClassVar[CheckpointMode]
    CHECKPOINT_MODE_DETACH: _ClassVar[CheckpointMode]

class CheckpointState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CHECKPOINT_STATE_UNSPECIFIED: _ClassVar[CheckpointState]
    CHECKPOINT_STATE_OPEN: _ClassVar[CheckpointState]
    CHECKPOINT_STATE_APPROVED: _ClassVar[CheckpointState]
    CHECKPOINT_STATE_DENIED: _ClassVar[CheckpointState]
    CHECKPOINT_STATE_EXPIRED: _ClassVar[CheckpointState]
    CHECKPOINT_STATE_WITHDRAWN: _ClassVar[CheckpointState]
    CHECKPOINT_STATE_CONSUMED: _ClassVar[CheckpointState]

class CheckpointDecision(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CHECKPOINT_DECISION_UNSPECIFIED: _ClassVar[CheckpointDecision]
    CHECKPOINT_DECISION_APPROVE: _ClassVar[CheckpointDecision]
    CHECKPOINT_DECISION_DENY: _ClassVar[CheckpointDecision]
    CHECKPOINT_DECISION_EDIT: _ClassVar[CheckpointDecision]
    CHECKPOINT_DECISION_RESPOND: _ClassVar[CheckpointDecision]
CHECKPOINT_MODE_UNSPECIFIED: CheckpointMode
CHECKPOINT_MODE_WAIT: CheckpointMode
CHECKPOINT_MODE_DETACH: CheckpointMode
CHECKPOINT_STATE_UNSPECIFIED: CheckpointState
CHECKPOINT_STATE_OPEN: CheckpointState
CHECKPOINT_STATE_APPROVED: CheckpointState
CHECKPOINT_STATE_DENIED: CheckpointState
CHECKPOINT_STATE_EXPIRED: CheckpointState
CHECKPOINT_STATE_WITHDRAWN: CheckpointState
CHECKPOINT_STATE_CONSUMED: CheckpointState
CHECKPOINT_DECISION_UNSPECIFIED: CheckpointDecision
CHECKPOINT_DECISION_APPROVE: CheckpointDecision
CHECKPOINT_DECISION_DENY: CheckpointDecision
CHECKPOINT_DECISION_EDIT: CheckpointDecision
CHECKPOINT_DECISION_RESPOND: CheckpointDecision

class CheckpointRef(_message.Message):
    __slots__ = ("checkpoint_id", "expires_at")
    CHECKPOINT_ID_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    checkpoint_id: str
    expires_at: _timestamp_pb2.Timestamp
    def __init__(self, checkpoint_id: _Optional[str] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Checkpoint(_message.Message):
    __slots__ = ("checkpoint_id", "state", "session_id", "call_id", "tool", "requester", "intent", "rendered_call", "input", "facts", "preview", "decision", "deliverable", "history", "approver_groups", "quorum", "answers", "mode", "call_digest", "created_at", "expires_at", "escalated")
    CHECKPOINT_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    REQUESTER_FIELD_NUMBER: _ClassVar[int]
    INTENT_FIELD_NUMBER: _ClassVar[int]
    RENDERED_CALL_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    FACTS_FIELD_NUMBER: _ClassVar[int]
    PREVIEW_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    DELIVERABLE_FIELD_NUMBER: _ClassVar[int]
    HISTORY_FIELD_NUMBER: _ClassVar[int]
    APPROVER_GROUPS_FIELD_NUMBER: _ClassVar[int]
    QUORUM_FIELD_NUMBER: _ClassVar[int]
    ANSWERS_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    CALL_DIGEST_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    ESCALATED_FIELD_NUMBER: _ClassVar[int]
    checkpoint_id: str
    state: CheckpointState
    session_id: str
    call_id: str
    tool: str
    requester: _principal_pb2.Principal
    intent: str
    rendered_call: str
    input: bytes
    facts: bytes
    preview: _pending_pb2.Preview
    decision: _decision_pb2.Decision
    deliverable: _deliverable_pb2.Deliverable
    history: _containers.RepeatedCompositeFieldContainer[CheckpointHistoryEntry]
    approver_groups: _containers.RepeatedScalarFieldContainer[str]
    quorum: int
    answers: _containers.RepeatedCompositeFieldContainer[CheckpointAnswer]
    mode: CheckpointMode
    call_digest: str
    created_at: _timestamp_pb2.Timestamp
    expires_at: _timestamp_pb2.Timestamp
    escalated: bool
    def __init__(self, checkpoint_id: _Optional[str] = ..., state: _Optional[_Union[CheckpointState, str]] = ..., session_id: _Optional[str] = ..., call_id: _Optional[str] = ..., tool: _Optional[str] = ..., requester: _Optional[_Union[_principal_pb2.Principal, _Mapping]] = ..., intent: _Optional[str] = ..., rendered_call: _Optional[str] = ..., input: _Optional[bytes] = ..., facts: _Optional[bytes] = ..., preview: _Optional[_Union[_pending_pb2.Preview, _Mapping]] = ..., decision: _Optional[_Union[_decision_pb2.Decision, _Mapping]] = ..., deliverable: _Optional[_Union[_deliverable_pb2.Deliverable, _Mapping]] = ..., history: _Optional[_Iterable[_Union[CheckpointHistoryEntry, _Mapping]]] = ..., approver_groups: _Optional[_Iterable[str]] = ..., quorum: _Optional[int] = ..., answers: _Optional[_Iterable[_Union[CheckpointAnswer, _Mapping]]] = ..., mode: _Optional[_Union[CheckpointMode, str]] = ..., call_digest: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., escalated: _Optional[bool] = ...) -> None: ...

class CheckpointHistoryEntry(_message.Message):
    __slots__ = ("call_id", "tool", "summary", "effect", "verdict", "status", "time")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    EFFECT_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    call_id: str
    tool: str
    summary: str
    effect: _decision_pb2.Effect
    verdict: _decision_pb2.Verdict
    status: str
    time: _timestamp_pb2.Timestamp
    def __init__(self, call_id: _Optional[str] = ..., tool: _Optional[str] = ..., summary: _Optional[str] = ..., effect: _Optional[_Union[_decision_pb2.Effect, str]] = ..., verdict: _Optional[_Union[_decision_pb2.Verdict, str]] = ..., status: _Optional[str] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class CheckpointAnswer(_message.Message):
    __slots__ = ("approver", "decision", "reason", "edited_input", "edit_difference", "response", "channel", "answered_at")
    APPROVER_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    EDITED_INPUT_FIELD_NUMBER: _ClassVar[int]
    EDIT_DIFFERENCE_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    ANSWERED_AT_FIELD_NUMBER: _ClassVar[int]
    approver: _principal_pb2.Principal
    decision: CheckpointDecision
    reason: str
    edited_input: bytes
    edit_difference: str
    response: str
    channel: str
    answered_at: _timestamp_pb2.Timestamp
    def __init__(self, approver: _Optional[_Union[_principal_pb2.Principal, _Mapping]] = ..., decision: _Optional[_Union[CheckpointDecision, str]] = ..., reason: _Optional[str] = ..., edited_input: _Optional[bytes] = ..., edit_difference: _Optional[str] = ..., response: _Optional[str] = ..., channel: _Optional[str] = ..., answered_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...
