"""Each error has one sentence and one exit code, and a fault of ours keeps its traceback."""

import errno

import grpc
import pytest
from interlock import errors as sdk
from interlock_gateway.audit.errors import AuditDamagedError
from interlock_gateway.cli.exit_codes import ExitCode
from interlock_gateway.cli.failures import CommandError, explain
from interlock_gateway.config_loader import InvalidConfigError, Problem
from interlock_gateway.policy.engine import PolicyUnavailableError
from interlock_gateway.policy.inspection import InspectionError
from interlock_gateway.policy.settings import PolicySourceError


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (CommandError("no"), ExitCode.REFUSED, "no"),
        (CommandError("no", ExitCode.USAGE), ExitCode.USAGE, "no"),
        (InvalidConfigError([Problem("c.yaml:1", "bad")]), ExitCode.USAGE, "c.yaml:1: bad"),
        (AuditDamagedError("line 3"), ExitCode.REFUSED, "line 3"),
        (PolicySourceError("data.yaml:3", "unknown setting x"), ExitCode.REFUSED, "data.yaml:3: unknown setting x"),
        (PolicyUnavailableError("no worker"), ExitCode.REFUSED, "no worker"),
        (InspectionError("too long"), ExitCode.REFUSED, "too long"),
        (sdk.GatewayUnavailableError("draining"), ExitCode.UNREACHABLE, "or cannot work now: draining"),
        (sdk.DeadlineExceededError("late"), ExitCode.UNREACHABLE, "there was no answer in time: late"),
        (sdk.DeadlineExceededError("late", call_id="c-1"), ExitCode.UNKNOWN, "and call c-1 may have run"),
        (sdk.InvalidRequestError("tool: empty"), ExitCode.USAGE, "tool: empty"),
        (sdk.NotAuthorizedError("the token is not known"), ExitCode.REFUSED, "the token is not known"),
        (sdk.NotAuthorizedError("send a token", code=grpc.StatusCode.UNAUTHENTICATED), ExitCode.REFUSED,
         "send a token (INTERLOCK_TOKEN holds"),
        (sdk.RequestError("Method not found!", code=grpc.StatusCode.UNIMPLEMENTED), ExitCode.REFUSED,
         "agents and operators reach it at different addresses"),
        (sdk.NotFoundError("there is no session s"), ExitCode.REFUSED, "there is no session s"),
        (sdk.LimitExceededError("overloaded"), ExitCode.REFUSED, "overloaded"),
        (sdk.RequestError("", code=grpc.StatusCode.INTERNAL), ExitCode.REFUSED, "the request failed"),
        (OSError(errno.ENOENT, "No such file or directory", "/a"), ExitCode.REFUSED, "/a: No such file or directory"),
    ],
)  # fmt: skip
def test_an_error_has_its_sentence_and_its_code(error: Exception, code: ExitCode, said: str) -> None:
    failure = explain(error)
    assert failure is not None
    assert failure.code is code
    assert said in failure.message


@pytest.mark.parametrize("error", [ValueError("x"), KeyError("x"), BrokenPipeError()])
def test_a_fault_of_ours_and_a_reader_that_left_are_not_explained(error: Exception) -> None:
    assert explain(error) is None


def test_every_error_of_the_sdk_that_a_request_can_end_in_is_explained() -> None:
    kinds = [getattr(sdk, name) for name in sdk.__all__]
    requests = [kind for kind in kinds if issubclass(kind, sdk.RequestError)]
    assert len(requests) > 5
    assert [kind for kind in requests if explain(kind("words")) is None] == []
