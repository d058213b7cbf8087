"""What is not known about an undo, and settling it (UNDO-4, PIPE-9)."""

import asyncio
import signal
from pathlib import Path
from typing import Any

import pytest
from gateway_bench import bench
from interlock.errors import RequestError
from interlock.journal import OperationState, RollbackOutcome
from interlock.provider import ToolServer
from interlock_gateway.audit.read import read_records
from rolling_back import put, rolled_back, shelved
from served_gateway import served
from undoable_tools import Shelf, undoable_tools


@pytest.mark.req("UNDO-4", "PIPE-9")
async def test_an_unknown_operation_stops_it_until_somebody_says_what_happened(socket_directory: Path) -> None:
    async with shelved(socket_directory) as (at, shelf):
        session = at.agent.session("s")
        await put(session, "a", "b")
        shelf.trouble["b"] = "hold"
        cut_off = asyncio.create_task(rolled_back(session, since_call_id="put-a"))
        await asyncio.wait_for(shelf.begun.wait(), 10)
        await at.provider.stop(0)
        (line,) = await cut_off
        assert line.outcome is RollbackOutcome.OUTCOME_UNKNOWN
        assert "SettleOperation" in line.message
        assert line.operation.state is OperationState.UNDO_UNKNOWN

    shelf.trouble.clear()
    async with bench(socket_directory, tools=lambda _: undoable_tools(shelf)) as at:
        session = at.agent.session("s")
        (line,) = await rolled_back(session, since_call_id="put-a")
        assert (line.outcome, line.remaining) == (RollbackOutcome.OUTCOME_UNKNOWN, 2)
        assert shelf.undone == []

        operation_id = line.operation.operation_id
        settled = await session.settle_operation(operation_id, "none", "b is as it was")
        assert settled.state is OperationState.UNDO_FAILED
        with pytest.raises(RequestError) as refused:
            await session.settle_operation(operation_id, "took_effect", "no, really")
        assert refused.value.reason == "STALE_CONFIRMATION"
        lines = await rolled_back(session, since_call_id="put-a")
        assert [str(one.outcome) for one in lines] == ["undone", "undone"]
        assert shelf.undone == ["b", "a"]


@pytest.mark.req("AUD-1", "UNDO-4")
async def test_what_somebody_says_about_the_unknown_is_in_the_audit(socket_directory: Path) -> None:
    async with shelved(socket_directory) as (at, shelf):
        session = at.agent.session("s")
        await put(session, "a")
        shelf.trouble["a"] = "hold"
        cut_off = asyncio.create_task(rolled_back(session, count=1))
        await asyncio.wait_for(shelf.begun.wait(), 10)
        await at.provider.stop(0)
        (line,) = await cut_off
        settled = await session.settle_operation(line.operation.operation_id, "took_effect", "I saw it")
        assert settled.state is OperationState.UNDONE
    (said,) = [
        one.record
        for one in read_records(socket_directory / "state" / "audit")
        if "settled" in str(one.record.get("result"))
    ]
    result: Any = said["result"]
    assert result["reasons"][0]["message"].endswith("its undo took effect. I saw it")


@pytest.mark.req("REL-9", "UNDO-4")
async def test_a_gateway_that_is_told_to_end_does_not_wait_for_an_undo_for_ever(socket_directory: Path) -> None:
    shelf = Shelf()
    async with ToolServer(undoable_tools(shelf), f"unix:{socket_directory}/held.sock", name="held") as provider:
        async with served(socket_directory, drain_s=0.5) as gateway:
            session = gateway.agent.session("s")
            await put(session, "a")
            shelf.trouble["a"] = "hold"
            rolling = asyncio.create_task(rolled_back(session, count=1))
            await asyncio.wait_for(shelf.begun.wait(), 10)
            assert await gateway.ended_by(signal.SIGTERM) == 0
            await asyncio.gather(rolling, return_exceptions=True)
        async with served(socket_directory) as gateway:
            (line,) = await rolled_back(gateway.agent.session("s"), count=1)
            assert line.operation.state is OperationState.UNDO_UNKNOWN
            assert shelf.undone == []
        shelf.released.set()
        await provider.stop(0)
