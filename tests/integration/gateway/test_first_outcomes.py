"""A call id has one outcome, also when two replicas had the call at once (PIPE-10).

What the other replica does is done here by hand, in the moment in which it would.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from gateway_bench import Bench, bench
from interlock import CallStatus
from interlock.errors import GatewayUnavailableError
from interlock_gateway.core.call import CallResult, CallState
from interlock_gateway.core.call import CallStatus as Status
from interlock_gateway.core.content import Text
from interlock_gateway.core.operation import OperationState
from interlock_gateway.pipeline.ports import CallRecord, StateUnavailableError
from interlock_gateway.state.store import SqlStateStore

pytestmark = pytest.mark.req("PIPE-10", "STATE-2")

B = {"value": "b"}
ELSEWHERE = CallResult("c", Status.FAILED, is_error=True, content=(Text("it failed elsewhere"),))


def ended_elsewhere(at: Bench, monkeypatch: pytest.MonkeyPatch, result: CallResult = ELSEWHERE) -> None:
    """Have another replica keep `result` for the same call a moment before this one keeps its own."""
    calls = at.gateway.rooms.store.calls
    keep: Callable[[CallRecord], Awaitable[CallRecord]] = calls.record_outcome

    async def second(record: CallRecord) -> CallRecord:
        state, answer = CallState(result.status.value), calls.encode_result(result)
        await keep(replace(record, state=state, status=result.status, result=answer))
        return await keep(record)

    monkeypatch.setattr(calls, "record_outcome", second)


async def test_a_preview_gives_way_to_what_the_call_was_answered_with_elsewhere(
    socket_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else its two previews would both be pending, and the client would be told of one after the other."""
    async with bench(socket_directory) as at:
        ended_elsewhere(at, monkeypatch)
        session = at.agent.session("s")
        for _ in range(2):
            answer = await session.call("replace_value", B, call_id="c")
            assert (answer.status, answer.text) == (CallStatus.FAILED, "it failed elsewhere")
        assert (await session.pending()).actions == ()
        assert (await session.call("echo", {"text": "x"})).steering == ()  # nobody is reminded of what is not there
    assert at.ledger.names() == ["echo"]


async def test_a_denial_gives_way_as_well(socket_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with bench(socket_directory) as at:
        ended_elsewhere(at, monkeypatch)
        session = at.agent.session("s")
        answer = await session.call("replace_value", {"value": 1}, call_id="c")
        assert (answer.status, answer.text) == (CallStatus.FAILED, "it failed elsewhere")


async def test_a_preview_that_cannot_be_kept_is_not_left_pending(
    socket_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with bench(socket_directory) as at:
        session = at.agent.session("s")

        async def lost(_record: object) -> None:
            raise StateUnavailableError("the database is gone")

        with monkeypatch.context() as broken:
            broken.setattr(at.gateway.rooms.store.calls, "record_outcome", lost)
            with pytest.raises(GatewayUnavailableError):
                await session.call("replace_value", B, call_id="c", timeout=1.0)
        assert (await session.pending()).actions == ()


async def test_a_denial_for_a_lost_lease_is_no_answer_once_others_have_said_what_became_of_the_call(
    socket_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Remembered, it would be told again and again, here, though the database says something else."""
    async with bench(socket_directory) as at:
        calls, session = at.gateway.rooms.store.calls, at.agent.session("s")
        finish = calls.finish_call

        async def called_unknown(
            session_id: str, call_id: str, operation_id: str, call: CallState, operation: OperationState, **ending: Any
        ) -> None:
            unknown = (CallState.OUTCOME_UNKNOWN, OperationState.OUTCOME_UNKNOWN)
            await finish(session_id, call_id, operation_id, *unknown, now=ending["now"])
            await finish(session_id, call_id, operation_id, call, operation, **ending)

        with monkeypatch.context() as lost:
            lost.setattr(SqlStateStore, "stands", property(lambda _: False))
            lost.setattr(calls, "finish_call", called_unknown)
            denied = await session.call("set_value", B, call_id="c")
            assert denied.decision.reasons[0].code == "gateway_error.state_unavailable"
        again = await session.call("set_value", B, call_id="c")
        assert again.status is CallStatus.OUTCOME_UNKNOWN
    assert at.ledger.names() == []
