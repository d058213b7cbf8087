"""What is left when one of two gateways is killed, paused, or cut off from the database (STATE-2, PIPE-9)."""

import asyncio
import signal

import psycopg
import pytest
from interlock.admin import Admin
from interlock.errors import InterlockError
from interlock.journal import OperationState
from interlock.results import CallStatus
from two_gateways import Two, held_up
from waiting import eventually_so


@pytest.mark.req("PIPE-9", "PIPE-10", "STATE-2")
async def test_a_call_cut_off_in_its_middle_is_shown_as_unknown_by_the_other_and_not_run_again(two: Two) -> None:
    here = await two.one.agent.open_session()
    there = two.other.agent.session(here.session_id)
    two.ledger.gate.clear()
    running = asyncio.create_task(here.call("hold", {"text": "a"}, call_id="c", timeout=60))
    await held_up(two.ledger)

    two.one.kill()
    again = await there.call("hold", {"text": "a"}, call_id="c", timeout=60)

    assert again.status is CallStatus.OUTCOME_UNKNOWN
    with pytest.raises(InterlockError):
        await running
    operations = await there.operations()
    assert [one.state for one in operations] == [OperationState.OUTCOME_UNKNOWN]
    assert two.ledger.ran == [("hold", "a")]


@pytest.mark.req("PIPE-8", "STATE-2")
async def test_a_dead_replica_holds_no_session_up(two: Two) -> None:
    here = await two.one.agent.open_session()
    there = two.other.agent.session(here.session_id)
    two.ledger.gate.clear()
    running = asyncio.create_task(here.call("hold", {"text": "a"}, timeout=60))
    await held_up(two.ledger)

    two.one.kill()
    result = await there.call("note", {"text": "b"}, timeout=30)

    assert result.status is CallStatus.COMPLETED
    with pytest.raises(InterlockError):
        await running


@pytest.mark.req("STATE-2")
async def test_what_was_previewed_at_a_dead_replica_is_resolved_at_another(two: Two) -> None:
    here = await two.one.agent.open_session()
    there = two.other.agent.session(here.session_id)
    await here.call("replace_value", {"value": "new"})

    two.one.kill()
    resolved = await there.resolve("apply", "it is right", timeout=30)

    assert resolved.status is CallStatus.COMPLETED
    assert two.ledger.value == "new"


@pytest.mark.req("STATE-2")
async def test_a_killed_replica_starts_again_and_serves_what_it_knew(two: Two) -> None:
    here = await two.one.agent.open_session()
    first = await here.call("note", {"text": "a"}, call_id="c")
    two.one.kill()
    await two.one.process.wait()

    again = await two.start("one")
    repeated = await again.agent.session(here.session_id).call("note", {"text": "a"}, call_id="c")

    assert repeated.text == first.text
    assert two.ledger.ran == [("note", "a")]


@pytest.mark.req("STATE-2")
async def test_a_replica_that_was_paused_too_long_gets_a_new_lease_before_it_changes_anything(two: Two) -> None:
    here = await two.one.agent.open_session()
    there = two.other.agent.session(here.session_id)
    two.ledger.gate.clear()
    running = asyncio.create_task(here.call("hold", {"text": "a"}, call_id="c", timeout=60))
    await held_up(two.ledger)

    two.one.process.send_signal(signal.SIGSTOP)
    taken_over = await there.call("note", {"text": "b"}, timeout=30)
    unknown = await there.call("hold", {"text": "a"}, call_id="c", timeout=30)
    two.ledger.gate.set()
    two.one.process.send_signal(signal.SIGCONT)

    assert taken_over.status is CallStatus.COMPLETED
    assert unknown.status is CallStatus.OUTCOME_UNKNOWN
    # Told that the outcome could not be recorded, the client asks once more, under the same call id.
    assert (await running).status is CallStatus.OUTCOME_UNKNOWN

    async def serves_again() -> bool:
        return (await Admin(two.one.operator).status()).serving

    await eventually_so(serves_again)
    assert (await here.call("note", {"text": "c"}, timeout=30)).status is CallStatus.COMPLETED
    assert (await here.call("hold", {"text": "a"}, call_id="c")).status is CallStatus.OUTCOME_UNKNOWN
    assert [name for name, _ in two.ledger.ran] == ["hold", "note", "note"]


@pytest.mark.req("STATE-1", "STATE-2")
async def test_replicas_that_lose_every_connection_go_on(two: Two) -> None:
    here = await two.one.agent.open_session()
    there = two.other.agent.session(here.session_id)
    await here.call("note", {"text": "a"})

    async with await psycopg.AsyncConnection.connect(two.url, autocommit=True) as killer:
        await killer.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )

    async def both_go_on() -> bool:
        try:
            results = [await session.call("note", {"text": "b"}, timeout=10) for session in (here, there)]
        except InterlockError:
            return False
        return {result.status for result in results} == {CallStatus.COMPLETED}

    await eventually_so(both_go_on)
    assert two.ledger.overlaps == []
