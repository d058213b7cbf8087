"""What a client decides, with no I/O at all: deadlines, retries, ids."""

from collections.abc import Generator
from typing import Any

import grpc
import pytest
from interlock import _call_flows as call_flows
from interlock import _session_flows as session_flows
from interlock._encode import SessionCore
from interlock._flow import CALL_ATTEMPTS, FIRST_PAUSE, Answer, Ask, Emit, End, Failure, Next, Open, Rest
from interlock._status import ErrorDetail, write_details
from interlock.calls import Call, Deliverable
from interlock.errors import (
    DeadlineExceededError,
    GatewayUnavailableError,
    InvalidRequestError,
    LimitExceededError,
    RequestError,
)
from interlock.results import CallResult, CallStatus
from interlock.v1 import call_pb2, deliverable_pb2
from interlock.v1 import gateway_service_pb2 as rpc

SESSION = SessionCore("s-1", 60.0)
DONE = rpc.CallToolResponse(result=call_pb2.CallResult(call_id="c", status=call_pb2.CALL_STATUS_COMPLETED))


def failure(
    code: grpc.StatusCode, reason: str = "", *, retry_after: float | None = None, elapsed: float = 0.0
) -> Failure:
    detail = ErrorDetail(reason=reason, retry_after=retry_after)
    return Failure(code, "no", write_details(code.value[0], "no", detail), elapsed)


UNAVAILABLE = failure(grpc.StatusCode.UNAVAILABLE)


def begin(flow: Generator[Any, Any, Any]) -> Any:
    """A flow's first step."""
    return next(flow)


def send(flow: Generator[Any, Any, Any], reply: Any) -> Any:
    """A flow's next step."""
    return flow.send(reply)


def outcome(flow: Generator[Any, Any, Any], reply: Any) -> Any:
    """What a flow returns when it is sent its last reply."""
    with pytest.raises(StopIteration) as stop:
        flow.send(reply)
    return stop.value.value


@pytest.mark.req("SDK-1")
def test_a_call_is_repeated_with_the_same_id_when_the_gateway_is_away() -> None:
    flow = call_flows.call(SESSION, "write", {"path": "a"})
    first = begin(flow)
    assert isinstance(send(flow, UNAVAILABLE), Rest)
    second = send(flow, None)
    assert isinstance(second, Ask)
    assert first.request.call.call_id.startswith("call-")
    assert second.request == first.request
    assert outcome(flow, Answer(DONE)).completed


@pytest.mark.req("SDK-1")
def test_two_calls_never_have_the_same_id() -> None:
    ids = {begin(call_flows.call(SESSION, "read")).request.call.call_id for _ in range(1000)}
    assert len(ids) == 1000


@pytest.mark.req("SDK-1")
def test_the_list_of_tools_is_asked_for_as_often_as_a_call() -> None:
    flow = session_flows.tools(SESSION)
    begin(flow)
    for _ in range(CALL_ATTEMPTS - 1):
        assert isinstance(send(flow, UNAVAILABLE), Rest)
        assert isinstance(send(flow, None), Ask)
    assert outcome(flow, Answer(rpc.ListToolsResponse())).tools == ()


@pytest.mark.req("SDK-1")
def test_it_gives_up_after_a_few_attempts_and_says_which_call_it_was() -> None:
    flow = call_flows.call(SESSION, "write", call_id="c-7")
    step: Any = begin(flow)
    asked, paused_s = 1, 0.0
    with pytest.raises(GatewayUnavailableError) as caught:  # noqa: PT012 -- the last of several replies raises
        while True:
            step = send(flow, UNAVAILABLE if isinstance(step, Ask) else None)
            asked += isinstance(step, Ask)
            paused_s += step.seconds if isinstance(step, Rest) else 0.0
    assert asked == CALL_ATTEMPTS
    # As long as a gateway takes to start again, whatever the dice say.
    assert paused_s >= FIRST_PAUSE * (2**CALL_ATTEMPTS - 2) / 2 >= 1.5
    assert caught.value.call_id == "c-7"


