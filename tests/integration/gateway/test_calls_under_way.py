"""Calls under way: lost, cancelled, too slow, in line behind others, or too many."""

import asyncio
from pathlib import Path

import pytest
from gateway_bench import bench
from interlock import CallStatus
from interlock.errors import RequestError
from interlock.provider import tool
from interlock_gateway.config import LimitsConfig, PolicyConfig
from waiting import eventually


@pytest.mark.req("PIPE-7", "PIPE-9")
async def test_a_provider_lost_in_the_middle_leaves_a_change_unknown_and_never_runs_it_again(
    socket_directory: Path,
) -> None:
    started = asyncio.Event()
    runs: list[str] = []

    @tool(destructive=False, reversible=True)
    async def slow_change(value: str) -> str:
        """Change, and be lost."""
        runs.append(value)
        started.set()
        await asyncio.Event().wait()
        return "never"

    async with bench(socket_directory, tools=lambda _: [slow_change]) as at:
        session = at.agent.session("s")
        calling = asyncio.create_task(session.call("slow_change", {"value": "v"}, call_id="c", timeout=30))
        await asyncio.wait_for(started.wait(), 30)
        await at.provider.stop(0)
        result = await asyncio.wait_for(calling, 10)
        assert result.status is CallStatus.OUTCOME_UNKNOWN
        (operation,) = await session.operations()
        assert operation.state.value == "outcome_unknown"
        again = await session.call("slow_change", {"value": "v"}, call_id="c")
        assert again.status is CallStatus.OUTCOME_UNKNOWN
    assert runs == ["v"]


@pytest.mark.req("PIPE-7")
async def test_cancelling_a_call_reaches_the_provider_and_the_journal_says_unknown(socket_directory: Path) -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    @tool(destructive=False, reversible=True)
    async def slow_change() -> str:
        """Change slowly."""
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "never"

    async with bench(socket_directory, tools=lambda _: [slow_change]) as at:
        session = at.agent.session("s")
        calling = asyncio.create_task(session.call("slow_change", {}, timeout=30))
        await asyncio.wait_for(started.wait(), 30)
        calling.cancel()
        await asyncio.wait_for(ended.wait(), 30)
        await asyncio.gather(calling, return_exceptions=True)
        await eventually(at.gateway.idle)
        (operation,) = await session.operations()
        assert operation.state.value == "outcome_unknown"


@pytest.mark.req("PIPE-7")
async def test_the_tools_deadline_ends_the_call_at_the_provider(socket_directory: Path) -> None:
    ended = asyncio.Event()

    @tool(read_only=True, timeout=0.3)
    async def stuck() -> str:
        """Never answer."""
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "never"

    async with bench(socket_directory, tools=lambda _: [stuck]) as at:
        result = await at.agent.session("s").call("stuck", {}, timeout=20)
        assert result.status is CallStatus.FAILED
        assert "did not answer in time" in result.text
        await asyncio.wait_for(ended.wait(), 30)


@pytest.mark.req("PIPE-7")
async def test_policys_deadline_ends_the_call_at_the_provider(socket_directory: Path) -> None:
    ended = asyncio.Event()

    @tool(read_only=True, timeout=20)
    async def stuck() -> str:
        """Never answer."""
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "never"

    custom = socket_directory / "overlay" / "custom"
    custom.mkdir(parents=True)
    (custom / "soon.rego").write_text(
        'package interlock.custom\n\nfindings contains {"verdict": "none", "rule": "custom/soon", '
        '"obligations": {"timeout_s": 0.3}} if input.tool.name == "stuck"\n'
    )
    policy = PolicyConfig(overlays=(socket_directory / "overlay",))
    async with bench(socket_directory, tools=lambda _: [stuck], policy=policy) as at:
        result = await at.agent.session("s").call("stuck", {}, timeout=20)
        assert result.status is CallStatus.FAILED
        assert "did not answer in time" in result.text
        await asyncio.wait_for(ended.wait(), 30)


@pytest.mark.req("PIPE-8")
async def test_unsafe_calls_of_a_session_run_alone_in_the_order_they_came(socket_directory: Path) -> None:
    events: list[str] = []
    release = asyncio.Event()

    @tool(destructive=False, reversible=True)
    async def alone(n: int) -> str:
        """Run alone."""
        events.append(f"begin {n}")
        await release.wait()
        events.append(f"end {n}")
        return str(n)

    @tool(read_only=True, concurrency_safe=True)
    async def beside(n: int) -> str:
        """Run beside others."""
        events.append(f"beside {n}")
        return str(n)

    async with bench(socket_directory, tools=lambda _: [alone, beside]) as at:
        session = at.agent.session("s")
        calls = []
        for n in range(3):
            calls.append(asyncio.create_task(session.call("alone", {"n": n})))
            await eventually(lambda: at.gateway.rooms.pipeline.in_flight == len(calls))
        other = await at.agent.session("t").call("beside", {"n": 9})
        assert other.text == "9"
        await eventually(lambda: bool(events) or any(call.done() for call in calls))
        assert [call.result() for call in calls if call.done()] == []
        assert [event for event in events if "beside" not in event] == ["begin 0"]
        release.set()
        await asyncio.gather(*calls)
    assert [event for event in events if "beside" not in event] == [
        "begin 0",
        "end 0",
        "begin 1",
        "end 1",
        "begin 2",
        "end 2",
    ]


async def test_too_many_calls_in_flight_are_refused_with_retry_info(socket_directory: Path) -> None:
    release = asyncio.Event()

    @tool(read_only=True, concurrency_safe=True)
    async def wait() -> str:
        """Wait."""
        await release.wait()
        return "done"

    limits = LimitsConfig(max_calls_in_flight=2)
    async with bench(socket_directory, tools=lambda _: [wait], limits=limits) as at:
        calls = [asyncio.create_task(at.agent.session(f"s{n}").call("wait", {})) for n in range(2)]
        await eventually(lambda: at.gateway.rooms.pipeline.in_flight == 2)
        with pytest.raises(RequestError) as refused:
            await at.agent.session("s3").call("wait", {}, timeout=1)
        assert refused.value.reason == "OVERLOADED"
        release.set()
        assert [result.text for result in await asyncio.gather(*calls)] == ["done", "done"]
