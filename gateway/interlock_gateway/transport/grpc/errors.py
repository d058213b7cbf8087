"""The one place where an error becomes a gRPC status (contract.md, Errors): a code, a sentence, an ErrorInfo reason."""

import logging

from google.protobuf.any_pb2 import Any
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status as StatusMessage
from interlock.v1.error_reason_pb2 import ErrorReason
from interlock.v1.request_error_pb2 import RequestError as RequestErrorMessage

from interlock_gateway.errors import (
    AuditUnavailableError,
    ConfigError,
    InterlockError,
    ProviderError,
    RequestError,
    RequestFault,
)
from interlock_gateway.http2.status import Status
from interlock_gateway.pipeline.ports import SessionEndedError, StateError, StateOverloadedError, StateUnavailableError

DOMAIN = "interlock.dev"
STATUS_KEY = "grpc-status-details-bin"
_log = logging.getLogger(__name__)

STATUS_OF: dict[RequestFault, tuple[Status, ErrorReason]] = {
    RequestFault.INVALID_FIELD: (Status.INVALID_ARGUMENT, ErrorReason.ERROR_REASON_INVALID_FIELD),
    RequestFault.INVALID_PATTERN: (Status.INVALID_ARGUMENT, ErrorReason.ERROR_REASON_INVALID_PATTERN),
    RequestFault.INVALID_PAGE_TOKEN: (Status.INVALID_ARGUMENT, ErrorReason.ERROR_REASON_INVALID_PAGE_TOKEN),
    RequestFault.UNAUTHENTICATED: (Status.UNAUTHENTICATED, ErrorReason.ERROR_REASON_UNAUTHENTICATED),
    RequestFault.ROLE_MISSING: (Status.PERMISSION_DENIED, ErrorReason.ERROR_REASON_ROLE_REQUIRED),
    RequestFault.NOT_YOUR_SESSION: (Status.PERMISSION_DENIED, ErrorReason.ERROR_REASON_NOT_YOUR_SESSION),
    RequestFault.OWN_CALL: (Status.PERMISSION_DENIED, ErrorReason.ERROR_REASON_OWN_CALL),
    RequestFault.APPROVER_GROUP_MISSING: (
        Status.PERMISSION_DENIED,
        ErrorReason.ERROR_REASON_APPROVER_GROUP_REQUIRED,
    ),
    RequestFault.ROOT_NOT_ALLOWED: (Status.PERMISSION_DENIED, ErrorReason.ERROR_REASON_WORKSPACE_ROOT_NOT_ALLOWED),
    RequestFault.SESSION_NOT_FOUND: (Status.NOT_FOUND, ErrorReason.ERROR_REASON_SESSION_NOT_FOUND),
    RequestFault.SESSION_CLOSED: (Status.FAILED_PRECONDITION, ErrorReason.ERROR_REASON_SESSION_CLOSED),
    RequestFault.SESSION_EXISTS: (Status.FAILED_PRECONDITION, ErrorReason.ERROR_REASON_SESSION_EXISTS),
    RequestFault.CALL_NOT_FOUND: (Status.NOT_FOUND, ErrorReason.ERROR_REASON_CALL_NOT_FOUND),
    RequestFault.CALL_ID_REUSED: (Status.INVALID_ARGUMENT, ErrorReason.ERROR_REASON_CALL_ID_REUSED),
    RequestFault.OPERATION_NOT_FOUND: (Status.NOT_FOUND, ErrorReason.ERROR_REASON_OPERATION_NOT_FOUND),
    RequestFault.CHECKPOINT_NOT_FOUND: (Status.NOT_FOUND, ErrorReason.ERROR_REASON_CHECKPOINT_NOT_FOUND),
    RequestFault.CHECKPOINT_NOT_OPEN: (Status.FAILED_PRECONDITION, ErrorReason.ERROR_REASON_CHECKPOINT_NOT_OPEN),
    RequestFault.ARTIFACT_NOT_FOUND: (Status.NOT_FOUND, ErrorReason.ERROR_REASON_ARTIFACT_NOT_FOUND),
    RequestFault.PROVIDER_NOT_FOUND: (Status.NOT_FOUND, ErrorReason.ERROR_REASON_PROVIDER_NOT_FOUND),
    RequestFault.TOOL_NOT_FOUND: (Status.NOT_FOUND, ErrorReason.ERROR_REASON_TOOL_NOT_FOUND),
    RequestFault.NAME_TAKEN: (Status.FAILED_PRECONDITION, ErrorReason.ERROR_REASON_NAME_TAKEN),
    RequestFault.ROLLBACK_IN_PROGRESS: (Status.FAILED_PRECONDITION, ErrorReason.ERROR_REASON_ROLLBACK_IN_PROGRESS),
    RequestFault.STALE_CONFIRMATION: (Status.FAILED_PRECONDITION, ErrorReason.ERROR_REASON_STALE_CONFIRMATION),
    RequestFault.NOT_ENABLED: (Status.FAILED_PRECONDITION, ErrorReason.ERROR_REASON_NOT_ENABLED),
    RequestFault.BATCH_STOPPED: (Status.ABORTED, ErrorReason.ERROR_REASON_BATCH_STOPPED),
    RequestFault.TOO_LARGE: (Status.RESOURCE_EXHAUSTED, ErrorReason.ERROR_REASON_TOO_LARGE),
    RequestFault.LIMIT_REACHED: (Status.RESOURCE_EXHAUSTED, ErrorReason.ERROR_REASON_LIMIT_REACHED),
    RequestFault.OVERLOADED: (Status.RESOURCE_EXHAUSTED, ErrorReason.ERROR_REASON_OVERLOADED),
    RequestFault.DRAINING: (Status.UNAVAILABLE, ErrorReason.ERROR_REASON_DRAINING),
    RequestFault.DEADLINE: (Status.DEADLINE_EXCEEDED, ErrorReason.ERROR_REASON_DEADLINE_EXCEEDED),
    RequestFault.CANCELLED: (Status.CANCELLED, ErrorReason.ERROR_REASON_CANCELLED),
    RequestFault.IDENTITY_UNAVAILABLE: (Status.UNAVAILABLE, ErrorReason.ERROR_REASON_IDENTITY_UNAVAILABLE),
    RequestFault.STATE_UNAVAILABLE: (Status.UNAVAILABLE, ErrorReason.ERROR_REASON_STATE_UNAVAILABLE),
    RequestFault.AUDIT_UNAVAILABLE: (Status.UNAVAILABLE, ErrorReason.ERROR_REASON_AUDIT_UNAVAILABLE),
    RequestFault.ARTIFACTS_UNAVAILABLE: (Status.UNAVAILABLE, ErrorReason.ERROR_REASON_ARTIFACTS_UNAVAILABLE),
    RequestFault.PROVIDER_UNAVAILABLE: (Status.UNAVAILABLE, ErrorReason.ERROR_REASON_PROVIDER_UNAVAILABLE),
    RequestFault.INTERNAL: (Status.INTERNAL, ErrorReason.ERROR_REASON_INTERNAL),
}
_RETRY_S = {
    RequestFault.OVERLOADED: 1,
    RequestFault.LIMIT_REACHED: 1,
    RequestFault.DRAINING: 1,
    RequestFault.IDENTITY_UNAVAILABLE: 5,
    RequestFault.STATE_UNAVAILABLE: 1,
}


