"""Calls that wait for a person (flows.md, CHK-1 to CHK-9), by what the provider really did."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from asked_people import Person, person
from gateway_bench import Bench, bench
from interlock import CallStatus
from interlock.calls import CallState, Waiting
from interlock_gateway.core.checkpoint import ApproverDecision, CheckpointState

NO_HANDLER = "checkpoint required but no approval handler is registered"


@pytest.fixture
async def bob(at: Bench) -> AsyncIterator[Person]:
    async with person(at.gateway) as someone:
        yield someone


@pytest.mark.req("CHK-2")
async def test_without_anybody_to_ask_the_call_is_denied_at_once(at: Bench) -> None:
    result = await at.agent.session("s").call("wreck", {"what": "x"})

    assert (result.status, result.text) == (CallStatus.DENIED, NO_HANDLER)
    assert at.ledger.ran == []


@pytest.mark.req("CHK-1", "CHK-4")
async def test_a_call_waits_until_a_person_approves_and_then_runs_once(at: Bench, bob: Person) -> None:
    call = asyncio.create_task(at.agent.session("s").call("wreck", {"what": "x"}))
    asked = await bob.asked()
    assert at.ledger.ran == []
    assert (asked.tool, asked.shown_input) == ("wreck", b'{"what":"x"}')
    assert "wreck" in asked.rendered_call

    await bob.approves(asked)
    result = await call

    assert (result.status, result.text) == (CallStatus.COMPLETED, "gone")
    assert result.checkpoint is not None
    assert result.checkpoint.checkpoint_id == asked.checkpoint_id
    assert at.ledger.ran == [("wreck", "x")]
    kept = await at.gateway.rooms.store.checkpoints.get_checkpoint(asked.checkpoint_id)
    assert kept is not None
    assert kept.state is CheckpointState.CONSUMED


@pytest.mark.req("CHK-7")
async def test_the_model_learns_why_a_person_denied(at: Bench, bob: Person) -> None:
    call = asyncio.create_task(at.agent.session("s").call("wreck", {"what": "x"}))
    await bob.says(ApproverDecision.DENY, await bob.asked(), reason="not on a Friday")
    result = await call

    assert result.status is CallStatus.DENIED
    assert "not on a Friday" in result.text
    assert result.decision is not None
    assert result.decision.reasons[0].code == "checkpoint_denied"
    assert at.ledger.ran == []


@pytest.mark.req("CHK-7")
async def test_a_person_can_answer_in_the_place_of_the_tool(at: Bench, bob: Person) -> None:
    call = asyncio.create_task(at.agent.session("s").call("wreck", {"what": "x"}))
    await bob.says(ApproverDecision.RESPOND, await bob.asked(), response="use the archive tool for that")
    result = await call

    assert (result.status, result.is_error, result.text) == (
        CallStatus.COMPLETED,
        False,
        "use the archive tool for that",
    )
    assert result.details["checkpoint"]["approvers"] == ["bob"]
    assert at.ledger.ran == []


@pytest.mark.req("CHK-7")
async def test_what_runs_after_an_edit_is_what_the_person_wrote(at: Bench, bob: Person) -> None:
    call = asyncio.create_task(at.agent.session("s").call("wreck", {"what": "everything"}, call_id="c"))
    first = await bob.asked()
    await bob.says(ApproverDecision.EDIT, first, edited_input=b'{"what":"a little"}')
    result = await call

    assert (result.status, result.text) == (CallStatus.COMPLETED, "gone")
    assert at.ledger.ran == [("wreck", "a little")]
    kept = await at.gateway.rooms.store.checkpoints.checkpoint_of_call("s", "c")
    assert kept is not None
    assert (kept.edited_from, kept.state) == (first.checkpoint_id, CheckpointState.CONSUMED)
    assert [answer.approver for answer in kept.approvals] == ["bob"]


@pytest.mark.req("CHK-7")
async def test_an_edit_that_is_not_valid_runs_nothing(at: Bench, bob: Person) -> None:
    call = asyncio.create_task(at.agent.session("s").call("wreck", {"what": "x"}))
    await bob.says(ApproverDecision.EDIT, await bob.asked(), edited_input=b'{"what":7}')
    result = await call

    assert result.status is CallStatus.DENIED
    assert "not valid" in result.text
    assert at.ledger.ran == []


@pytest.mark.req("CHK-4")
async def test_a_detached_call_is_answered_at_once_and_picked_up_later(at: Bench, bob: Person) -> None:
    session = at.agent.session("s")
    held = await session.call("wreck", {"what": "x"}, call_id="c", checkpoint_mode="detach")
    assert held.status is CallStatus.AWAITING_CHECKPOINT
    assert held.checkpoint is not None
    record = await session.get_call("c")
    assert (record.state, record.settled, record.tool) == (CallState.AWAITING_CHECKPOINT, False, "wreck")

    waiting = asyncio.create_task(session.wait_call("c", timeout=20))
    await bob.approves_the_next()
    record = await waiting

    assert (record.state, record.settled) == (CallState.COMPLETED, True)
    assert record.result is not None
    assert record.result.text == "gone"
    again = await session.call("wreck", {"what": "x"}, call_id="c", checkpoint_mode="detach")
    assert (again.status, again.text) == (CallStatus.COMPLETED, "gone")
    assert at.ledger.ran == [("wreck", "x")]


@pytest.mark.req("CHK-4")
async def test_the_same_call_again_uses_the_approval(at: Bench, bob: Person) -> None:
    session = at.agent.session("s")
    for _ in range(2):
        held = await session.call("wreck", {"what": "x"}, call_id="c", checkpoint_mode="detach")
        assert held.status is CallStatus.AWAITING_CHECKPOINT
    await bob.approves_the_next()
    assert at.ledger.ran == []

    results = await asyncio.gather(
        *(session.call("wreck", {"what": "x"}, call_id="c", checkpoint_mode="detach") for _ in range(10))
    )

    assert {(result.status, result.text) for result in results} == {(CallStatus.COMPLETED, "gone")}
    assert at.ledger.ran == [("wreck", "x")]


@pytest.mark.req("CHK-4")
async def test_a_detached_repetition_does_not_hang_behind_a_call_that_waits(at: Bench, bob: Person) -> None:
    session = at.agent.session("s")
    call = asyncio.create_task(session.call("wreck", {"what": "x"}, call_id="c"))
    asked = await bob.asked()
    held = await session.call("wreck", {"what": "x"}, call_id="c", checkpoint_mode="detach")
    assert held.status is CallStatus.AWAITING_CHECKPOINT
    await bob.approves(asked)
    assert (await call).status is CallStatus.COMPLETED


@pytest.mark.req("CHK-4", "PIPE-8")
async def test_other_calls_of_the_session_go_on_while_one_waits(at: Bench, bob: Person) -> None:
    session = at.agent.session("s")
    call = asyncio.create_task(session.call("wreck", {"what": "x"}))
    asked = await bob.asked()

    assert (await session.call("set_value", {"value": "b"})).status is CallStatus.COMPLETED
    assert at.gateway.state().calls_in_flight == 0
    await bob.approves(asked)
    assert (await call).status is CallStatus.COMPLETED


@pytest.mark.req("CHK-4")
async def test_a_deadline_that_passes_withdraws_what_was_waited_for(at: Bench, bob: Person) -> None:
    result = await at.agent.session("s").call("wreck", {"what": "x"}, timeout=1.5)
    asked = await bob.asked()

    assert result.status is CallStatus.DENIED
    assert result.decision is not None
    assert result.decision.reasons[0].code == "checkpoint_withdrawn"
    kept = await at.gateway.rooms.store.checkpoints.get_checkpoint(asked.checkpoint_id)
    assert kept is not None
    assert kept.state is CheckpointState.WITHDRAWN
    assert at.ledger.ran == []


@pytest.mark.req("CHK-4")
async def test_a_deadline_that_passes_leaves_a_detached_call_waiting(at: Bench, bob: Person) -> None:
    session = at.agent.session("s")
    await session.call("wreck", {"what": "x"}, call_id="c", checkpoint_mode="detach")
    record = await session.wait_call("c", timeout=0.3)
    assert (record.state, record.settled) == (CallState.AWAITING_CHECKPOINT, False)
    await bob.approves_the_next()
    assert (await session.wait_call("c", timeout=20)).state is CallState.COMPLETED


@pytest.mark.req("CHK-6")
async def test_a_checkpoint_that_nobody_answers_expires_as_a_denial(at: Bench, bob: Person) -> None:
    call = asyncio.create_task(at.agent.session("s").call("wreck", {"what": "x"}))
    await bob.asked()
    at.clock.ahead_s += 3601
    result = await call

    assert result.status is CallStatus.DENIED
    assert result.decision is not None
    assert result.decision.reasons[0].code == "checkpoint_expired"
    assert at.ledger.ran == []


@pytest.mark.req("CHK-4")
async def test_who_watches_a_call_is_told_that_it_waits_for_a_person(at: Bench, bob: Person) -> None:
    events = []
    async for event in at.agent.session("s").stream("wreck", {"what": "x"}):
        events.append(event)
        if isinstance(event, Waiting):
            await bob.approves_the_next()

    waiting = [event for event in events if isinstance(event, Waiting)]
    assert {event.reason for event in waiting} == {"checkpoint"}
    assert waiting[0].checkpoint_id
    assert at.ledger.ran == [("wreck", "x")]


@pytest.mark.req("CHK-9")
async def test_a_call_that_waits_outlives_the_gateway(socket_directory: Path) -> None:
    async with bench(socket_directory) as first, person(first.gateway):
        session = first.agent.session("s")
        await session.call("wreck", {"what": "x"}, call_id="c", checkpoint_mode="detach")
        ledger = first.ledger

    async with bench(socket_directory, ledger=ledger) as second, person(second.gateway) as bob:
        session = second.agent.session("s")
        await bob.approves_the_next()
        record = await session.wait_call("c", timeout=20)

    assert record.state is CallState.COMPLETED
    assert ledger.ran == [("wreck", "x")]


@pytest.mark.req("CHK-9", "REL-9")
async def test_a_call_that_is_held_open_survives_a_drain_for_whoever_knows_its_id(socket_directory: Path) -> None:
    async with bench(socket_directory) as first, person(first.gateway) as bob:
        call = asyncio.create_task(first.agent.session("s").call("wreck", {"what": "x"}, call_id="c"))
        asked = await bob.asked()
        ledger = first.ledger
        first.gateway.rooms.pipeline.draining = True
        ended = await asyncio.gather(call, return_exceptions=True)
    assert isinstance(ended[0], Exception)

    async with bench(socket_directory, ledger=ledger) as second, person(second.gateway) as bob:
        again = asyncio.create_task(second.agent.session("s").call("wreck", {"what": "x"}, call_id="c"))
        assert (await bob.approves_the_next()).checkpoint_id == asked.checkpoint_id
        assert (await again).status is CallStatus.COMPLETED
    assert ledger.ran == [("wreck", "x")]


@pytest.mark.req("CHK-9")
async def test_closing_the_session_ends_what_waits_in_it(at: Bench, bob: Person) -> None:
    session = at.agent.session("s")
    call = asyncio.create_task(session.call("wreck", {"what": "x"}))
    asked = await bob.asked()
    await session.close()
    result = await call

    assert result.status is CallStatus.DENIED
    kept = await at.gateway.rooms.store.checkpoints.get_checkpoint(asked.checkpoint_id)
    assert kept is not None
    assert kept.state is CheckpointState.WITHDRAWN
    assert at.ledger.ran == []
