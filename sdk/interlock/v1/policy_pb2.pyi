import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from interlock.v1 import decision_pb2 as _decision_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PolicyStatus(_message.Message):
    __slots__ = ("revision", "engine", "profile", "sources", "activated_at", "rules", "signature_verified", "last_reload", "shadow", "engine_healthy", "engine_error", "source_error", "from_disk", "bundle_sequence", "exemptions")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    ENGINE_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    ACTIVATED_AT_FIELD_NUMBER: _ClassVar[int]
    RULES_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_VERIFIED_FIELD_NUMBER: _ClassVar[int]
    LAST_RELOAD_FIELD_NUMBER: _ClassVar[int]
    SHADOW_FIELD_NUMBER: _ClassVar[int]
    ENGINE_HEALTHY_FIELD_NUMBER: _ClassVar[int]
    ENGINE_ERROR_FIELD_NUMBER: _ClassVar[int]
    SOURCE_ERROR_FIELD_NUMBER: _ClassVar[int]
    FROM_DISK_FIELD_NUMBER: _ClassVar[int]
    BUNDLE_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    EXEMPTIONS_FIELD_NUMBER: _ClassVar[int]
    revision: str
    engine: str
    profile: str
    sources: _containers.RepeatedScalarFieldContainer[str]
    activated_at: _timestamp_pb2.Timestamp
    rules: int
    signature_verified: bool
    last_reload: PolicyReload
    shadow: ShadowStatus
    engine_healthy: bool
    engine_error: str
    source_error: str
    from_disk: bool
    bundle_sequence: int
    exemptions: int
    def __init__(self, revision: _Optional[str] = ..., engine: _Optional[str] = ..., profile: _Optional[str] = ..., sources: _Optional[_Iterable[str]] = ..., activated_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., rules: _Optional[int] = ..., signature_verified: _Optional[bool] = ..., last_reload: _Optional[_Union[PolicyReload, _Mapping]] = ..., shadow: _Optional[_Union[ShadowStatus, _Mapping]] = ..., engine_healthy: _Optional[bool] = ..., engine_error: _Optional[str] = ..., source_error: _Optional[str] = ..., from_disk: _Optional[bool] = ..., bundle_sequence: _Optional[int] = ..., exemptions: _Optional[int] = ...) -> None: ...

class PolicyReload(_message.Message):
    __slots__ = ("accepted", "revision", "problems", "time")
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    PROBLEMS_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    accepted: bool
    revision: str
    problems: _containers.RepeatedCompositeFieldContainer[PolicyProblem]
    time: _timestamp_pb2.Timestamp
    def __init__(self, accepted: _Optional[bool] = ..., revision: _Optional[str] = ..., problems: _Optional[_Iterable[_Union[PolicyProblem, _Mapping]]] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class PolicyProblem(_message.Message):
    __slots__ = ("file", "line", "code", "message")
    FILE_FIELD_NUMBER: _ClassVar[int]
    LINE_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    file: str
    line: int
    code: str
    message: str
    def __init__(self, file: _Optional[str] = ..., line: _Optional[int] = ..., code: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...

class ShadowStatus(_message.Message):
    __slots__ = ("source", "revision", "since", "evaluated", "differed", "skipped", "differences", "profile", "skips", "error")
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    EVALUATED_FIELD_NUMBER: _ClassVar[int]
    DIFFERED_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_FIELD_NUMBER: _ClassVar[int]
    DIFFERENCES_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    SKIPS_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    source: str
    revision: str
    since: _timestamp_pb2.Timestamp
    evaluated: int
    differed: int
    skipped: int
    differences: _containers.RepeatedCompositeFieldContainer[VerdictDifference]
    profile: str
    skips: _containers.RepeatedCompositeFieldContainer[ShadowSkip]
    error: str
    def __init__(self, source: _Optional[str] = ..., revision: _Optional[str] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., evaluated: _Optional[int] = ..., differed: _Optional[int] = ..., skipped: _Optional[int] = ..., differences: _Optional[_Iterable[_Union[VerdictDifference, _Mapping]]] = ..., profile: _Optional[str] = ..., skips: _Optional[_Iterable[_Union[ShadowSkip, _Mapping]]] = ..., error: _Optional[str] = ...) -> None: ...

class ShadowSkip(_message.Message):
    __slots__ = ("why", "count")
    WHY_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    why: str
    count: int
    def __init__(self, why: _Optional[str] = ..., count: _Optional[int] = ...) -> None: ...

class ShadowDifference(_message.Message):
    __slots__ = ("time", "decision_id", "session_id", "call_id", "tool", "principal", "active", "candidate")
    TIME_FIELD_NUMBER: _ClassVar[int]
    DECISION_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_FIELD_NUMBER: _ClassVar[int]
    CANDIDATE_FIELD_NUMBER: _ClassVar[int]
    time: _timestamp_pb2.Timestamp
    decision_id: str
    session_id: str
    call_id: str
    tool: str
    principal: str
    active: ShadowVerdict
    candidate: ShadowVerdict
    def __init__(self, time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., decision_id: _Optional[str] = ..., session_id: _Optional[str] = ..., call_id: _Optional[str] = ..., tool: _Optional[str] = ..., principal: _Optional[str] = ..., active: _Optional[_Union[ShadowVerdict, _Mapping]] = ..., candidate: _Optional[_Union[ShadowVerdict, _Mapping]] = ...) -> None: ...

class ShadowVerdict(_message.Message):
    __slots__ = ("verdict", "reasons", "obligations", "revision")
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    REASONS_FIELD_NUMBER: _ClassVar[int]
    OBLIGATIONS_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    verdict: str
    reasons: _containers.RepeatedCompositeFieldContainer[_decision_pb2.Reason]
    obligations: _containers.RepeatedScalarFieldContainer[str]
    revision: str
    def __init__(self, verdict: _Optional[str] = ..., reasons: _Optional[_Iterable[_Union[_decision_pb2.Reason, _Mapping]]] = ..., obligations: _Optional[_Iterable[str]] = ..., revision: _Optional[str] = ...) -> None: ...

class VerdictDifference(_message.Message):
    __slots__ = ("active", "candidate", "count")
    ACTIVE_FIELD_NUMBER: _ClassVar[int]
    CANDIDATE_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    active: str
    candidate: str
    count: int
    def __init__(self, active: _Optional[str] = ..., candidate: _Optional[str] = ..., count: _Optional[int] = ...) -> None: ...
