"""Sessions that either of two gateways serves (STATE-2, PIPE-8, PIPE-10)."""

import asyncio

import pytest
from interlock.errors import InterlockError
from interlock.results import CallStatus
from two_gateways import Two, held_up


@pytest.mark.req("STATE-2")
async def test_a_session_is_served_by_either(two: Two) -> None:
    here = await two.one.agent.open_session(intent="try both")
    there = two.other.agent.session(here.session_id)

    first = await here.call("note", {"text": "a"})
    second = await there.call("note", {"text": "b"})
    third = await here.call("echo", {"text": "c"})

    assert [result.status for result in (first, second, third)] == [CallStatus.COMPLETED] * 3
    operations = await there.operations()
    assert len(operations) == 2


@pytest.mark.req("PIPE-8", "STATE-2")
async def test_exclusive_calls_of_a_session_never_overlap_across_replicas(two: Two) -> None:
    here = await two.one.agent.open_session()
    there = two.other.agent.session(here.session_id)

    results = await asyncio.gather(
        *(
            session.call("note", {"text": f"{name}{n}"})
            for n in range(20)
            for name, session in (("a", here), ("b", there))
        )
    )

    assert {result.status for result in results} == {CallStatus.COMPLETED}
    assert len(two.ledger.ran) == 40
    assert two.ledger.overlaps == []


@pytest.mark.req("PIPE-10", "STATE-2")
async def test_a_call_id_that_runs_elsewhere_is_answered_with_what_came_of_it(two: Two) -> None:
    here = await two.one.agent.open_session()
    there = two.other.agent.session(here.session_id)
    two.ledger.gate.clear()
    first = asyncio.create_task(here.call("hold", {"text": "a"}, call_id="c"))
    await held_up(two.ledger)
    again = asyncio.create_task(there.call("hold", {"text": "a"}, call_id="c"))
    await asyncio.wait([again], timeout=0.5)
    assert not again.done()

    two.ledger.gate.set()

    results = await asyncio.gather(first, again)
    assert [result.text for result in results] == ["held a"] * 2
    assert two.ledger.ran == [("hold", "a")]


@pytest.mark.req("PIPE-10", "STATE-2")
async def test_a_call_id_that_ended_elsewhere_is_not_run_again(two: Two) -> None:
    here = await two.one.agent.open_session()
    there = two.other.agent.session(here.session_id)

    first = await here.call("note", {"text": "a"}, call_id="c")
    again = await there.call("note", {"text": "a"}, call_id="c")
    with pytest.raises(InterlockError, match="used for another call"):
        await there.call("note", {"text": "b"}, call_id="c")

    assert again.text == first.text
    assert two.ledger.ran == [("note", "a")]


@pytest.mark.req("STATE-2")
async def test_a_session_closed_at_one_is_closed_at_the_other(two: Two) -> None:
    here = await two.one.agent.open_session()
    there = two.other.agent.session(here.session_id)
    await there.call("echo", {"text": "a"})

    await here.close()

    with pytest.raises(InterlockError, match="closed"):
        await there.call("note", {"text": "b"})


@pytest.mark.req("STATE-2")
async def test_a_preview_made_at_one_is_resolved_at_the_other(two: Two) -> None:
    here = await two.one.agent.open_session()
    there = two.other.agent.session(here.session_id)
    await there.call("echo", {"text": "so that it knows the session"})

    preview = await here.call("replace_value", {"value": "new"})
    assert preview.status is CallStatus.PREVIEW
    resolved = await there.resolve("apply", "it is right")

    assert resolved.status is CallStatus.COMPLETED
    assert two.ledger.value == "new"
    assert (await here.pending()).actions == ()


@pytest.mark.req("STATE-2")
async def test_what_a_session_did_elsewhere_counts(two: Two) -> None:
    here = await two.one.agent.open_session()
    there = two.other.agent.session(here.session_id)
    for session in (here, there, here, there):
        await session.call("note", {"text": "x"})

    reports = [await there.operations(), await here.operations()]
    assert [len(operations) for operations in reports] == [4, 4]
