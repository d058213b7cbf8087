"""Ending a gateway: in order, losing nothing (REL-9); and in the middle of a change, misleading nobody (REL-4)."""

import asyncio
import signal
import statistics
import time
from pathlib import Path

import grpc.aio
import pytest
from gateway_bench import bench
from grpc_health.v1 import health_pb2, health_pb2_grpc
from interlock import CallResult, CallStatus
from interlock.errors import RequestError
from interlock.provider import tool
from interlock_gateway.audit.verify import LogEnd, verify
from served_gateway import Served, holding, served

ENDS = 5
"""How often the last test hangs up, and lets a deadline pass; it looks at the median."""


async def hammer(gateway: Served, name: str, acknowledged: dict[str, CallResult], enough: asyncio.Event) -> None:
    """Append one value after another, until the gateway takes no more."""
    session = gateway.agent.session(name)
    for n in range(10_000):
        value = f"{name}-{n}"
        try:
            acknowledged[value] = await session.call("append", {"value": value}, call_id=value)
        except RequestError:
            return
        if len(acknowledged) >= 40:
            enough.set()


@pytest.mark.req("REL-9", "PIPE-9", "PIPE-10", "STATE-2")
async def test_a_drain_under_load_lets_every_call_finish_and_loses_nothing(socket_directory: Path) -> None:
    acknowledged: dict[str, CallResult] = {}
    async with holding(socket_directory) as held:
        async with served(socket_directory) as gateway, grpc.aio.insecure_channel(gateway.agents) as channel:
            health = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest())
            assert (await health.read()).status == health_pb2.HealthCheckResponse.SERVING
            waiting = [
                asyncio.create_task(gateway.agent.session("holds").call("hold", {"value": "held"}, call_id="held")),
                asyncio.create_task(gateway.agent.session("looks").call("look", {})),
            ]
            await held.has_begun("held")
            await held.has_begun("look")
            enough = asyncio.Event()
            load = [asyncio.create_task(hammer(gateway, f"load{n}", acknowledged, enough)) for n in range(4)]
            await asyncio.wait_for(enough.wait(), 30)
            ending = asyncio.create_task(gateway.ended_by(signal.SIGTERM))
            assert (await health.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING
            assert not any(call.done() for call in waiting)
            await asyncio.gather(*load)
            held.released.set()
            assert [(await call).status for call in waiting] == [CallStatus.COMPLETED, CallStatus.COMPLETED]
            assert await ending == 0
        assert sorted(held.ran) == sorted([*acknowledged, "held", "look"])
        assert {result.status for result in acknowledged.values()} == {CallStatus.COMPLETED}
        async with served(socket_directory) as again:
            for name in ("load0", "load3"):
                session = again.agent.session(name)
                mine = [value for value in acknowledged if value.startswith(f"{name}-")]
                operations = await session.operations()
                assert {one.call_id for one in operations if one.state.value == "done"} == set(mine)
                repeated = await session.call("append", {"value": mine[-1]}, call_id=mine[-1])
                assert repeated.text == f"appended {mine[-1]}"
            assert (await again.agent.session("new").call("append", {"value": "new"})).text == "appended new"
            assert await again.ended_by(signal.SIGTERM) == 0
    assert held.ran.count("new") == 1
    assert len(held.ran) == len(set(held.ran))
    state = socket_directory / "state"
    report = verify(state / "audit", (state / "audit-key.pem.pub").read_bytes())
    assert (report.problem, report.end) == ("", LogEnd.CLOSED)


@pytest.mark.req("REL-9", "PIPE-7")
async def test_what_does_not_end_in_time_is_cancelled_at_the_provider_and_unknown_afterwards(
    socket_directory: Path,
) -> None:
    async with holding(socket_directory) as held:
        async with served(socket_directory, drain_s=0.3) as gateway:
            calling = asyncio.create_task(
                gateway.agent.session("s").call("hold", {"value": "v"}, call_id="c", timeout=3)
            )
            await held.has_begun("v")
            assert await gateway.ended_by(signal.SIGINT) == 0
            await asyncio.gather(calling, return_exceptions=True)
        assert (held.ran, held.cancelled) == ([], ["v"])
        async with served(socket_directory) as again:
            found = await again.agent.session("s").call("hold", {"value": "v"}, call_id="c")
            assert found.status is CallStatus.OUTCOME_UNKNOWN
            (operation,) = await again.agent.session("s").operations()
            assert operation.state.value == "outcome_unknown"


@pytest.mark.req("REL-4", "PIPE-9", "PIPE-10", "PREV-13", "PREV-14")
async def test_a_kill_in_the_middle_of_a_change_leaves_it_unknown_and_nothing_is_run_again(
    socket_directory: Path,
) -> None:
    async with holding(socket_directory) as held:
        async with served(socket_directory) as gateway:
            agent = gateway.agent
            await agent.session("s").call("append", {"value": "before"}, call_id="before")
            await agent.session("waits").call("hold_previewed", {"value": "later"})
            await agent.session("applies").call("hold_previewed", {"value": "applied"})
            under_way = [
                asyncio.create_task(agent.session("s").call("hold", {"value": "v"}, call_id="c", timeout=5)),
                asyncio.create_task(agent.session("applies").resolve("apply", "now", timeout=5)),
            ]
            await held.has_begun("v")
            await held.has_begun("applied")
            assert await gateway.ended_by(signal.SIGKILL) == -signal.SIGKILL
            for call in under_way:
                call.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)
        held.released.set()
        began = time.monotonic()
        async with served(socket_directory) as again:
            session = again.agent.session("s")
            assert (await session.call("append", {"value": "before"}, call_id="before")).text == "appended before"
            assert time.monotonic() - began < 30
            unknown = await session.call("hold", {"value": "v"}, call_id="c")
            assert unknown.status is CallStatus.OUTCOME_UNKNOWN
            assert {one.call_id: one.state.value for one in await session.operations()} == {
                "before": "done",
                "c": "outcome_unknown",
            }
            applying = await again.agent.session("applies").resolve("apply", "again")
            assert "The outcome of append applied is not known." in applying.text
            assert (await again.agent.session("waits").resolve("apply", "now")).text == "held later"
            assert await again.ended_by(signal.SIGTERM) == 0
    # Each of the two that were under way may have taken effect or not, and none of them twice.
    assert len(held.ran) == len(set(held.ran))
    assert {"before", "later"} <= set(held.ran) <= {"before", "later", "applied", "v"}
    state = socket_directory / "state"
    assert verify(state / "audit", (state / "audit-key.pem.pub").read_bytes()).ok


