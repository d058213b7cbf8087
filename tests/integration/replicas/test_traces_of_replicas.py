"""A call that one gateway began and another goes on with, in traces (OBS-2)."""

import asyncio
from pathlib import Path

import pytest
from interlock.admin import Approvals
from interlock.tracing import trace_context
from otlp_collector import collecting
from postgres_server import PostgresServer
from test_people_and_replicas import watched
from two_gateways import approver_at, two_gateways
from waiting import eventually

FIRST = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
SECOND = "00-11111111111111111111111111111111-2222222222222222-01"


@pytest.mark.req("OBS-2")
async def test_a_call_that_goes_on_at_another_replica_is_linked_to_how_it_began(
    socket_directory: Path, postgres: PostgresServer
) -> None:
    with collecting() as collector, postgres.database() as url:
        tracing = {"INTERLOCK__TRACING__ENDPOINT": collector.endpoint, "INTERLOCK__TRACING__DELAY_S": "0.02"}
        async with two_gateways(socket_directory, url, **tracing) as two, approver_at(two.one, two.other) as asked:
            await watched(two)
            while not asked.empty():
                asked.get_nowait()
            here = await two.one.agent.open_session()
            there = two.other.agent.session(here.session_id)
            with trace_context(FIRST):
                await here.call("wreck", {"what": "x"}, call_id="c", checkpoint_mode="detach")
            await Approvals(two.other.operator).approve(await asyncio.wait_for(asked.get(), 30))
            with trace_context(SECOND):
                assert (await there.wait_call("c", timeout=30)).settled
            await eventually(lambda: any(span.trace_id == SECOND[3:35] for span in collector.spans))
    (began,) = (one for one in collector.named("execute_tool wreck") if one.trace_id == FIRST[3:35])
    (went_on,) = (one for one in collector.named("execute_tool wreck") if one.trace_id == SECOND[3:35])
    assert went_on.links == (began.span_id,)
    assert len({one["service.instance.id"] for one in collector.resources}) == 2
