"""Calls with large inputs are calls like any other: one id, one outcome, the same checks, the same order (REL-7)."""

import asyncio
import json
from functools import partial
from pathlib import Path

import pytest
from gateway_bench import Bench, bench
from interlock import CallStatus
from interlock.errors import InvalidRequestError
from waiting import eventually

LARGE = "word " * 30_000


def arrived(at: Bench, count: int) -> bool:
    """Whether so many calls have arrived at the gateway, which may have ended some."""
    return at.gateway.rooms.pipeline.in_flight + len(at.ledger.ran) >= count


def gone(process_id: int) -> bool:
    return not Path(f"/proc/{process_id}").exists()


@pytest.mark.req("PIPE-10", "REL-7")
async def test_a_large_call_that_is_repeated_while_it_runs_and_afterwards_runs_once(at: Bench) -> None:
    session = at.agent.session("s")
    asked = [asyncio.create_task(session.call("set_value", {"value": LARGE}, call_id="c")) for _ in range(2)]
    results = [*await asyncio.gather(*asked), await session.call("set_value", {"value": LARGE}, call_id="c")]
    assert {result.text for result in results} == {"was first"}
    assert at.ledger.ran == [("set_value", LARGE)]
    with pytest.raises(InvalidRequestError, match="was used for another call"):
        await session.call("set_value", {"value": LARGE + "more"}, call_id="c")


@pytest.mark.req("PIPE-4", "REL-7")
async def test_a_large_input_that_does_not_fit_the_schema_is_denied_with_the_same_words(at: Bench) -> None:
    session = at.agent.session("s")
    small = await session.call("echo", {"text": "x", "more": [1]})
    large = await session.call("echo", {"text": LARGE, "more": [1.5, {"deep": LARGE}]})
    assert (large.status, large.text) == (small.status, small.text)
    assert large.status is CallStatus.DENIED
    assert at.ledger.ran == []


@pytest.mark.req("AUD-1", "CHK-3", "REL-7")
async def test_a_large_input_is_sent_as_it_came_and_its_process_ends_with_the_gateway(socket_directory: Path) -> None:
    async with bench(socket_directory) as at:
        session = at.agent.session("s")
        result = await session.call("echo", {"text": LARGE})
        again = await session.call("echo", {"text": LARGE})
        assert result.decision.call_digest == again.decision.call_digest
        assert at.ledger.ran == [("echo", LARGE)] * 2
        (reader,) = at.gateway.rooms.pipeline.large_inputs.process_ids
    assert gone(reader)


@pytest.mark.req("PIPE-3", "REL-7")
async def test_calls_of_one_session_keep_their_order_around_a_large_one(at: Bench) -> None:
    session = at.agent.session("s")
    values = ["small", LARGE, json.dumps(list(range(30_000))), "last"]
    under_way = []
    for value in values:
        under_way.append(asyncio.create_task(session.call("set_value", {"value": value})))
        await eventually(partial(arrived, at, len(under_way)))
    await asyncio.gather(*under_way)
    assert at.ledger.ran == [("set_value", value) for value in values]
