"""The gateway's errors, one tree.

    InterlockError
    ├── RequestError           the client's programmer must act: becomes a gRPC error with an ErrorInfo reason
    ├── ConfigError            the operator must act: printed by the command line, exit code 2
    ├── StateError             durable state (state/)
    ├── AuditUnavailableError  receipts cannot be written (audit/)
    └── ProviderError          a tool's process (providers/)
        ├── ProviderDownError      nothing was sent
        ├── ProviderFailedError    the provider says it failed; nothing more is known about the effect than it says
        └── OutcomeUnknownError    it was sent, and what happened is not known

What a model can act on is never an exception that leaves the core: it is a `CallResult` (contract.md, Errors).
"""

from collections.abc import Mapping
from enum import StrEnum


class InterlockError(Exception):
    """Root of everything the gateway raises on purpose. `message` is safe to show: no host path, no stack."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class RequestFault(StrEnum):
    """Why a request cannot be served; each maps to one gRPC code and one `ErrorReason` of the protos."""

    INVALID_FIELD = "invalid_field"
    INVALID_PATTERN = "invalid_pattern"
    INVALID_PAGE_TOKEN = "invalid_page_token"  # noqa: S105 - the name of a fault
    UNAUTHENTICATED = "unauthenticated"
    ROLE_MISSING = "role_missing"
    NOT_YOUR_SESSION = "not_your_session"
    OWN_CALL = "own_call"
    APPROVER_GROUP_MISSING = "approver_group_missing"
    ROOT_NOT_ALLOWED = "root_not_allowed"
    SESSION_NOT_FOUND = "session_not_found"
    SESSION_CLOSED = "session_closed"
    SESSION_EXISTS = "session_exists"
    CALL_NOT_FOUND = "call_not_found"
    CALL_ID_REUSED = "call_id_reused"
    OPERATION_NOT_FOUND = "operation_not_found"
    CHECKPOINT_NOT_FOUND = "checkpoint_not_found"
    CHECKPOINT_NOT_OPEN = "checkpoint_not_open"
    ARTIFACT_NOT_FOUND = "artifact_not_found"
    PROVIDER_NOT_FOUND = "provider_not_found"
    TOOL_NOT_FOUND = "tool_not_found"
    NAME_TAKEN = "name_taken"
    ROLLBACK_IN_PROGRESS = "rollback_in_progress"
    STALE_CONFIRMATION = "stale_confirmation"
    NOT_ENABLED = "not_enabled"
    BATCH_STOPPED = "batch_stopped"
    TOO_LARGE = "too_large"
    LIMIT_REACHED = "limit_reached"
    OVERLOADED = "overloaded"
    DRAINING = "draining"
    DEADLINE = "deadline"
    CANCELLED = "cancelled"
    IDENTITY_UNAVAILABLE = "identity_unavailable"
    STATE_UNAVAILABLE = "state_unavailable"
    AUDIT_UNAVAILABLE = "audit_unavailable"
    ARTIFACTS_UNAVAILABLE = "artifacts_unavailable"
    PROVIDER_UNAVAILABLE = "provider_unavailable"
    INTERNAL = "internal"


class RequestError(InterlockError):
    """A request that is malformed, not permitted, or cannot be served now.

    `field` names the offending field; `metadata` is more of what the ErrorInfo of its reason holds.
    """

    def __init__(
        self,
        fault: RequestFault,
        message: str,
        *,
        field: str = "",
        metadata: Mapping[str, str] | None = None,
        retry_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.fault = fault
        self.field = field
        self.retry_s = retry_s
        self.metadata = {"field": field, **(metadata or {})} if field else dict(metadata or {})


class ConfigError(InterlockError):
    """The configuration cannot be used."""


class AuditUnavailableError(InterlockError):
    """Receipts cannot be written now: disk full, I/O error, or more are waiting than the buffer holds."""


class ProviderError(InterlockError):
    """A tool's process could not do what was asked. `status` is the name of the gRPC code, when there was one."""

    def __init__(self, message: str, *, status: str = "") -> None:
        super().__init__(message)
        self.status = status


class ProviderDownError(ProviderError):
    """The provider cannot be reached; nothing was sent to it."""


class ProviderFailedError(ProviderError):
    """The provider answered with a failure."""


class OutcomeUnknownError(ProviderError):
    """The request was sent and no answer came: whether it took effect is not known."""