# What any room may raise, the particular before the general.
FAULT_OF: tuple[tuple[type[InterlockError], RequestFault], ...] = (
    (StateOverloadedError, RequestFault.OVERLOADED),
    (StateUnavailableError, RequestFault.STATE_UNAVAILABLE),
    (SessionEndedError, RequestFault.SESSION_CLOSED),
    (StateError, RequestFault.INTERNAL),
    (AuditUnavailableError, RequestFault.AUDIT_UNAVAILABLE),
    (ProviderError, RequestFault.PROVIDER_UNAVAILABLE),
    (ConfigError, RequestFault.INTERNAL),
)


def as_request_error(error: BaseException) -> RequestError:
    """Any failure as a `RequestError`; what nobody foresaw is logged and says nothing of itself to the client."""
    if isinstance(error, RequestError):
        return error
    if isinstance(error, InterlockError):
        fault = next((fault for kind, fault in FAULT_OF if isinstance(error, kind)), RequestFault.INTERNAL)
        return RequestError(fault, error.message)
    _log.error("a request failed", exc_info=error)
    return RequestError(RequestFault.INTERNAL, "the gateway failed on this request; its log says why")


def status_details(error: RequestError) -> tuple[Status, str, bytes]:
    """The gRPC code, the sentence, and the encoded `google.rpc.Status` with its ErrorInfo."""
    code, reason = STATUS_OF[error.fault]
    info = ErrorInfo(reason=ErrorReason.Name(reason).removeprefix("ERROR_REASON_"), domain=DOMAIN)
    info.metadata.update(error.metadata)
    status = StatusMessage(code=code, message=error.message)
    status.details.append(_packed(info))
    retry_s = _RETRY_S.get(error.fault) if error.retry_s is None else error.retry_s
    if retry_s is not None:
        delay = Duration()
        delay.FromNanoseconds(int(retry_s * 1e9))
        status.details.append(_packed(RetryInfo(retry_delay=delay)))
    return code, error.message, status.SerializeToString()


def inside_a_stream(error: BaseException) -> RequestErrorMessage:
    """The same, for the one call of many that it is about: the stream goes on."""
    failed = as_request_error(error)
    code, reason = STATUS_OF[failed.fault]
    return RequestErrorMessage(code=code, message=failed.message, reason=reason, metadata=failed.metadata)


def _packed(message: ErrorInfo | RetryInfo) -> Any:
    packed = Any()
    packed.Pack(message)
    return packed
