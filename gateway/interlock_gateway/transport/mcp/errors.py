"""How a refused request leaves over MCP: a JSON-RPC error with a code, a sentence and `data.reason`."""

from typing import Any

from interlock.v1.error_reason_pb2 import ErrorReason
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.transport.grpc.errors import STATUS_OF

REFUSED = -32003
"""Implementation-defined: the request was understood, and is refused; `data.reason` says why."""
COME_AGAIN = -32004
"""Implementation-defined: not now; `data.retry_after_s` says when to ask again, if that is known."""
RESOURCE_NOT_FOUND = -32002
"""What the revisions with a handshake say of a resource that is not there."""

_INVALID = frozenset({RequestFault.INVALID_FIELD, RequestFault.INVALID_PATTERN, RequestFault.INVALID_PAGE_TOKEN})
_LATER = frozenset(
    {
        RequestFault.OVERLOADED,
        RequestFault.LIMIT_REACHED,
        RequestFault.DRAINING,
        RequestFault.IDENTITY_UNAVAILABLE,
        RequestFault.STATE_UNAVAILABLE,
        RequestFault.AUDIT_UNAVAILABLE,
        RequestFault.ARTIFACTS_UNAVAILABLE,
        RequestFault.PROVIDER_UNAVAILABLE,
    }
)


def as_mcp_error(error: RequestError, version: str = "") -> MCPError:
    """`error` as a client of MCP sees it, at that revision. It says nothing of the host."""
    reason = ErrorReason.Name(STATUS_OF[error.fault][1]).removeprefix("ERROR_REASON_")
    data: dict[str, Any] = {"reason": reason, **error.metadata}
    if error.retry_s is not None:
        data["retry_after_s"] = round(error.retry_s, 3)
    return MCPError(code_of(error.fault, version), error.message, data)


def code_of(fault: RequestFault, version: str = "") -> int:
    """The JSON-RPC code of `fault`, at that revision."""
    if fault is RequestFault.ARTIFACT_NOT_FOUND:
        return RESOURCE_NOT_FOUND if version in HANDSHAKE_PROTOCOL_VERSIONS else INVALID_PARAMS
    if fault in _INVALID:
        return INVALID_PARAMS
    if fault is RequestFault.INTERNAL:
        return INTERNAL_ERROR
    return COME_AGAIN if fault in _LATER else REFUSED
