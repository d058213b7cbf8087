"""A gateway that others took for dead between claiming a pending action and applying it (PREV-13, STATE-2).

What the others do is done here by hand, in the moment in which they would.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from asked_people import person
from gateway_bench import Bench, bench
from interlock import CallStatus
from interlock_gateway.core.call import CallResult, CallState
from interlock_gateway.core.call import CallStatus as Status
from interlock_gateway.core.content import Text
from interlock_gateway.core.operation import Operation
from interlock_gateway.core.pending import PendingAction, PendingState
from interlock_gateway.pipeline.ports import BeginOutcome, CallRecord
from other_replicas import taken_for_dead
from test_asking_about_applies import asking_at_apply

pytestmark = pytest.mark.req("PREV-13", "STATE-2")

B = {"value": "b"}
ABANDONED = (PendingState.OUTCOME_UNKNOWN, "its replica is gone")


def buried_after_its_claim(at: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have what is claimed next be called unknown, as whoever buries a dead replica does."""
    pending = at.gateway.rooms.store.pending
    claim: Callable[[str, str, float], Awaitable[PendingAction | None]] = pending.claim_pending

    async def and_buried(pending_id: str, claimant: str, now: float) -> PendingAction | None:
        claimed = await claim(pending_id, claimant, now)
        await pending.finish_pending(pending_id, claimant, ABANDONED[0], now, ABANDONED[1])
        return claimed

    monkeypatch.setattr(pending, "claim_pending", and_buried)


async def test_what_was_called_unknown_meanwhile_is_not_applied(
    socket_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody was told to find out whether it happened, and may have done it again since."""
    async with bench(socket_directory) as at:
        session = at.agent.session("s")
        previewed = await session.call("replace_value", B)
        assert previewed.pending is not None
        buried_after_its_claim(at, monkeypatch)
        answer = await session.resolve("apply", "as asked", call_id="r")
        assert (answer.status, answer.is_error) == (CallStatus.FAILED, True)
        assert "nothing was run" in answer.text
        store = at.gateway.rooms.store
        unknown = await store.pending.get_pending(previewed.pending.pending_id)
        assert unknown is not None
        assert unknown.state is PendingState.OUTCOME_UNKNOWN
        kept = await store.calls.find_call("s", "r")
        assert kept is not None
        assert kept.state is CallState.FAILED
        assert answer.steering == ()
        assert (await session.call("echo", {"text": "x"})).steering == ()  # nobody is reminded of what is not pending
    assert at.ledger.names() == ["echo"]


async def test_the_same_resolution_at_two_replicas_does_not_end_what_lies_below(
    socket_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its answer, from where it ran, is about the action that was on top there."""
    async with bench(socket_directory) as at:
        store, session = at.gateway.rooms.store, at.agent.session("s")
        await session.call("replace_value", B)
        begin = store.calls.begin_call

        async def begun_elsewhere(record: CallRecord, operation: Operation, **more: str) -> BeginOutcome:
            done = store.calls.encode_result(CallResult("r", Status.COMPLETED, content=(Text("now a"),)))
            ended = replace(record, state=CallState.COMPLETED, status=Status.COMPLETED, result=done)
            await store.calls.record_outcome(ended)
            return await begin(record, operation, **more)

        monkeypatch.setattr(store.calls, "begin_call", begun_elsewhere)
        answer = await session.resolve("apply", "as asked", call_id="r")
        assert (answer.status, answer.text) == (CallStatus.COMPLETED, "now a")
        (below,) = await store.pending.list_pending("s", at.clock.now())
        assert (below.label, below.last_error) == ("replace first by b", "")
    assert at.ledger.ran == []


@pytest.mark.parametrize("when", ["before", "meanwhile"])
async def test_an_approval_to_apply_what_was_called_unknown_is_void_and_keeps_nobody_waiting(
    socket_directory: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    policy = asking_at_apply(socket_directory)
    async with bench(socket_directory, policy=policy) as at, person(at.gateway) as bob:
        session, pending = at.agent.session("s"), at.gateway.rooms.store.pending
        previewed = await session.call("replace_value", B)
        assert previewed.pending is not None
        arguments = {"action": "apply", "reason": "looks right"}
        await session.call("resolve", arguments, call_id="r", checkpoint_mode="detach")
        await bob.approves_the_next()
        if when == "before":
            claimed = await pending.claim_pending(previewed.pending.pending_id, "r", at.clock.now())
            assert claimed is not None
            await pending.finish_pending(claimed.pending_id, "r", ABANDONED[0], at.clock.now(), ABANDONED[1])
        else:
            buried_after_its_claim(at, monkeypatch)
        record = await session.wait_call("r", timeout=20)
        assert record.result is not None
        if when == "before":
            assert record.result.status is CallStatus.DENIED
            assert [reason.code for reason in record.result.decision.reasons] == ["approval_void"]
            assert "Find out" in record.result.text
        else:
            assert record.result.status is CallStatus.FAILED
            assert "nothing was run" in record.result.text
        found_out = await session.resolve("apply", "looked", {"outcome": "not_applied"})
        assert not found_out.is_error
    assert at.ledger.ran == []


async def test_a_denied_apply_is_no_answer_once_others_have_called_it_unknown(
    socket_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with bench(socket_directory) as at:
        session = at.agent.session("s")
        await session.call("replace_value", B)
        with monkeypatch.context() as lost:
            taken_for_dead(at, lost)
            denied = await session.resolve("apply", "as asked", call_id="r")
            assert denied.decision.reasons[0].code == "gateway_error.state_unavailable"
        assert (await session.resolve("apply", "as asked", call_id="r")).status is CallStatus.OUTCOME_UNKNOWN
    assert at.ledger.ran == []
