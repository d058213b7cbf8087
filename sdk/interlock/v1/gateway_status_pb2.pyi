import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ComponentState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    COMPONENT_STATE_UNSPECIFIED: _ClassVar[ComponentState]
    COMPONENT_STATE_HEALTHY: _ClassVar[ComponentState]
    COMPONENT_STATE_DEGRADED: _ClassVar[ComponentState]
    COMPONENT_STATE_FAILED: _ClassVar[ComponentState]
COMPONENT_STATE_UNSPECIFIED: ComponentState
COMPONENT_STATE_HEALTHY: ComponentState
COMPONENT_STATE_DEGRADED: ComponentState
COMPONENT_STATE_FAILED: ComponentState

class GatewayStatus(_message.Message):
    __slots__ = ("version", "replica", "started_at", "serving", "draining", "profile", "policy_revision", "components", "open_sessions", "calls_in_flight", "pending_actions", "open_checkpoints", "checkpoint_handlers", "audit_backlog", "audit_lost")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    REPLICA_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    SERVING_FIELD_NUMBER: _ClassVar[int]
    DRAINING_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    POLICY_REVISION_FIELD_NUMBER: _ClassVar[int]
    COMPONENTS_FIELD_NUMBER: _ClassVar[int]
    OPEN_SESSIONS_FIELD_NUMBER: _ClassVar[int]
    CALLS_IN_FLIGHT_FIELD_NUMBER: _ClassVar[int]
    PENDING_ACTIONS_FIELD_NUMBER: _ClassVar[int]
    OPEN_CHECKPOINTS_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_HANDLERS_FIELD_NUMBER: _ClassVar[int]
    AUDIT_BACKLOG_FIELD_NUMBER: _ClassVar[int]
    AUDIT_LOST_FIELD_NUMBER: _ClassVar[int]
    version: str
    replica: str
    started_at: _timestamp_pb2.Timestamp
    serving: bool
    draining: bool
    profile: str
    policy_revision: str
    components: _containers.RepeatedCompositeFieldContainer[ComponentStatus]
    open_sessions: int
    calls_in_flight: int
    pending_actions: int
    open_checkpoints: int
    checkpoint_handlers: int
    audit_backlog: int
    audit_lost: int
    def __init__(self, version: _Optional[str] = ..., replica: _Optional[str] = ..., started_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., serving: _Optional[bool] = ..., draining: _Optional[bool] = ..., profile: _Optional[str] = ..., policy_revision: _Optional[str] = ..., components: _Optional[_Iterable[_Union[ComponentStatus, _Mapping]]] = ..., open_sessions: _Optional[int] = ..., calls_in_flight: _Optional[int] = ..., pending_actions: _Optional[int] = ..., open_checkpoints: _Optional[int] = ..., checkpoint_handlers: _Optional[int] = ..., audit_backlog: _Optional[int] = ..., audit_lost: _Optional[int] = ...) -> None: ...

class ComponentStatus(_message.Message):
    __slots__ = ("name", "state", "message")
    NAME_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    name: str
    state: ComponentState
    message: str
    def __init__(self, name: _Optional[str] = ..., state: _Optional[_Union[ComponentState, str]] = ..., message: _Optional[str] = ...) -> None: ...
