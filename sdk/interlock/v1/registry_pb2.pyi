import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from interlock.v1 import decision_pb2 as _decision_pb2
from interlock.v1 import tool_pb2 as _tool_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ProviderKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PROVIDER_KIND_UNSPECIFIED: _ClassVar[ProviderKind]
    PROVIDER_KIND_GRPC: _ClassVar[ProviderKind]
    PROVIDER_KIND_ATTACHED: _ClassVar[ProviderKind]
    PROVIDER_KIND_MCP_HTTP: _ClassVar[ProviderKind]
    PROVIDER_KIND_MCP_STDIO: _ClassVar[ProviderKind]
    PROVIDER_KIND_BUILT_IN: _ClassVar[ProviderKind]

class ProviderState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PROVIDER_STATE_UNSPECIFIED: _ClassVar[ProviderState]
    PROVIDER_STATE_CONNECTING: _ClassVar[ProviderState]
    PROVIDER_STATE_READY: _ClassVar[ProviderState]
    PROVIDER_STATE_UNREACHABLE: _ClassVar[ProviderState]
    PROVIDER_STATE_INVALID: _ClassVar[ProviderState]

class ProviderTrust(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PROVIDER_TRUST_UNSPECIFIED: _ClassVar[ProviderTrust]
    PROVIDER_TRUST_DECLARED: _ClassVar[ProviderTrust]
    PROVIDER_TRUST_FLOOR: _ClassVar[ProviderTrust]

class PinMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PIN_MODE_UNSPECIFIED: _ClassVar[PinMode]
    PIN_MODE_QUARANTINE: _ClassVar[PinMode]
    PIN_MODE_FOLLOW: _ClassVar[PinMode]
PROVIDER_KIND_UNSPECIFIED: ProviderKind
PROVIDER_KIND_GRPC: ProviderKind
PROVIDER_KIND_ATTACHED: ProviderKind
PROVIDER_KIND_MCP_HTTP: ProviderKind
PROVIDER_KIND_MCP_STDIO: ProviderKind
PROVIDER_KIND_BUILT_IN: ProviderKind
PROVIDER_STATE_UNSPECIFIED: ProviderState
PROVIDER_STATE_CONNECTING: ProviderState
PROVIDER_STATE_READY: ProviderState
PROVIDER_STATE_UNREACHABLE: ProviderState
PROVIDER_STATE_INVALID: ProviderState
PROVIDER_TRUST_UNSPECIFIED: ProviderTrust
PROVIDER_TRUST_DECLARED: ProviderTrust
PROVIDER_TRUST_FLOOR: ProviderTrust
PIN_MODE_UNSPECIFIED: PinMode
PIN_MODE_QUARANTINE: PinMode
PIN_MODE_FOLLOW: PinMode

class ProviderSpec(_message.Message):
    __slots__ = ("name", "grpc", "mcp_http", "mcp_stdio", "trust", "pins", "prefix")
    NAME_FIELD_NUMBER: _ClassVar[int]
    GRPC_FIELD_NUMBER: _ClassVar[int]
    MCP_HTTP_FIELD_NUMBER: _ClassVar[int]
    MCP_STDIO_FIELD_NUMBER: _ClassVar[int]
    TRUST_FIELD_NUMBER: _ClassVar[int]
    PINS_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    name: str
    grpc: GrpcConnection
    mcp_http: McpHttpConnection
    mcp_stdio: McpStdioConnection
    trust: ProviderTrust
    pins: PinMode
    prefix: str
    def __init__(self, name: _Optional[str] = ..., grpc: _Optional[_Union[GrpcConnection, _Mapping]] = ..., mcp_http: _Optional[_Union[McpHttpConnection, _Mapping]] = ..., mcp_stdio: _Optional[_Union[McpStdioConnection, _Mapping]] = ..., trust: _Optional[_Union[ProviderTrust, str]] = ..., pins: _Optional[_Union[PinMode, str]] = ..., prefix: _Optional[str] = ...) -> None: ...

class GrpcConnection(_message.Message):
    __slots__ = ("target", "credentials_name")
    TARGET_FIELD_NUMBER: _ClassVar[int]
    CREDENTIALS_NAME_FIELD_NUMBER: _ClassVar[int]
    target: str
    credentials_name: str
    def __init__(self, target: _Optional[str] = ..., credentials_name: _Optional[str] = ...) -> None: ...

class McpHttpConnection(_message.Message):
    __slots__ = ("url", "credentials_name")
    URL_FIELD_NUMBER: _ClassVar[int]
    CREDENTIALS_NAME_FIELD_NUMBER: _ClassVar[int]
    url: str
    credentials_name: str
    def __init__(self, url: _Optional[str] = ..., credentials_name: _Optional[str] = ...) -> None: ...

class McpStdioConnection(_message.Message):
    __slots__ = ("command", "environment", "working_directory")
    class EnvironmentEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    ENVIRONMENT_FIELD_NUMBER: _ClassVar[int]
    WORKING_DIRECTORY_FIELD_NUMBER: _ClassVar[int]
    command: _containers.RepeatedScalarFieldContainer[str]
    environment: _containers.ScalarMap[str, str]
    working_directory: str
    def __init__(self, command: _Optional[_Iterable[str]] = ..., environment: _Optional[_Mapping[str, str]] = ..., working_directory: _Optional[str] = ...) -> None: ...

class ProviderInfo(_message.Message):
    __slots__ = ("name", "kind", "state", "trust", "pins", "version", "tools", "changed_tools", "unconfirmed_tools", "last_error", "connected_since", "calls_in_flight", "configured", "warnings", "retry_after")
    NAME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    TRUST_FIELD_NUMBER: _ClassVar[int]
    PINS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    CHANGED_TOOLS_FIELD_NUMBER: _ClassVar[int]
    UNCONFIRMED_TOOLS_FIELD_NUMBER: _ClassVar[int]
    LAST_ERROR_FIELD_NUMBER: _ClassVar[int]
    CONNECTED_SINCE_FIELD_NUMBER: _ClassVar[int]
    CALLS_IN_FLIGHT_FIELD_NUMBER: _ClassVar[int]
    CONFIGURED_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_FIELD_NUMBER: _ClassVar[int]
    name: str
    kind: ProviderKind
    state: ProviderState
    trust: ProviderTrust
    pins: PinMode
    version: str
    tools: int
    changed_tools: int
    unconfirmed_tools: int
    last_error: str
    connected_since: _timestamp_pb2.Timestamp
    calls_in_flight: int
    configured: bool
    warnings: _containers.RepeatedScalarFieldContainer[str]
    retry_after: _duration_pb2.Duration
    def __init__(self, name: _Optional[str] = ..., kind: _Optional[_Union[ProviderKind, str]] = ..., state: _Optional[_Union[ProviderState, str]] = ..., trust: _Optional[_Union[ProviderTrust, str]] = ..., pins: _Optional[_Union[PinMode, str]] = ..., version: _Optional[str] = ..., tools: _Optional[int] = ..., changed_tools: _Optional[int] = ..., unconfirmed_tools: _Optional[int] = ..., last_error: _Optional[str] = ..., connected_since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., calls_in_flight: _Optional[int] = ..., configured: _Optional[bool] = ..., warnings: _Optional[_Iterable[str]] = ..., retry_after: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class ProviderTool(_message.Message):
    __slots__ = ("name", "declared", "declared_classification", "effective", "effective_classification", "pin_state", "pinned_hash", "current_hash", "differences", "confirmed_by", "confirmed_at")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DECLARED_FIELD_NUMBER: _ClassVar[int]
    DECLARED_CLASSIFICATION_FIELD_NUMBER: _ClassVar[int]
    EFFECTIVE_FIELD_NUMBER: _ClassVar[int]
    EFFECTIVE_CLASSIFICATION_FIELD_NUMBER: _ClassVar[int]
    PIN_STATE_FIELD_NUMBER: _ClassVar[int]
    PINNED_HASH_FIELD_NUMBER: _ClassVar[int]
    CURRENT_HASH_FIELD_NUMBER: _ClassVar[int]
    DIFFERENCES_FIELD_NUMBER: _ClassVar[int]
    CONFIRMED_BY_FIELD_NUMBER: _ClassVar[int]
    CONFIRMED_AT_FIELD_NUMBER: _ClassVar[int]
    name: str
    declared: _tool_pb2.ToolDefinition
    declared_classification: _decision_pb2.Classification
    effective: _tool_pb2.ToolDefinition
    effective_classification: _decision_pb2.Classification
    pin_state: _tool_pb2.PinState
    pinned_hash: str
    current_hash: str
    differences: _containers.RepeatedCompositeFieldContainer[ToolDifference]
    confirmed_by: str
    confirmed_at: _timestamp_pb2.Timestamp
    def __init__(self, name: _Optional[str] = ..., declared: _Optional[_Union[_tool_pb2.ToolDefinition, _Mapping]] = ..., declared_classification: _Optional[_Union[_decision_pb2.Classification, _Mapping]] = ..., effective: _Optional[_Union[_tool_pb2.ToolDefinition, _Mapping]] = ..., effective_classification: _Optional[_Union[_decision_pb2.Classification, _Mapping]] = ..., pin_state: _Optional[_Union[_tool_pb2.PinState, str]] = ..., pinned_hash: _Optional[str] = ..., current_hash: _Optional[str] = ..., differences: _Optional[_Iterable[_Union[ToolDifference, _Mapping]]] = ..., confirmed_by: _Optional[str] = ..., confirmed_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ToolDifference(_message.Message):
    __slots__ = ("field", "before", "after")
    FIELD_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    field: str
    before: bytes
    after: bytes
    def __init__(self, field: _Optional[str] = ..., before: _Optional[bytes] = ..., after: _Optional[bytes] = ...) -> None: ...

class ToolPin(_message.Message):
    __slots__ = ("tool", "hash")
    TOOL_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    tool: str
    hash: str
    def __init__(self, tool: _Optional[str] = ..., hash: _Optional[str] = ...) -> None: ...
