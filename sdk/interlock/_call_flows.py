"""The flows of calls: make one, watch one, make several, find one again, resolve what one left."""

from collections.abc import Callable, Sequence
from typing import Literal, Unpack

from interlock._decode import call_result, decision
from interlock._decode_session import call_record, event, request_error
from interlock._encode import SessionCore, call_message, invalid, json_field, new_id
from interlock._flow import Flow, Items, Method, ask, each, every
from interlock.calls import BatchOutcome, Call, CallEvent, CallOptions, CallRecord, Json
from interlock.decisions import Decision
from interlock.results import CallResult
from interlock.v1 import gateway_service_pb2 as rpc
from interlock.v1 import pending_pb2

_SERVICE = "/interlock.v1.GatewayService"

# A call carries its own id, so that asking again answers the first outcome (PIPE-10).
CALL_TOOL = Method(f"{_SERVICE}/CallTool", rpc.CallToolResponse, repeatable=True, patient=True)
STREAM_TOOL = Method(f"{_SERVICE}/StreamTool", rpc.StreamToolResponse, repeatable=True, patient=True)
CALL_BATCH = Method(f"{_SERVICE}/CallBatch", rpc.CallBatchResponse, repeatable=True, patient=True)
RESOLVE = Method(f"{_SERVICE}/Resolve", rpc.ResolveResponse, repeatable=True, patient=True)
EVALUATE = Method(f"{_SERVICE}/Evaluate", rpc.EvaluateResponse, repeatable=True, patient=True)
GET_CALL = Method(f"{_SERVICE}/GetCall", rpc.GetCallResponse, repeatable=True, patient=True)
WAIT_CALL = Method(f"{_SERVICE}/WaitCall", rpc.WaitCallResponse, repeatable=True, patient=True)

_ACTIONS = {"apply": pending_pb2.RESOLVE_ACTION_APPLY, "discard": pending_pb2.RESOLVE_ACTION_DISCARD}
_ANSWER_MARGIN = 5.0


def call(
    session: SessionCore,
    tool: str,
    input: Json | None = None,  # noqa: A002 -- the contract's name
    *,
    timeout: float | None = None,
    **options: Unpack[CallOptions],
) -> Flow[CallResult]:
    """Take one call through the gateway; only a result that is `completed` ran.

    `timeout` is in seconds; the options are the fields of `Call`. With the same `call_id` and input the first outcome
    is answered again, and nothing runs. Raises a RequestError when there is no result at all; its `call_id` finds the
    call.
    """
    request = rpc.CallToolRequest(call=call_message(session, Call(tool=tool, input=input or {}, **options)))
    answer = yield from ask(CALL_TOOL, request, timeout or session.timeout, request.call.call_id)
    return call_result(answer.result)


def stream(
    session: SessionCore,
    tool: str,
    input: Json | None = None,  # noqa: A002 -- the contract's name
    *,
    timeout: float | None = None,
    **options: Unpack[CallOptions],
) -> Items[CallEvent]:
    """Take one call through the gateway, and yield what happens on the way; the last event is the CallResult.

    Leaving the iteration early cancels the call. The arguments are those of `call`.
    """
    request = rpc.StreamToolRequest(call=call_message(session, Call(tool=tool, input=input or {}, **options)))
    events: Items[CallEvent] = each(STREAM_TOOL, request, timeout or session.timeout, event, request.call.call_id)
    yield from events


def evaluate(
    session: SessionCore,
    tool: str,
    input: Json | None = None,  # noqa: A002 -- the contract's name
    *,
    timeout: float | None = None,
    **options: Unpack[CallOptions],
) -> Flow[Decision]:
    """Ask what policy decides about a call, and do nothing else; whoever enforces it fulfils its obligations."""
    request = rpc.EvaluateRequest(call=call_message(session, Call(tool=tool, input=input or {}, **options)))
    answer = yield from ask(EVALUATE, request, timeout or session.timeout)
    return decision(answer.decision)


