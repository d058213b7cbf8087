"""The one place where an error becomes a sentence and an exit code."""

from dataclasses import dataclass

import grpc
from interlock import errors as sdk

from interlock_gateway.cli.exit_codes import ExitCode
from interlock_gateway.errors import ConfigError, InterlockError
from interlock_gateway.policy.engine import PolicyUnavailableError
from interlock_gateway.policy.inspection import InspectionError
from interlock_gateway.policy.replay.crew import ReplayError
from interlock_gateway.policy.settings import PolicySourceError

NOT_SERVED = "the gateway does not serve this here; agents and operators reach it at different addresses"


@dataclass(frozen=True, slots=True)
class Failure:
    """How a command ends that could not do what it was asked."""

    code: ExitCode
    message: str


class CommandError(InterlockError):
    """A command cannot do what it was asked, for a reason that only the command knows."""

    def __init__(self, message: str, code: ExitCode = ExitCode.REFUSED) -> None:
        super().__init__(message)
        self.code = code


def explain(error: BaseException) -> Failure | None:
    """How `error` ends a command; `None` for a fault of ours, which deserves its traceback."""
    if isinstance(error, InterlockError | PolicySourceError | PolicyUnavailableError | InspectionError | ReplayError):
        return Failure(_code(error), str(error))
    if isinstance(error, sdk.RequestError):
        return _request(error)
    if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
        about = f"{error.filename}: " if error.filename else ""
        return Failure(ExitCode.REFUSED, f"{about}{error.strerror or error}")
    return None


def _code(error: Exception) -> ExitCode:
    if isinstance(error, CommandError):
        return error.code
    return ExitCode.USAGE if isinstance(error, ConfigError) else ExitCode.REFUSED


def _request(error: sdk.RequestError) -> Failure:
    words = error.message or "the request failed"
    if isinstance(error, sdk.GatewayUnavailableError):
        return Failure(ExitCode.UNREACHABLE, f"the gateway cannot be reached or cannot work now: {words}")
    if isinstance(error, sdk.DeadlineExceededError) and error.call_id:
        return Failure(ExitCode.UNKNOWN, f"there was no answer in time, and call {error.call_id} may have run: {words}")
    if isinstance(error, sdk.DeadlineExceededError):
        return Failure(ExitCode.UNREACHABLE, f"there was no answer in time: {words}")
    if isinstance(error, sdk.InvalidRequestError):
        return Failure(ExitCode.USAGE, words)
    return Failure(ExitCode.REFUSED, _refusal(error.code, words))


def _refusal(code: grpc.StatusCode, words: str) -> str:
    if code is grpc.StatusCode.UNIMPLEMENTED:
        return NOT_SERVED
    if code is grpc.StatusCode.UNAUTHENTICATED:
        return f"{words} (INTERLOCK_TOKEN holds the token that commands send)"
    return words
