"""The tree of exceptions: complete, drawn, and the one way out."""

import inspect

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2
from interlock import errors
from interlock._flow import Failure, error_from
from interlock._status import ErrorDetail, read_details, write_details
from interlock.errors import InterlockError, RequestError
from interlock.results import CallResult, CallStatus, Content, ContentKind
from interlock.v1 import error_reason_pb2

NOT_COMPLETED = [status for status in CallStatus if status is not CallStatus.COMPLETED]


@pytest.mark.req("SDK-1")
def test_every_exception_is_in_one_tree_that_the_module_draws() -> None:
    kinds = [getattr(errors, name) for name in errors.__all__]
    assert all(issubclass(kind, InterlockError) for kind in kinds)
    drawing = (inspect.getdoc(errors) or "").splitlines()
    for kind in kinds:
        line = next(line for line in drawing if f" {kind.__name__} " in f"{line} ")
        depth = line.index(kind.__name__) // 4
        parents = [one for one in kind.__mro__ if one.__name__ in errors.__all__]
        assert depth == len(parents), kind


@pytest.mark.req("SDK-1")
@pytest.mark.parametrize("code", [code for code in grpc.StatusCode if code is not grpc.StatusCode.OK])
def test_every_grpc_code_becomes_a_request_error_that_keeps_it(code: grpc.StatusCode) -> None:
    raw = write_details(code.value[0], "no", ErrorDetail(reason="INVALID_FIELD", metadata={"field": "x"}))
    error = error_from(Failure(code, "no", raw, 0.0))
    assert isinstance(error, RequestError)
    assert (error.code, error.reason, error.metadata, error.message) == (code, "INVALID_FIELD", {"field": "x"}, "no")
    assert str(error) == f"no [{code.name}, INVALID_FIELD]"


@pytest.mark.req("SDK-1")
@pytest.mark.parametrize("status", NOT_COMPLETED)
def test_every_status_but_completed_raises_an_error_that_holds_the_result(status: CallStatus) -> None:
    result = CallResult(call_id="c", status=status, content=(Content(kind=ContentKind.TEXT, text="no"),))
    with pytest.raises(InterlockError, match="no") as caught:
        result.raise_for_status()
    assert vars(caught.value)["result"] is result
    assert not result.completed
    assert not result.ok


@pytest.mark.req("SDK-1")
def test_a_status_nobody_knows_is_an_unknown_outcome() -> None:
    with pytest.raises(errors.OutcomeUnknownError):
        CallResult(status=CallStatus.UNKNOWN).raise_for_status()


@pytest.mark.req("SDK-1")
def test_a_completed_call_passes_through_even_when_its_tool_answers_with_an_error() -> None:
    result = CallResult(status=CallStatus.COMPLETED, is_error=True)
    assert result.raise_for_status() is result
    assert not result.ok


@pytest.mark.req("SDK-1")
def test_details_are_read_as_the_real_google_messages_write_them() -> None:
    status = status_pb2.Status(code=8, message="later")
    info = error_details_pb2.ErrorInfo(reason="OVERLOADED", domain="interlock.dev", metadata={"queue": "calls"})
    retry = error_details_pb2.RetryInfo()
    retry.retry_delay.FromMilliseconds(1500)
    for one in (info, retry, error_details_pb2.Help()):
        status.details.add().Pack(one)
    expected = ErrorDetail(reason="OVERLOADED", metadata={"queue": "calls"}, retry_after=1.5)
    assert read_details(status.SerializeToString()) == expected


@pytest.mark.req("SDK-1")
def test_details_are_written_as_the_real_google_messages_read_them() -> None:
    raw = write_details(5, "gone", ErrorDetail(reason="CALL_NOT_FOUND", metadata={"call_id": "c"}, retry_after=0.25))
    status = status_pb2.Status.FromString(raw)
    info, retry = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
    assert status.details[0].Unpack(info)
    assert status.details[1].Unpack(retry)
    assert (info.reason, info.domain, dict(info.metadata)) == ("CALL_NOT_FOUND", "interlock.dev", {"call_id": "c"})
    assert retry.retry_delay.ToMilliseconds() == 250


@pytest.mark.parametrize("raw", [b"", b"\xff\xff", b"\x1a\x02\x08"])
def test_details_that_cannot_be_read_say_nothing(raw: bytes) -> None:
    assert read_details(raw) == ErrorDetail()


def test_the_reasons_of_the_contract_can_be_told_apart_by_name() -> None:
    names = [name.removeprefix("ERROR_REASON_") for name, _ in error_reason_pb2.ErrorReason.items()]
    assert len(set(names)) == len(names)
