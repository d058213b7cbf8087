"""What a client decides, with no I/O at all: deadlines, retries, ids."""

from collections.abc import Generator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import grpc
import pytest
from interlock import _call_flows as call_flows
from interlock import _operator_flows as operator_flows
from interlock import _session_flows as session_flows
from interlock._encode import SessionCore
from interlock._flow import CALL_ATTEMPTS, FIRST_PAUSE, LONGEST_PAUSE, Answer, Ask, Emit, End, Failure, Next, Open, Rest
from interlock._status import ErrorDetail, write_details
from interlock.calls import Call, Deliverable
from interlock.errors import (
    DeadlineExceededError,
    GatewayUnavailableError,
    InvalidRequestError,
    LimitExceededError,
    RequestError,
)
from interlock.journal import RollbackOutcome
from interlock.results import CallResult, CallStatus
from interlock.v1 import call_pb2, deliverable_pb2
from interlock.v1 import gateway_service_pb2 as rpc

SESSION = SessionCore("s-1", 60.0)
DONE = rpc.CallToolResponse(result=call_pb2.CallResult(call_id="c", status=call_pb2.CALL_STATUS_COMPLETED))


def failure(
    code: grpc.StatusCode,
    reason: str = "",
    *,
    retry_after: float | None = None,
    elapsed: float = 0.0,
    reached: bool = False,
) -> Failure:
    detail = ErrorDetail(reason=reason, retry_after=retry_after)
    return Failure(code, "no", write_details(code.value[0], "no", detail), elapsed, reached)


UNAVAILABLE = failure(grpc.StatusCode.UNAVAILABLE)
AWAY = failure(grpc.StatusCode.UNAVAILABLE, reached=True)


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


@dataclass
class Asked:
    """How a flow went whose every attempt failed; `times` is when each began, in seconds."""

    error: RequestError
    times: list[float]
    longest: list[float]


def asked_in_vain(flow: Generator[Any, Any, Any], failed: Failure, *, takes_s: float = 0.0) -> Asked:
    """Have every attempt fail after so long."""
    step, now, asked = begin(flow), 0.0, Asked(RequestError("none"), [], [])
    try:
        while True:
            if isinstance(step, Rest):
                now += step.seconds
                step = send(flow, None)
            elif isinstance(step, Open):
                step = send(flow, None)
            else:
                asked.times.append(now)
                asked.longest.append(getattr(step, "timeout", 0.0))
                now += takes_s
                step = send(flow, replace(failed, elapsed=takes_s))
    except RequestError as error:
        asked.error = error
    return asked


@pytest.mark.req("SDK-1")
def test_where_nobody_has_ever_answered_it_gives_up_after_a_few_attempts_and_says_which_call_it_was() -> None:
    asked = asked_in_vain(call_flows.call(SESSION, "write", call_id="c-7"), UNAVAILABLE)
    assert len(asked.times) == CALL_ATTEMPTS
    # As long as a gateway takes to start again, whatever the dice say.
    assert asked.times[-1] >= FIRST_PAUSE * (2**CALL_ATTEMPTS - 2) / 2 >= 1.5
    assert isinstance(asked.error, GatewayUnavailableError)
    assert asked.error.call_id == "c-7"


@pytest.mark.req("SDK-1", "PIPE-10")
@pytest.mark.parametrize("takes_s", [0.0, 0.3])
@pytest.mark.parametrize("timeout", [0.5, 5.0, 60.0, 3600.0])
def test_a_gateway_that_was_there_is_asked_until_the_deadline_and_never_after_it(
    timeout: float, takes_s: float
) -> None:
    asked = asked_in_vain(call_flows.call(SESSION, "write", timeout=timeout), AWAY, takes_s=takes_s)
    assert timeout * 0.6 - takes_s <= asked.times[-1] < timeout
    assert all(one <= timeout - at + 1e-6 for at, one in zip(asked.times, asked.longest, strict=True))
    pauses = [after - before - takes_s for before, after in pairwise(asked.times)]
    assert max(pauses) <= LONGEST_PAUSE
    assert min(pauses) >= FIRST_PAUSE / 2
    assert len(asked.times) <= timeout + CALL_ATTEMPTS + 6  # growing pauses, and no storm before the end
    assert isinstance(asked.error, GatewayUnavailableError)


@pytest.mark.req("SDK-1")
def test_what_was_the_matter_is_told_when_the_last_attempt_had_no_time_to_find_out() -> None:
    flow = call_flows.call(SESSION, "write", call_id="c", timeout=0.3)
    begin(flow)
    send(flow, AWAY)
    send(flow, None)
    with pytest.raises(GatewayUnavailableError):
        send(flow, Failure(grpc.StatusCode.DEADLINE_EXCEEDED, "Deadline Exceeded", b"", 0.2, reached=True))


