"""An operator says what came of an apply whose outcome is not known, and does nothing else for the agent (PREV-14)."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from gateway_bench import Bench, Ledger, bench
from interlock import CallStatus
from interlock import Gateway as Client
from interlock.errors import InvalidRequestError, RequestError
from interlock.provider import DryRunResult, Tool, tool
from interlock_gateway.audit.read import read_records
from waiting import eventually


class Slow:
    """A tool whose applies never end by themselves."""

    def __init__(self) -> None:
        self.started, self.ended = asyncio.Event(), asyncio.Event()

    def tools(self, _: Ledger) -> list[Tool[..., Any]]:
        @tool(destructive=True)
        async def slow(name: str) -> str:
            """Never finish."""
            self.started.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.ended.set()
            return name

        @slow.dry_run
        def would(name: str) -> DryRunResult:
            return DryRunResult(preview="slowly", state_token="s", label=name)

        return [slow]


async def left_unknown(at: Bench, slow: Slow, name: str) -> str:
    """Apply a change and hang up while it runs; the pending action of which nobody knows what came of it."""
    slow.started.clear()
    slow.ended.clear()
    session = at.agent.session("s")
    previewed = await session.call("slow", {"name": name})
    assert previewed.pending is not None
    applying = asyncio.create_task(session.resolve("apply", "go", timeout=30))
    await asyncio.wait_for(slow.started.wait(), 5)
    applying.cancel()
    await asyncio.wait_for(slow.ended.wait(), 5)
    await asyncio.gather(applying, return_exceptions=True)
    await eventually(at.gateway.idle)
    return previewed.pending.pending_id


@pytest.fixture
def slow() -> Slow:
    return Slow()


@pytest.fixture
async def unsure(socket_directory: Path, slow: Slow) -> AsyncIterator[Bench]:
    async with bench(socket_directory, tools=slow.tools) as at:
        yield at


@pytest.mark.req("PREV-14", "AUD-1", "AUTH-2")
async def test_an_operator_says_what_came_of_an_action_under_their_own_name(socket_directory: Path, slow: Slow) -> None:
    async with bench(socket_directory, tools=slow.tools) as at:
        first, second = [await left_unknown(at, slow, name) for name in ("first", "second")]
        async with Client(at.gateway.endpoints.operators[0]) as operator:
            session = operator.session("s")
            assert {one.pending_id for one in (await session.pending()).actions} == {first, second}

            told = await session.resolve("apply", "the row is there", {"outcome": "applied"}, pending_id=first)

            assert (told.status, told.text) == (CallStatus.COMPLETED, "Recorded: first was applied.")
            assert told.details["label"] == "first"
            (left,) = (await at.agent.session("s").pending()).actions
            assert (left.pending_id, left.state) == (second, "outcome_unknown")
            await session.resolve("discard", "it is not there", {"outcome": "not_applied"})
        assert (await at.agent.session("s").pending()).actions == ()
    records: list[dict[str, Any]] = [dict(one.record) for one in read_records(socket_directory / "state" / "audit")]
    receipts = [one for one in records if one["kind"] == "receipt"]
    settled, again = [one for one in receipts if [it["code"] for it in one["result"]["reasons"]] == ["settled"]]
    agents = {one["requested_by"] for one in receipts if one["tool"] == "slow"}
    assert {settled["requested_by"], again["requested_by"]}.isdisjoint(agents)
    assert (settled["session_id"], settled["pending_id"], again["pending_id"]) == ("s", first, second)
    assert settled["resolution"]["reason"] == "the row is there"
    assert settled["resolution"]["extra"] == {"outcome": "applied"}


@pytest.mark.req("PREV-14", "AUTH-2")
async def test_an_operator_neither_applies_nor_discards_in_the_agents_place(unsure: Bench, slow: Slow) -> None:
    await left_unknown(unsure, slow, "first")
    await unsure.agent.session("s").call("slow", {"name": "second"})
    slow.started.clear()
    async with Client(unsure.gateway.endpoints.operators[0]) as operator:
        for extra in (None, {"outcome": "who knows"}, {}):
            with pytest.raises(InvalidRequestError, match="is the agent's"):
                await operator.session("s").resolve("apply", "for them", extra)
            with pytest.raises(InvalidRequestError, match="is the agent's"):
                await operator.session("s").resolve("discard", "for them", extra)
        with pytest.raises(InvalidRequestError, match="reason"):
            await operator.session("s").resolve("apply", " ", {"outcome": "applied"})
    assert not slow.started.is_set()
    states = [one.state for one in (await unsure.agent.session("s").pending()).actions]
    assert states == ["pending", "outcome_unknown"]


@pytest.mark.req("PREV-14")
async def test_nothing_is_settled_that_is_not_unknown(unsure: Bench, slow: Slow) -> None:
    pending_id = await left_unknown(unsure, slow, "first")
    said = {"outcome": "applied"}
    async with Client(unsure.gateway.endpoints.operators[0]) as operator:
        for session_id, named in (("nobodys", ""), ("s", "another")):
            with pytest.raises(RequestError):
                await operator.session(session_id).resolve("apply", "it is there", said, pending_id=named)
        mistaken = await unsure.agent.session("s").resolve("apply", "it is there", said, pending_id="another")
        assert mistaken.text == "No pending action has an unknown outcome."
        await operator.session("s").resolve("apply", "it is there", said, pending_id=pending_id)
        with pytest.raises(RequestError):
            await operator.session("s").resolve("apply", "it is there", said, pending_id=pending_id)
