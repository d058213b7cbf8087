"""Many time limits on one timer end what they are about as `asyncio.timeout` does, and nothing else (MCP-2, REL-10)."""

import asyncio
import gc
import weakref

import pytest
from interlock_gateway.providers.mcp.limits import Limits

SOON, LATE = 0.02, 60.0


async def taking_long(limits: Limits, seconds: float) -> str:
    try:
        with limits.within(seconds):
            await asyncio.Event().wait()
    except TimeoutError:
        return "ended"
    return "never"


@pytest.mark.req("MCP-2")
async def test_each_is_ended_when_its_own_time_is_over() -> None:
    limits = Limits()
    late = asyncio.create_task(taking_long(limits, LATE))
    soon = [asyncio.create_task(taking_long(limits, SOON * times)) for times in (3, 1, 2)]
    assert await asyncio.gather(*soon) == ["ended"] * 3
    assert not late.done()
    late.cancel()
    with pytest.raises(asyncio.CancelledError):
        await late


@pytest.mark.req("MCP-2")
async def test_what_is_over_in_time_is_left_alone_afterwards() -> None:
    limits = Limits()
    with limits.within(SOON):
        pass
    assert await taking_long(limits, SOON * 2) == "ended"
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


@pytest.mark.req("MCP-2")
async def test_who_is_cancelled_for_another_reason_is_cancelled() -> None:
    limits = Limits()

    async def cancelled_as_its_time_ends() -> None:
        with limits.within(SOON):
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                task.cancel()
                raise

    task = asyncio.create_task(cancelled_as_its_time_ends())
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.req("REL-10")
async def test_nothing_stays_of_those_that_are_over() -> None:
    limits = Limits()

    async def quick() -> None:
        with limits.within(LATE):
            pass

    seen: weakref.WeakSet[asyncio.Task[None]] = weakref.WeakSet()
    for _ in range(1000):
        task = asyncio.create_task(quick())
        seen.add(task)
        await task
    del task
    gc.collect()
    assert len(seen) <= 1  # the last one is what this task has just waited for
    assert len(limits._ends) < 200
    limits.close()


@pytest.mark.req("MCP-2")
async def test_none_is_ended_once_its_server_is_closed() -> None:
    limits = Limits()
    waiting = asyncio.create_task(taking_long(limits, SOON))
    await asyncio.sleep(0)
    limits.close()
    assert await taking_long(limits, SOON * 2) == "ended"
    assert not waiting.done()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
