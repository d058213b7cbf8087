"""What is looked up for long is not overtaken by what came later in its session (PIPE-8)."""

import asyncio
from pathlib import Path

import pytest
from gateway_bench import Bench, bench
from interlock.provider import tool
from interlock_gateway.pipeline.state_records import CallRecord
from interlock_gateway.state.call_store import Calls
from rolling_back import outcomes, put, rolled_back, shelved
from waiting import eventually


class Lookups:
    """Looks call ids up as ever, but says so and keeps what was found of one until it is let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, kept: str) -> None:
        self.made: set[str] = set()
        self.let_go = asyncio.Event()
        find_call = Calls.find_call

        async def find(calls: Calls, session_id: str, call_id: str) -> CallRecord | None:
            found = await find_call(calls, session_id, call_id)
            self.made.add(call_id)
            if call_id == kept:
                await self.let_go.wait()
            return found

        monkeypatch.setattr(Calls, "find_call", find)


async def in_flight(at: Bench, count: int) -> None:
    await eventually(lambda: at.gateway.rooms.pipeline.in_flight == count)


@pytest.mark.req("PIPE-8", "PIPE-10")
async def test_calls_run_in_the_order_in_which_they_came(
    socket_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[int] = []
    lookups = Lookups(monkeypatch, "0")

    @tool(destructive=False, reversible=True)
    async def alone(n: int) -> str:
        """Run alone."""
        ran.append(n)
        return str(n)

    async with bench(socket_directory, tools=lambda _: [alone]) as at:
        session = at.agent.session("s")
        calls = []
        for n in range(4):
            calls.append(asyncio.create_task(session.call("alone", {"n": n}, call_id=str(n))))
            await eventually(lambda: len(lookups.made) == len(calls))
        again = asyncio.create_task(session.call("alone", {"n": 2}, call_id="2"))
        await in_flight(at, 5)
        assert (await at.agent.session("t").call("alone", {"n": 9})).text == "9"
        calls[1].cancel()
        await in_flight(at, 4)
        live = at.gateway.rooms.parts.sessions.in_memory("s")
        assert live is not None
        assert not live.idle
        lookups.let_go.set()
        answers = await asyncio.gather(calls[0], calls[2], calls[3], again)
        await eventually(lambda: live.calls == 0)
    assert [answer.text for answer in answers] == ["0", "2", "3", "2"]
    assert ran == [9, 0, 2, 3]
    assert len(at.gateway.rooms.pipeline.arrivals) == 0


@pytest.mark.req("PIPE-8", "UNDO-2")
async def test_a_rollback_takes_back_what_was_asked_for_before_it(
    socket_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with shelved(socket_directory) as (at, shelf):
        session = at.agent.session("s")
        await put(session, "a")
        lookups = Lookups(monkeypatch, "put-b")
        second = asyncio.create_task(put(session, "b"))
        await eventually(lambda: "put-b" in lookups.made)
        arrivals = at.gateway.rooms.pipeline.arrivals
        rolling = asyncio.create_task(rolled_back(session, since_call_id="put-a"))
        await eventually(lambda: len(arrivals) == 2)
        lookups.let_go.set()
        await second
        assert outcomes(await rolling) == [("put-b", "undone", 1), ("put-a", "undone", 0)]
        assert shelf.undone == ["b", "a"]
        assert len(arrivals) == 0