@pytest.mark.req("SDK-1")
def test_every_request_has_a_deadline_and_repeats_share_it() -> None:
    flow = call_flows.call(SESSION, "read", timeout=2.0)
    first = begin(flow)
    assert first.timeout == 2.0
    rest = send(flow, failure(grpc.StatusCode.UNAVAILABLE, elapsed=0.5))
    assert isinstance(rest, Rest)
    second = send(flow, None)
    assert second.timeout == pytest.approx(1.5 - rest.seconds)


@pytest.mark.req("SDK-1")
def test_it_does_not_wait_past_the_deadline_for_another_attempt() -> None:
    flow = call_flows.call(SESSION, "read", timeout=1.0)
    next(flow)
    with pytest.raises(GatewayUnavailableError):
        send(flow, failure(grpc.StatusCode.UNAVAILABLE, retry_after=5.0))


@pytest.mark.req("SDK-1")
def test_the_gateway_says_when_to_come_back() -> None:
    flow = call_flows.call(SESSION, "read")
    next(flow)
    rest = send(flow, failure(grpc.StatusCode.RESOURCE_EXHAUSTED, "OVERLOADED", retry_after=3.0))
    assert rest == Rest(3.0)


@pytest.mark.req("SDK-1")
def test_a_limit_that_is_used_up_is_not_asked_again() -> None:
    flow = call_flows.call(SESSION, "read")
    next(flow)
    with pytest.raises(LimitExceededError) as caught:
        send(flow, failure(grpc.StatusCode.RESOURCE_EXHAUSTED, "LIMIT_REACHED", retry_after=3.0))
    assert caught.value.retry_after == 3.0


@pytest.mark.req("SDK-1")
def test_a_deadline_that_passed_is_not_asked_again() -> None:
    flow = call_flows.call(SESSION, "read", call_id="c-1")
    next(flow)
    with pytest.raises(DeadlineExceededError) as caught:
        send(flow, failure(grpc.StatusCode.DEADLINE_EXCEEDED))
    assert caught.value.call_id == "c-1"


@pytest.mark.req("SDK-1")
def test_a_rollback_is_never_repeated_by_itself() -> None:
    flow = session_flows.rollback(SESSION, count=3)
    assert isinstance(begin(flow), Open)
    assert isinstance(send(flow, None), Next)
    with pytest.raises(GatewayUnavailableError):
        send(flow, UNAVAILABLE)


@pytest.mark.req("SDK-1")
def test_a_rollback_that_was_not_begun_is_asked_again() -> None:
    flow = session_flows.rollback(SESSION, count=3)
    next(flow)
    send(flow, None)
    assert isinstance(send(flow, failure(grpc.StatusCode.UNAVAILABLE, "DRAINING")), Rest)
    assert isinstance(send(flow, None), Open)


@pytest.mark.req("SDK-1")
def test_a_broken_batch_is_asked_again_and_no_outcome_comes_twice() -> None:
    flow = call_flows.stream_batch(SESSION, [("a", {}), Call(tool="b", call_id="c-b")])
    first = begin(flow)
    send(flow, None)
    done = rpc.CallBatchResponse(index=0, result=DONE.result)
    item = send(flow, Answer(done))
    assert isinstance(item, Emit)
    assert item.item[0] == 0
    assert isinstance(send(flow, None), Next)
    assert isinstance(send(flow, UNAVAILABLE), Rest)
    again = send(flow, None)
    assert isinstance(first, Open)
    assert isinstance(again, Open)
    assert again.request == first.request
    send(flow, None)
    assert isinstance(send(flow, Answer(done)), Next)  # seen already: nothing is handed on
    last = send(flow, Answer(rpc.CallBatchResponse(index=1, result=DONE.result)))
    assert isinstance(last, Emit)
    assert last.item[0] == 1
    send(flow, None)
    outcome(flow, End())


