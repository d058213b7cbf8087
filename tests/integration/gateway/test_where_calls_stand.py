"""Where a call stands, for whoever made it and asks later (flows.md, CHK-4; PIPE-10)."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from asked_people import Person, asking, person
from gateway_bench import Bench, bench
from interlock import CallStatus
from interlock.calls import CallState
from interlock.errors import InterlockError, NotFoundError
from interlock_gateway.core.checkpoint import ApproverDecision
from interlock_gateway.core.session import Principal, Role
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.pipeline.call_records import CallRecords


@pytest.fixture
async def bob(at: Bench) -> AsyncIterator[Person]:
    async with person(at.gateway) as someone:
        yield someone


@pytest.mark.req("PIPE-10", "CHK-4")
async def test_calls_that_ended_are_told_with_their_outcome(at: Bench) -> None:
    session = at.agent.session("s")
    await session.call("set_value", {"value": "b"}, call_id="changed")
    await session.call("echo", {"text": "x"}, call_id="read")
    await session.call("replace_value", {"value": "c"}, call_id="previewed")
    await session.call("wreck", {"what": "x"}, call_id="denied")
    found = {name: await session.get_call(name) for name in ("changed", "read", "previewed", "denied")}

    assert {name: record.state for name, record in found.items()} == {
        "changed": CallState.COMPLETED,
        "read": CallState.COMPLETED,
        "previewed": CallState.PREVIEWED,
        "denied": CallState.DENIED,
    }
    assert all(record.settled for record in found.values())
    changed = found["changed"]
    assert (changed.tool, changed.kind) == ("set_value", "call")
    assert changed.result is not None
    assert changed.result.text == "was first"
    assert changed.received_at is not None
    assert changed.finished_at is not None
    assert (await session.wait_call("changed", timeout=30)).state is CallState.COMPLETED


@pytest.mark.req("CHK-4", "SEC-7")
async def test_only_the_owner_of_a_session_learns_where_its_calls_stand(at: Bench) -> None:
    session = at.agent.session("s")
    await session.call("echo", {"text": "x"}, call_id="c")
    for unknown in (session.get_call("nothing"), session.wait_call("nothing", timeout=1)):
        with pytest.raises(NotFoundError):
            await unknown
    with pytest.raises(InterlockError):
        await at.agent.session("elsewhere").get_call("c")
    records = CallRecords(at.gateway.rooms.parts, at.gateway.rooms.pipeline)
    stranger = Principal("stranger", "token", frozenset({Role.AGENT}))
    for asked in (records.get(stranger, "s", "c"), records.wait(stranger, "s", "c", 1.0)):
        with pytest.raises(RequestError) as refused:
            await asked
        assert refused.value.fault is RequestFault.NOT_YOUR_SESSION


@pytest.mark.req("CHK-4")
async def test_asking_where_a_call_stands_ends_it_when_people_have_denied_it_and_begins_nothing(
    at: Bench, bob: Person
) -> None:
    session = at.agent.session("s")
    for call_id in ("denied", "approved"):
        await session.call("wreck", {"what": call_id}, call_id=call_id, checkpoint_mode="detach")
    await bob.says(ApproverDecision.DENY, await bob.asked(), reason="no")
    await bob.approves_the_next()

    denied, approved = await session.get_call("denied"), await session.get_call("approved")

    assert (denied.state, denied.settled) == (CallState.DENIED, True)
    assert (approved.state, approved.settled) == (CallState.AWAITING_CHECKPOINT, False)
    assert approved.result is not None
    assert approved.result.status is CallStatus.AWAITING_CHECKPOINT
    assert approved.result.checkpoint is not None
    assert at.ledger.ran == []


@pytest.mark.req("CHK-4")
async def test_many_who_wait_for_one_call_all_learn_its_outcome(at: Bench, bob: Person) -> None:
    session = at.agent.session("s")
    await session.call("wreck", {"what": "x"}, call_id="c", checkpoint_mode="detach")
    waiting = [asyncio.create_task(session.wait_call("c", timeout=30)) for _ in range(10)]
    await bob.approves_the_next()
    assert {(await one).state for one in waiting} == {CallState.COMPLETED}
    assert at.ledger.ran == [("wreck", "x")]


@pytest.mark.req("CHK-4")
async def test_whoever_only_waits_takes_nothing_down_by_hanging_up(at: Bench, bob: Person) -> None:
    session = at.agent.session("s")
    await session.call("wreck", {"what": "x"}, call_id="c", checkpoint_mode="detach")
    waiting = asyncio.create_task(session.wait_call("c", timeout=30))
    asked = await bob.asked()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await bob.approves(asked)
    assert (await session.wait_call("c", timeout=30)).state is CallState.COMPLETED
    assert at.ledger.ran == [("wreck", "x")]


@pytest.mark.req("CHK-7", "CHK-4")
async def test_an_edited_call_says_that_it_was(socket_directory: Path) -> None:
    async with (
        bench(socket_directory, policy=asking(socket_directory, "echo")) as at,
        person(at.gateway) as bob,
    ):
        session = at.agent.session("s")
        await session.call("echo", {"text": "x"}, call_id="c", checkpoint_mode="detach")
        await bob.says(ApproverDecision.EDIT, await bob.asked(), edited_input=b'{"text":"y"}')
        record = await session.wait_call("c", timeout=30)
    assert (record.kind, record.state, record.tool) == ("edit", CallState.COMPLETED, "echo")
    assert at.ledger.ran == [("echo", "y")]