@pytest.mark.req("REL-9", "PIPE-7")
async def test_a_hang_up_and_a_deadline_reach_the_provider_at_once(socket_directory: Path) -> None:
    started, times = asyncio.Event(), []

    @tool(read_only=True)
    async def stuck() -> str:
        """Never answer."""
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            times.append(time.monotonic())
        return "never"

    async def lag_behind(due: float, known: int) -> float:
        while len(times) == known:
            await session.tools()
        started.clear()
        return times[-1] - due

    async with bench(socket_directory, tools=lambda _: [stuck]) as at:
        session = at.agent.session("s")
        hung_up, expired = [], []
        for _ in range(ENDS):
            calling, known = asyncio.create_task(session.call("stuck", {}, timeout=30)), len(times)
            await asyncio.wait_for(started.wait(), 30)
            calling.cancel()
            due = time.monotonic()
            await asyncio.gather(calling, return_exceptions=True)
            hung_up.append(await lag_behind(due, known))
            due, known = time.monotonic() + 0.3, len(times)
            with pytest.raises(RequestError):
                await session.call("stuck", {}, timeout=0.3)
            expired.append(await lag_behind(due, known))
        # The machine may be busy with something else now and then; the gateway is in time more often than not.
        assert statistics.median(hung_up) <= 0.2
        assert statistics.median(expired) <= 0.2