@pytest.mark.req("SDK-1")
def test_a_batch_with_a_call_left_unanswered_is_no_outcome() -> None:
    flow = call_flows.batch(SESSION, [("a", {}), ("b", {})])
    next(flow)
    send(flow, None)
    send(flow, Answer(rpc.CallBatchResponse(index=0, result=DONE.result)))
    with pytest.raises(RequestError, match="did not answer every call"):
        send(flow, End())


@pytest.mark.req("SDK-1")
@pytest.mark.parametrize("number", [0, 8, 99])
def test_a_status_that_is_new_counts_as_not_run(number: int) -> None:
    flow = call_flows.call(SESSION, "read")
    next(flow)
    message = rpc.CallToolResponse()
    message.ParseFromString(b"\x0a\x02\x10" + bytes([number]))
    result: CallResult = outcome(flow, Answer(message))
    assert result.status is CallStatus.UNKNOWN
    assert not result.completed
    assert not result.decision.allowed


@pytest.mark.req("SDK-1")
@pytest.mark.parametrize("given", [{"x": float("nan")}, {"x": object()}, {"x": "\ud800"}, {1j: 1}])
def test_an_input_that_json_cannot_hold_never_leaves(given: Any) -> None:
    with pytest.raises(InvalidRequestError, match=r"call\.input"):
        begin(call_flows.call(SESSION, "read", given))


@pytest.mark.req("SDK-1")
@pytest.mark.parametrize("raw", ['{"a":1,"a":2}', b'{"a": 9007199254740993}'])
def test_what_a_model_wrote_is_sent_as_it_is(raw: str | bytes) -> None:
    step = begin(call_flows.call(SESSION, "read", raw))
    assert step.request.call.input == (raw.encode() if isinstance(raw, str) else raw)


def test_a_deliverable_may_be_what_a_model_wrote() -> None:
    words = {"hidden_assumptions": ["a"], "failure_scenarios": ["b"], "verdict": "proceed", "verdict_reason": "c"}
    anything: Any = words
    as_written = begin(call_flows.call(SESSION, "rm", deliverable=words, call_id="c"))
    as_said = begin(call_flows.call(SESSION, "rm", deliverable=Deliverable(**anything), call_id="c"))
    assert as_written == as_said
    sent = as_written.request.call.deliverable
    assert sent.verdict == deliverable_pb2.DELIVERABLE_VERDICT_PROCEED


@pytest.mark.parametrize(
    "wrong",
    [
        {"verdict": "proceed"},
        {"hidden_assumptions": ["a"], "failure_scenarios": ["b"], "verdict": "go", "verdict_reason": "c"},
        {"hidden_assumptions": 3, "failure_scenarios": ["b"], "verdict": "proceed", "verdict_reason": "c"},
    ],
)
def test_a_malformed_deliverable_is_refused_before_it_is_sent(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequestError, match=r"call\.deliverable"):
        begin(call_flows.call(SESSION, "rm", deliverable=wrong))


@pytest.mark.parametrize("targets", [{}, {"count": 1, "since_call_id": "c"}])
def test_a_rollback_needs_exactly_one_target(targets: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequestError, match="exactly one"):
        begin(session_flows.rollback(SESSION, **targets))


def test_a_listing_is_read_to_its_last_page() -> None:
    flow = session_flows.operations(SESSION)
    first = begin(flow)
    page = rpc.ListOperationsResponse(next_page_token="more")
    page.operations.add(operation_id="o-2")
    assert isinstance(first, Ask)
    second = send(flow, Answer(page))
    assert second.request.page_token == "more"
    last = rpc.ListOperationsResponse()
    last.operations.add(operation_id="o-1")
    assert [one.operation_id for one in outcome(flow, Answer(last))] == ["o-2", "o-1"]