def batch(
    session: SessionCore,
    calls: Sequence[Call | tuple[str, Json]],
    *,
    stop_on_error: bool = False,
    max_parallel: int = 0,
    timeout: float | None = None,
) -> Flow[list[BatchOutcome]]:
    """Take several calls through the gateway; their outcomes in the order of the calls, a RequestError among them too.

    Concurrency-safe neighbours run side by side, `max_parallel` at most (10 when 0). Raises a RequestError when the
    whole request failed, or when the gateway left a call unanswered.
    """
    request = _batch_request(session, calls, stop_on_error=stop_on_error, max_parallel=max_parallel)
    answers = yield from every(CALL_BATCH, request, timeout or session.timeout)
    found = dict(_outcome(answer) for answer in answers)
    if set(found) != set(range(len(request.calls))):
        raise invalid("calls", "the gateway did not answer every call of the batch")
    return [found[index] for index in range(len(request.calls))]


def stream_batch(
    session: SessionCore,
    calls: Sequence[Call | tuple[str, Json]],
    *,
    stop_on_error: bool = False,
    max_parallel: int = 0,
    timeout: float | None = None,
) -> Items[tuple[int, BatchOutcome]]:
    """Like `batch`, but yield each index with its outcome as it finishes."""
    request = _batch_request(session, calls, stop_on_error=stop_on_error, max_parallel=max_parallel)
    yield from each(CALL_BATCH, request, timeout or session.timeout, _unseen())


def resolve(
    session: SessionCore,
    action: Literal["apply", "discard"],
    reason: str,
    extra: Json | None = None,
    *,
    pending_id: str = "",
    call_id: str = "",
    timeout: float | None = None,
) -> Flow[CallResult]:
    """Apply or discard the top pending action; with `pending_id`, only if that is the top one.

    `reason` must not be blank. `extra` is handed to the provider untouched; its member `outcome` settles an unknown
    outcome.
    """
    if action not in _ACTIONS:
        raise invalid("action", f"{action!r} is neither 'apply' nor 'discard'")
    request = rpc.ResolveRequest(
        session_id=session.session_id,
        call_id=call_id or new_id("resolve"),
        action=_ACTIONS[action],
        reason=reason,
        extra=json_field("extra", extra),
        pending_id=pending_id or None,
    )
    answer = yield from ask(RESOLVE, request, timeout or session.timeout, request.call_id)
    return call_result(answer.result)


def get_call(session: SessionCore, call_id: str, *, timeout: float | None = None) -> Flow[CallRecord]:
    """Where a call stands. Raises NotFoundError when the gateway never saw it."""
    request = rpc.GetCallRequest(session_id=session.session_id, call_id=call_id)
    answer = yield from ask(GET_CALL, request, timeout or session.timeout)
    return call_record(answer.call)


def wait_call(session: SessionCore, call_id: str, *, timeout: float | None = None) -> Flow[CallRecord]:
    """Wait up to `timeout` seconds until a call is settled, and tell where it stands; `settled` says which it was."""
    seconds = timeout or session.timeout
    request = rpc.WaitCallRequest(session_id=session.session_id, call_id=call_id)
    request.timeout.FromNanoseconds(int(seconds * 1e9))
    answer = yield from ask(WAIT_CALL, request, seconds + _ANSWER_MARGIN)
    return call_record(answer.call)


def _batch_request(
    session: SessionCore, calls: Sequence[Call | tuple[str, Json]], *, stop_on_error: bool, max_parallel: int
) -> rpc.CallBatchRequest:
    wanted = [one if isinstance(one, Call) else Call(tool=one[0], input=one[1]) for one in calls]
    return rpc.CallBatchRequest(
        session_id=session.session_id,
        calls=[call_message(session, one) for one in wanted],
        stop_on_error=stop_on_error,
        max_parallel=max_parallel,
    )


def _outcome(answer: rpc.CallBatchResponse) -> tuple[int, BatchOutcome]:
    if answer.WhichOneof("outcome") == "result":
        return answer.index, call_result(answer.result)
    return answer.index, request_error(answer.error)


def _unseen() -> Callable[[rpc.CallBatchResponse], tuple[int, BatchOutcome] | None]:
    """Reads outcomes, each index once, also when the batch is asked for again."""
    seen: set[int] = set()

    def receive(answer: rpc.CallBatchResponse) -> tuple[int, BatchOutcome] | None:
        if answer.index in seen:
            return None
        seen.add(answer.index)
        return _outcome(answer)

    return receive