@pytest.mark.req("SDK-1")
def test_pauses_are_spread() -> None:
    times = [asked_in_vain(call_flows.call(SESSION, "write", timeout=5.0), AWAY).times for _ in range(20)]
    assert len({one[1] for one in times}) == 20
    told = failure(grpc.StatusCode.RESOURCE_EXHAUSTED, "OVERLOADED", retry_after=1.0, reached=True)
    times = [asked_in_vain(call_flows.call(SESSION, "write", timeout=5.0), told).times for _ in range(20)]
    assert len({one[1] for one in times}) == 20
    assert all(after - before >= 0.999 for one in times for before, after in pairwise(one))


@pytest.mark.req("SDK-1", "PIPE-10")
@pytest.mark.parametrize(
    "flow",
    [
        session_flows.rollback(SESSION, count=3),
        session_flows.settle_operation(SESSION, "o-1", "none", "looked"),
        operator_flows.approve(operator_flows.OperatorCore(60.0), "k-1"),
        operator_flows.reload_policy(operator_flows.OperatorCore(60.0)),
    ],
    ids=["rollback", "settle", "approve", "reload"],
)
def test_what_may_have_happened_and_would_happen_twice_is_not_asked_again(flow: Generator[Any, Any, Any]) -> None:
    assert len(asked_in_vain(flow, AWAY).times) == 1


@pytest.mark.req("SDK-1")
@pytest.mark.parametrize("code", [one for one in grpc.StatusCode if one is not grpc.StatusCode.UNAVAILABLE])
def test_no_other_error_is_asked_again(code: grpc.StatusCode) -> None:
    flow = call_flows.call(SESSION, "write", call_id="c")
    assert len(asked_in_vain(flow, failure(code, "LIMIT_REACHED", retry_after=0.1, reached=True)).times) == 1


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
    assert 3.0 <= rest.seconds <= 3.3


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
def test_a_rollback_of_so_many_is_never_repeated_by_itself() -> None:
    full = failure(grpc.StatusCode.RESOURCE_EXHAUSTED, "OVERLOADED", retry_after=0.1, reached=True)
    for failed in (UNAVAILABLE, full):
        assert len(asked_in_vain(session_flows.rollback(SESSION, count=3), failed).times) == 1
    assert len(asked_in_vain(session_flows.rollback(SESSION, since_call_id="c"), full).times) > 1


def undone(number: int, outcome: str) -> Answer:
    line = rpc.RollbackResponse(outcome=f"ROLLBACK_OUTCOME_{outcome}")
    line.operation.operation_id = f"o-{number}"
    return Answer(line)


@pytest.mark.req("SDK-1", "UNDO-2")
def test_a_rollback_down_to_an_operation_goes_on_where_it_was_and_tells_of_each_once() -> None:
    flow = session_flows.rollback(SESSION, last_operation_id="o-1")
    first = begin(flow)
    send(flow, None)
    assert send(flow, undone(3, "UNDONE")).item.outcome is RollbackOutcome.UNDONE
    send(flow, None)
    assert isinstance(send(flow, AWAY), Rest)
    send(flow, None)
    # What it did for the connection that is gone may not have ended yet.
    busy = failure(grpc.StatusCode.FAILED_PRECONDITION, "ROLLBACK_IN_PROGRESS", reached=True)
    send(flow, None)
    assert isinstance(send(flow, busy), Rest)
    again = send(flow, None)
    assert isinstance(again, Open)
    assert again.request == first.request
    send(flow, None)
    assert isinstance(send(flow, undone(3, "ALREADY_UNDONE")), Next)
    assert send(flow, undone(2, "ALREADY_UNDONE")).item.outcome is RollbackOutcome.ALREADY_UNDONE
    send(flow, None)
    assert send(flow, undone(1, "UNDONE")).item.outcome is RollbackOutcome.UNDONE
    send(flow, None)
    outcome(flow, End())


@pytest.mark.req("SDK-1", "UNDO-2")
def test_a_rollback_of_somebody_else_is_not_waited_for() -> None:
    flow = session_flows.rollback(SESSION, since_call_id="c")
    begin(flow)
    send(flow, None)
    with pytest.raises(RequestError) as caught:
        send(flow, failure(grpc.StatusCode.FAILED_PRECONDITION, "ROLLBACK_IN_PROGRESS", reached=True))
    assert caught.value.reason == "ROLLBACK_IN_PROGRESS"


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
