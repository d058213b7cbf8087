"""Everything this SDK raises.

    InterlockError
    ├── CallNotRunError                 the call has a result, and nothing ran
    │   ├── DeniedError                 policy, or the gateway itself, refused it
    │   ├── PreviewPendingError         it was previewed; `session.resolve` applies or discards it
    │   ├── CheckpointRequiredError     a person decides; `session.wait_call` picks the outcome up
    │   └── ReflectionRequiredError     repeat it with a `Deliverable`
    ├── CallFailedError                 the tool could not be run, or broke
    ├── OutcomeUnknownError             it is not certain whether the tool ran; do not repeat it by yourself
    └── RequestError                    the gateway refused or never answered the request: no result at all
        ├── InvalidRequestError         INVALID_ARGUMENT
        ├── NotAuthorizedError          UNAUTHENTICATED, PERMISSION_DENIED
        ├── NotFoundError               NOT_FOUND
        ├── LimitExceededError          RESOURCE_EXHAUSTED; `retry_after` says when to come back
        ├── DeadlineExceededError       DEADLINE_EXCEEDED; with a call, `call_id` finds what became of it
        └── GatewayUnavailableError     UNAVAILABLE

The first four are raised by `CallResult.raise_for_status` alone: what a model can act on is a result, not an error.
A `RequestError` of another code is raised as such. `reason` is a value of `ErrorReason` without its prefix, such as
`INVALID_FIELD`, and empty when the gateway gave none.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import grpc

if TYPE_CHECKING:
    from interlock.results import CallResult

__all__ = [
    "CallFailedError",
    "CallNotRunError",
    "CheckpointRequiredError",
    "DeadlineExceededError",
    "DeniedError",
    "GatewayUnavailableError",
    "InterlockError",
    "InvalidRequestError",
    "LimitExceededError",
    "NotAuthorizedError",
    "NotFoundError",
    "OutcomeUnknownError",
    "PreviewPendingError",
    "ReflectionRequiredError",
    "RequestError",
]


class InterlockError(Exception):
    """Whatever goes wrong in this SDK."""


class _ResultError(InterlockError):
    def __init__(self, result: "CallResult") -> None:
        super().__init__(result.for_model or f"the call ended with status {result.status}")
        self.result = result


class CallNotRunError(_ResultError):
    """The call did not run; `result` says why, in words a model can act on."""


class DeniedError(CallNotRunError):
    """The call was refused."""


class PreviewPendingError(CallNotRunError):
    """The call was previewed, and waits to be resolved."""


class CheckpointRequiredError(CallNotRunError):
    """A person has to decide first."""


class ReflectionRequiredError(CallNotRunError):
    """The agent has to challenge its own call first; `result.reflection` is the form."""


class CallFailedError(_ResultError):
    """The tool could not be run, or broke."""


class OutcomeUnknownError(_ResultError):
    """It is not certain whether the tool ran."""


class RequestError(InterlockError):
    """The gateway refused the request, or never answered it."""

    def __init__(
        self,
        message: str,
        *,
        code: grpc.StatusCode = grpc.StatusCode.UNKNOWN,
        reason: str = "",
        metadata: Mapping[str, str] | None = None,
        retry_after: float | None = None,
        call_id: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.reason = reason
        self.metadata = dict(metadata or {})
        self.retry_after = retry_after
        self.call_id = call_id

    def __str__(self) -> str:
        words = f"{self.message or 'the request failed'} [{self.code.name}"
        return f"{words}, {self.reason}]" if self.reason else f"{words}]"


class InvalidRequestError(RequestError):
    """The request is malformed; `metadata["field"]` names the field."""


class NotAuthorizedError(RequestError):
    """The credentials are missing, not valid, or not enough."""


class NotFoundError(RequestError):
    """There is no such session, call, artifact or other thing."""


class LimitExceededError(RequestError):
    """A limit is used up, or the gateway is overloaded; nothing was begun."""


class DeadlineExceededError(RequestError):
    """There was no answer in time. A call may still have run: `session.get_call(error.call_id)` tells."""


class GatewayUnavailableError(RequestError):
    """The gateway cannot be reached, or cannot work now."""


_BY_CODE: Mapping[grpc.StatusCode, type[RequestError]] = {
    grpc.StatusCode.INVALID_ARGUMENT: InvalidRequestError,
    grpc.StatusCode.UNAUTHENTICATED: NotAuthorizedError,
    grpc.StatusCode.PERMISSION_DENIED: NotAuthorizedError,
    grpc.StatusCode.NOT_FOUND: NotFoundError,
    grpc.StatusCode.RESOURCE_EXHAUSTED: LimitExceededError,
    grpc.StatusCode.DEADLINE_EXCEEDED: DeadlineExceededError,
    grpc.StatusCode.UNAVAILABLE: GatewayUnavailableError,
}

_BY_STATUS: Mapping[str, type[_ResultError]] = {
    "denied": DeniedError,
    "preview": PreviewPendingError,
    "awaiting_checkpoint": CheckpointRequiredError,
    "reflection_required": ReflectionRequiredError,
    "failed": CallFailedError,
}


def error_class(code: grpc.StatusCode) -> type[RequestError]:
    """The error of a gRPC status code."""
    return _BY_CODE.get(code, RequestError)


def error_for(result: "CallResult") -> InterlockError:
    """The error of a result that is not completed; a status nobody knows is an unknown outcome."""
    return _BY_STATUS.get(result.status, OutcomeUnknownError)(result)
