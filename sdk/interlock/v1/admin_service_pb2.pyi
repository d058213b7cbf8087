from interlock.v1 import gateway_status_pb2 as _gateway_status_pb2
from interlock.v1 import policy_pb2 as _policy_pb2
from interlock.v1 import receipt_pb2 as _receipt_pb2
from interlock.v1 import registry_pb2 as _registry_pb2
from interlock.v1 import session_pb2 as _session_pb2
from interlock.v1 import session_report_pb2 as _session_report_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetStatusRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetStatusResponse(_message.Message):
    __slots__ = ("status",)
    STATUS_FIELD_NUMBER: _ClassVar[int]
    status: _gateway_status_pb2.GatewayStatus
    def __init__(self, status: _Optional[_Union[_gateway_status_pb2.GatewayStatus, _Mapping]] = ...) -> None: ...

class GetPolicyStatusRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetPolicyStatusResponse(_message.Message):
    __slots__ = ("policy",)
    POLICY_FIELD_NUMBER: _ClassVar[int]
    policy: _policy_pb2.PolicyStatus
    def __init__(self, policy: _Optional[_Union[_policy_pb2.PolicyStatus, _Mapping]] = ...) -> None: ...

class ReloadPolicyRequest(_message.Message):
    __slots__ = ("check_only", "allow_older")
    CHECK_ONLY_FIELD_NUMBER: _ClassVar[int]
    ALLOW_OLDER_FIELD_NUMBER: _ClassVar[int]
    check_only: bool
    allow_older: bool
    def __init__(self, check_only: _Optional[bool] = ..., allow_older: _Optional[bool] = ...) -> None: ...

class ReloadPolicyResponse(_message.Message):
    __slots__ = ("reload", "policy")
    RELOAD_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    reload: _policy_pb2.PolicyReload
    policy: _policy_pb2.PolicyStatus
    def __init__(self, reload: _Optional[_Union[_policy_pb2.PolicyReload, _Mapping]] = ..., policy: _Optional[_Union[_policy_pb2.PolicyStatus, _Mapping]] = ...) -> None: ...

class SetShadowPolicyRequest(_message.Message):
    __slots__ = ("source",)
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    source: str
    def __init__(self, source: _Optional[str] = ...) -> None: ...

class SetShadowPolicyResponse(_message.Message):
    __slots__ = ("reload", "policy")
    RELOAD_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    reload: _policy_pb2.PolicyReload
    policy: _policy_pb2.PolicyStatus
    def __init__(self, reload: _Optional[_Union[_policy_pb2.PolicyReload, _Mapping]] = ..., policy: _Optional[_Union[_policy_pb2.PolicyStatus, _Mapping]] = ...) -> None: ...

class ListShadowDifferencesRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListShadowDifferencesResponse(_message.Message):
    __slots__ = ("differences", "next_page_token")
    DIFFERENCES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    differences: _containers.RepeatedCompositeFieldContainer[_policy_pb2.ShadowDifference]
    next_page_token: str
    def __init__(self, differences: _Optional[_Iterable[_Union[_policy_pb2.ShadowDifference, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ListProvidersRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListProvidersResponse(_message.Message):
    __slots__ = ("providers", "next_page_token")
    PROVIDERS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    providers: _containers.RepeatedCompositeFieldContainer[_registry_pb2.ProviderInfo]
    next_page_token: str
    def __init__(self, providers: _Optional[_Iterable[_Union[_registry_pb2.ProviderInfo, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class RegisterProviderRequest(_message.Message):
    __slots__ = ("spec",)
    SPEC_FIELD_NUMBER: _ClassVar[int]
    spec: _registry_pb2.ProviderSpec
    def __init__(self, spec: _Optional[_Union[_registry_pb2.ProviderSpec, _Mapping]] = ...) -> None: ...

class RegisterProviderResponse(_message.Message):
    __slots__ = ("provider",)
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    provider: _registry_pb2.ProviderInfo
    def __init__(self, provider: _Optional[_Union[_registry_pb2.ProviderInfo, _Mapping]] = ...) -> None: ...

class UnregisterProviderRequest(_message.Message):
    __slots__ = ("provider",)
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    provider: str
    def __init__(self, provider: _Optional[str] = ...) -> None: ...

class UnregisterProviderResponse(_message.Message):
    __slots__ = ("removed_tools",)
    REMOVED_TOOLS_FIELD_NUMBER: _ClassVar[int]
    removed_tools: int
    def __init__(self, removed_tools: _Optional[int] = ...) -> None: ...

class ListProviderToolsRequest(_message.Message):
    __slots__ = ("provider", "page_size", "page_token")
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    provider: str
    page_size: int
    page_token: str
    def __init__(self, provider: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListProviderToolsResponse(_message.Message):
    __slots__ = ("tools", "next_page_token")
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    tools: _containers.RepeatedCompositeFieldContainer[_registry_pb2.ProviderTool]
    next_page_token: str
    def __init__(self, tools: _Optional[_Iterable[_Union[_registry_pb2.ProviderTool, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ConfirmProviderToolsRequest(_message.Message):
    __slots__ = ("provider", "pins", "reason")
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    PINS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    provider: str
    pins: _containers.RepeatedCompositeFieldContainer[_registry_pb2.ToolPin]
    reason: str
    def __init__(self, provider: _Optional[str] = ..., pins: _Optional[_Iterable[_Union[_registry_pb2.ToolPin, _Mapping]]] = ..., reason: _Optional[str] = ...) -> None: ...

class ConfirmProviderToolsResponse(_message.Message):
    __slots__ = ("tools",)
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    tools: _containers.RepeatedCompositeFieldContainer[_registry_pb2.ProviderTool]
    def __init__(self, tools: _Optional[_Iterable[_Union[_registry_pb2.ProviderTool, _Mapping]]] = ...) -> None: ...

class ApproveToolChangeRequest(_message.Message):
    __slots__ = ("provider", "pin", "reason")
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    PIN_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    provider: str
    pin: _registry_pb2.ToolPin
    reason: str
    def __init__(self, provider: _Optional[str] = ..., pin: _Optional[_Union[_registry_pb2.ToolPin, _Mapping]] = ..., reason: _Optional[str] = ...) -> None: ...

class ApproveToolChangeResponse(_message.Message):
    __slots__ = ("tool",)
    TOOL_FIELD_NUMBER: _ClassVar[int]
    tool: _registry_pb2.ProviderTool
    def __init__(self, tool: _Optional[_Union[_registry_pb2.ProviderTool, _Mapping]] = ...) -> None: ...

class ListSessionsRequest(_message.Message):
    __slots__ = ("principal_id", "states", "labels", "page_size", "page_token")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    PRINCIPAL_ID_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    principal_id: str
    states: _containers.RepeatedScalarFieldContainer[_session_pb2.SessionState]
    labels: _containers.ScalarMap[str, str]
    page_size: int
    page_token: str
    def __init__(self, principal_id: _Optional[str] = ..., states: _Optional[_Iterable[_Union[_session_pb2.SessionState, str]]] = ..., labels: _Optional[_Mapping[str, str]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListSessionsResponse(_message.Message):
    __slots__ = ("sessions", "next_page_token")
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    sessions: _containers.RepeatedCompositeFieldContainer[_session_pb2.Session]
    next_page_token: str
    def __init__(self, sessions: _Optional[_Iterable[_Union[_session_pb2.Session, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class GetSessionReportRequest(_message.Message):
    __slots__ = ("session_id",)
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    def __init__(self, session_id: _Optional[str] = ...) -> None: ...

class GetSessionReportResponse(_message.Message):
    __slots__ = ("report",)
    REPORT_FIELD_NUMBER: _ClassVar[int]
    report: _session_report_pb2.SessionReport
    def __init__(self, report: _Optional[_Union[_session_report_pb2.SessionReport, _Mapping]] = ...) -> None: ...

class QueryReceiptsRequest(_message.Message):
    __slots__ = ("filter", "max_receipts", "newest_first", "follow")
    FILTER_FIELD_NUMBER: _ClassVar[int]
    MAX_RECEIPTS_FIELD_NUMBER: _ClassVar[int]
    NEWEST_FIRST_FIELD_NUMBER: _ClassVar[int]
    FOLLOW_FIELD_NUMBER: _ClassVar[int]
    filter: _receipt_pb2.ReceiptFilter
    max_receipts: int
    newest_first: bool
    follow: bool
    def __init__(self, filter: _Optional[_Union[_receipt_pb2.ReceiptFilter, _Mapping]] = ..., max_receipts: _Optional[int] = ..., newest_first: _Optional[bool] = ..., follow: _Optional[bool] = ...) -> None: ...

class QueryReceiptsResponse(_message.Message):
    __slots__ = ("receipt",)
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    receipt: _receipt_pb2.Receipt
    def __init__(self, receipt: _Optional[_Union[_receipt_pb2.Receipt, _Mapping]] = ...) -> None: ...

class ExportReceiptsRequest(_message.Message):
    __slots__ = ("filter",)
    FILTER_FIELD_NUMBER: _ClassVar[int]
    filter: _receipt_pb2.ReceiptFilter
    def __init__(self, filter: _Optional[_Union[_receipt_pb2.ReceiptFilter, _Mapping]] = ...) -> None: ...

class ExportReceiptsResponse(_message.Message):
    __slots__ = ("file_name", "data", "end_of_file")
    FILE_NAME_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    END_OF_FILE_FIELD_NUMBER: _ClassVar[int]
    file_name: str
    data: bytes
    end_of_file: bool
    def __init__(self, file_name: _Optional[str] = ..., data: _Optional[bytes] = ..., end_of_file: _Optional[bool] = ...) -> None: ...
