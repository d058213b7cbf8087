import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Effect(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EFFECT_UNSPECIFIED: _ClassVar[Effect]
    EFFECT_READ_ONLY: _ClassVar[Effect]
    EFFECT_MUTATING: _ClassVar[Effect]
    EFFECT_DESTRUCTIVE: _ClassVar[Effect]
    EFFECT_UNDECLARED: _ClassVar[Effect]

class Verdict(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VERDICT_UNSPECIFIED: _ClassVar[Verdict]
    VERDICT_ALLOW: _ClassVar[Verdict]
    VERDICT_DENY: _ClassVar[Verdict]
    VERDICT_PREVIEW: _ClassVar[Verdict]
    VERDICT_CHECKPOINT: _ClassVar[Verdict]
    VERDICT_REFLECT: _ClassVar[Verdict]
EFFECT_UNSPECIFIED: Effect
EFFECT_READ_ONLY: Effect
EFFECT_MUTATING: Effect
EFFECT_DESTRUCTIVE: Effect
EFFECT_UNDECLARED: Effect
VERDICT_UNSPECIFIED: Verdict
VERDICT_ALLOW: Verdict
VERDICT_DENY: Verdict
VERDICT_PREVIEW: Verdict
VERDICT_CHECKPOINT: Verdict
VERDICT_REFLECT: Verdict

class Decision(_message.Message):
    __slots__ = ("decision_id", "verdict", "reasons", "classification", "obligations", "policy_revision", "shadow", "profile", "notes", "observe_only", "exemptions", "call_digest", "decided_at")
    DECISION_ID_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    REASONS_FIELD_NUMBER: _ClassVar[int]
    CLASSIFICATION_FIELD_NUMBER: _ClassVar[int]
    OBLIGATIONS_FIELD_NUMBER: _ClassVar[int]
    POLICY_REVISION_FIELD_NUMBER: _ClassVar[int]
    SHADOW_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    OBSERVE_ONLY_FIELD_NUMBER: _ClassVar[int]
    EXEMPTIONS_FIELD_NUMBER: _ClassVar[int]
    CALL_DIGEST_FIELD_NUMBER: _ClassVar[int]
    DECIDED_AT_FIELD_NUMBER: _ClassVar[int]
    decision_id: str
    verdict: Verdict
    reasons: _containers.RepeatedCompositeFieldContainer[Reason]
    classification: Classification
    obligations: Obligations
    policy_revision: str
    shadow: ShadowDecision
    profile: str
    notes: _containers.RepeatedScalarFieldContainer[str]
    observe_only: bool
    exemptions: _containers.RepeatedCompositeFieldContainer[Exemption]
    call_digest: str
    decided_at: _timestamp_pb2.Timestamp
    def __init__(self, decision_id: _Optional[str] = ..., verdict: _Optional[_Union[Verdict, str]] = ..., reasons: _Optional[_Iterable[_Union[Reason, _Mapping]]] = ..., classification: _Optional[_Union[Classification, _Mapping]] = ..., obligations: _Optional[_Union[Obligations, _Mapping]] = ..., policy_revision: _Optional[str] = ..., shadow: _Optional[_Union[ShadowDecision, _Mapping]] = ..., profile: _Optional[str] = ..., notes: _Optional[_Iterable[str]] = ..., observe_only: _Optional[bool] = ..., exemptions: _Optional[_Iterable[_Union[Exemption, _Mapping]]] = ..., call_digest: _Optional[str] = ..., decided_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Reason(_message.Message):
    __slots__ = ("code", "message", "rule")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    code: str
    message: str
    rule: str
    def __init__(self, code: _Optional[str] = ..., message: _Optional[str] = ..., rule: _Optional[str] = ...) -> None: ...

class Classification(_message.Message):
    __slots__ = ("effect", "safety_level", "audit_operation", "open_world", "external_effect")
    EFFECT_FIELD_NUMBER: _ClassVar[int]
    SAFETY_LEVEL_FIELD_NUMBER: _ClassVar[int]
    AUDIT_OPERATION_FIELD_NUMBER: _ClassVar[int]
    OPEN_WORLD_FIELD_NUMBER: _ClassVar[int]
    EXTERNAL_EFFECT_FIELD_NUMBER: _ClassVar[int]
    effect: Effect
    safety_level: int
    audit_operation: str
    open_world: bool
    external_effect: bool
    def __init__(self, effect: _Optional[_Union[Effect, str]] = ..., safety_level: _Optional[int] = ..., audit_operation: _Optional[str] = ..., open_world: _Optional[bool] = ..., external_effect: _Optional[bool] = ...) -> None: ...

class Obligations(_message.Message):
    __slots__ = ("strip", "set", "max_result_bytes", "timeout", "redact", "approvers", "quorum", "expires", "taint", "escalate_to", "escalate_after")
    STRIP_FIELD_NUMBER: _ClassVar[int]
    SET_FIELD_NUMBER: _ClassVar[int]
    MAX_RESULT_BYTES_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    REDACT_FIELD_NUMBER: _ClassVar[int]
    APPROVERS_FIELD_NUMBER: _ClassVar[int]
    QUORUM_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_FIELD_NUMBER: _ClassVar[int]
    TAINT_FIELD_NUMBER: _ClassVar[int]
    ESCALATE_TO_FIELD_NUMBER: _ClassVar[int]
    ESCALATE_AFTER_FIELD_NUMBER: _ClassVar[int]
    strip: _containers.RepeatedScalarFieldContainer[str]
    set: bytes
    max_result_bytes: int
    timeout: _duration_pb2.Duration
    redact: _containers.RepeatedScalarFieldContainer[str]
    approvers: _containers.RepeatedScalarFieldContainer[str]
    quorum: int
    expires: _duration_pb2.Duration
    taint: _containers.RepeatedScalarFieldContainer[str]
    escalate_to: _containers.RepeatedScalarFieldContainer[str]
    escalate_after: _duration_pb2.Duration
    def __init__(self, strip: _Optional[_Iterable[str]] = ..., set: _Optional[bytes] = ..., max_result_bytes: _Optional[int] = ..., timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., redact: _Optional[_Iterable[str]] = ..., approvers: _Optional[_Iterable[str]] = ..., quorum: _Optional[int] = ..., expires: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., taint: _Optional[_Iterable[str]] = ..., escalate_to: _Optional[_Iterable[str]] = ..., escalate_after: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class ShadowDecision(_message.Message):
    __slots__ = ("verdict", "reasons", "obligations", "policy_revision", "differs")
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    REASONS_FIELD_NUMBER: _ClassVar[int]
    OBLIGATIONS_FIELD_NUMBER: _ClassVar[int]
    POLICY_REVISION_FIELD_NUMBER: _ClassVar[int]
    DIFFERS_FIELD_NUMBER: _ClassVar[int]
    verdict: Verdict
    reasons: _containers.RepeatedCompositeFieldContainer[Reason]
    obligations: Obligations
    policy_revision: str
    differs: bool
    def __init__(self, verdict: _Optional[_Union[Verdict, str]] = ..., reasons: _Optional[_Iterable[_Union[Reason, _Mapping]]] = ..., obligations: _Optional[_Union[Obligations, _Mapping]] = ..., policy_revision: _Optional[str] = ..., differs: _Optional[bool] = ...) -> None: ...

class Exemption(_message.Message):
    __slots__ = ("rule", "scope", "reason", "owner", "expires_at", "id")
    RULE_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    rule: str
    scope: str
    reason: str
    owner: str
    expires_at: _timestamp_pb2.Timestamp
    id: str
    def __init__(self, rule: _Optional[str] = ..., scope: _Optional[str] = ..., reason: _Optional[str] = ..., owner: _Optional[str] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., id: _Optional[str] = ...) -> None: ...
