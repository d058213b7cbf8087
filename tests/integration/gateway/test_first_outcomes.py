"""A call id has one outcome, also when two replicas had the call at once (PIPE-10).

What the other replica does is done here by hand, in the moment in which it would.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from asked_people import person
from gateway_bench import Bench, bench
from interlock import CallStatus
from interlock_gateway.core.call import CallResult, CallState, CheckpointMode, PendingRef
from interlock_gateway.core.call import CallStatus as Status
from interlock_gateway.core.checkpoint import CheckpointState
from interlock_gateway.core.content import Text
from interlock_gateway.core.operation import Operation
from interlock_gateway.pipeline.conclusion import STATE_OF
from interlock_gateway.pipeline.ports import BeginOutcome, CallRecord
from other_replicas import taken_for_dead
from waiting import eventually

pytestmark = pytest.mark.req("PIPE-10", "STATE-2")

B = {"value": "b"}
ELSEWHERE = CallResult("c", Status.FAILED, is_error=True, content=(Text("it failed elsewhere"),))


def ended_elsewhere(at: Bench, monkeypatch: pytest.MonkeyPatch, result: CallResult = ELSEWHERE) -> None:
    """Have another replica keep `result` for the same call a moment before this one keeps its own."""
    calls = at.gateway.rooms.store.calls
    keep: Callable[[CallRecord], Awaitable[CallRecord]] = calls.record_outcome
    begin: Callable[..., Awaitable[BeginOutcome]] = calls.begin_call

    async def theirs(record: CallRecord) -> None:
        answer = calls.encode_result(result)
        await keep(replace(record, state=STATE_OF[result.status], status=result.status, result=answer))

    async def kept_second(record: CallRecord) -> CallRecord:
        await theirs(record)
        return await keep(record)

    async def begun_second(record: CallRecord, operation: Operation, **more: str) -> BeginOutcome:
        await theirs(record)
        return await begin(record, operation, **more)

    monkeypatch.setattr(calls, "record_outcome", kept_second)
    monkeypatch.setattr(calls, "begin_call", begun_second)


async def test_a_preview_gives_way_to_what_the_call_was_answered_with_elsewhere(
    socket_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


@pytest.mark.parametrize("tool", ["replace_value", "set_value"], ids=["previewed here too", "about to run here"])
async def test_of_two_previews_the_one_that_was_kept_stays_pending(
    socket_directory: Path, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    async with bench(socket_directory) as at:
        store, session = at.gateway.rooms.store, at.agent.session("s")
        first = await session.call("replace_value", {"value": "theirs"})
        assert first.pending is not None
        theirs = PendingRef(first.pending.pending_id, "theirs", "replace_value", at.clock.now() + 60)
        preview = CallResult("c", Status.PREVIEW, pending=theirs, content=(Text("theirs"),))
        ended_elsewhere(at, monkeypatch, preview)
        for _ in range(2):
            answer = await session.call(tool, B, call_id="c")
            assert (answer.status, answer.text) == (CallStatus.PREVIEW, "theirs")
            assert answer.pending is not None
            assert answer.pending.pending_id == theirs.pending_id
        assert [one.pending_id for one in await store.pending.list_pending("s", at.clock.now())] == [theirs.pending_id]
        assert (await session.call("echo", {"text": "x"})).steering  # it is still to be resolved
    assert at.ledger.names() == ["echo"]


async def test_a_denial_for_a_lost_lease_is_no_answer_once_others_have_said_what_became_of_the_call(
    socket_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Remembered, it would be told again and again, here, though the database says something else."""
    async with bench(socket_directory) as at:
        session = at.agent.session("s")
        with monkeypatch.context() as lost:
            taken_for_dead(at, lost)
            denied = await session.call("set_value", B, call_id="c")
            assert denied.decision.reasons[0].code == "gateway_error.state_unavailable"
        again = await session.call("set_value", B, call_id="c")
        assert again.status is CallStatus.OUTCOME_UNKNOWN
    assert at.ledger.names() == []


@pytest.mark.req("CHK-4")
async def test_who_hangs_up_here_does_not_end_what_waits_for_a_person_elsewhere(
    socket_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with bench(socket_directory) as at, person(at.gateway) as bob:
        store, session = at.gateway.rooms.store, at.agent.session("s")
        await session.call("wreck", {"what": "x"}, call_id="w", checkpoint_mode="detach")
        like = await bob.asked()
        keep, kept, gone = store.calls.record_outcome, asyncio.Event(), asyncio.Event()

        async def asked_elsewhere(record: CallRecord) -> CallRecord:
            waits = replace(record, state=CallState.AWAITING_CHECKPOINT, status=Status.AWAITING_CHECKPOINT, result=None)
            theirs = replace(like, checkpoint_id="theirs", call_id="c", mode=CheckpointMode.WAIT)
            await store.checkpoints.open_checkpoint(replace(theirs, request_digest=record.request_digest), waits)
            kept.set()
            await gone.wait()
            return await keep(record)

        monkeypatch.setattr(store.calls, "record_outcome", asked_elsewhere)
        calling = asyncio.create_task(session.call("replace_value", {"value": 1}, call_id="c"))
        await kept.wait()
        calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)
        await eventually(lambda: at.gateway.rooms.pipeline.in_flight == 0)
        gone.set()
        await at.gateway.rooms.parts.tasks.drain()
        theirs = await store.checkpoints.checkpoint_of_call("s", "c")
        assert theirs is not None
        assert theirs.state is CheckpointState.OPEN
