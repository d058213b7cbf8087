"""Whatever happens between the start and the end of an engine, no worker process stays behind (ENG-4)."""

import asyncio
import os
import stat
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import uvloop
from child_processes import children
from engine_bundles import answering, bundle
from interlock_gateway.core.decision import DecisionError
from interlock_gateway.policy.embedded.engine import EmbeddedEngine, PoolSettings
from interlock_gateway.policy.engine import PolicyUnavailableError
from interlock_gateway.policy.loader import load_bundle

SETTINGS = PoolSettings(timeout_s=30.0, memory_bytes=64 * 1024 * 1024)
LOOPING, CRASHING = b'{"do": "loop"}', b'{"do": "recurse"}'
# Where a start is broken off: from before the first process to workers that load; then there is nothing to break off.
TURNS = (0, 1, 2, 3, 4, 6, 10)
# 17 MiB were measured, and 23 with the engine's allocator left to itself.
MOST_MIB = 24.0

Run: TypeAlias = Callable[[Coroutine[Any, Any, None]], None]
on_both_loops = pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
broken_off_anywhere = pytest.mark.parametrize("turns", TURNS)


def resident_mib(process_id: int) -> float:
    pages = int(Path(f"/proc/{process_id}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def sockets() -> int:
    """How many sockets are open. Other descriptors do not count: a loop may open some of its own at any time."""
    with os.scandir("/proc/self/fd") as entries:
        return sum(stat.S_ISSOCK(entry.stat().st_mode) for entry in entries)


async def a_while(turns: int) -> None:
    for _ in range(turns):
        await asyncio.sleep(0)


def leaves_nothing(run: Run, scene: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Play `scene` in a loop of its own, and look before that loop has ended: a process must not live even so long."""

    async def watched() -> None:
        before, open_before = children(), sockets()
        await scene()
        assert children() == before
        await a_while(3)
        assert sockets() == open_before

    run(watched())


async def cancelled(task: "asyncio.Task[Any]") -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


@pytest.mark.req("ENG-4")
@on_both_loops
@broken_off_anywhere
def test_a_start_that_is_cancelled_leaves_no_process(run: Run, turns: int) -> None:
    async def scene() -> None:
        engine = EmbeddedEngine(bundle(), SETTINGS)
        starting = asyncio.create_task(engine.start())
        await a_while(turns)
        await cancelled(starting)

    leaves_nothing(run, scene)


@pytest.mark.req("ENG-4")
@on_both_loops
@broken_off_anywhere
def test_an_engine_that_is_closed_while_it_starts_leaves_no_process_and_says_so(run: Run, turns: int) -> None:
    async def scene() -> None:
        engine = EmbeddedEngine(bundle(), SETTINGS)
        starting = asyncio.create_task(engine.start())
        await a_while(turns)
        await engine.close()
        with pytest.raises(PolicyUnavailableError, match="closed"):
            await starting
        assert not engine.ready

    leaves_nothing(run, scene)


@pytest.mark.req("ENG-4", "LIFE-3")
@on_both_loops
@broken_off_anywhere
def test_a_replacement_that_is_cancelled_leaves_no_process_and_the_active_policies(run: Run, turns: int) -> None:
    async def scene() -> None:
        engine = EmbeddedEngine(answering("first"), SETTINGS)
        await engine.start()
        replacing = asyncio.create_task(engine.replace(answering("second")))
        await a_while(turns)
        await cancelled(replacing)
        assert b"first" in (await engine.evaluate(b"{}")).document
        await engine.close()

    leaves_nothing(run, scene)


@pytest.mark.req("ENG-4", "LIFE-3")
@on_both_loops
@broken_off_anywhere
def test_an_engine_that_is_closed_while_it_is_given_policies_leaves_no_process(run: Run, turns: int) -> None:
    async def scene() -> None:
        engine = EmbeddedEngine(answering("first"), SETTINGS)
        await engine.start()
        replacing = asyncio.create_task(engine.replace(answering("second")))
        await a_while(turns)
        await engine.close()
        processes = children()
        with pytest.raises(PolicyUnavailableError, match="closed"):
            await replacing
        assert children() == processes

    leaves_nothing(run, scene)


@pytest.mark.req("ENG-4", "LIFE-3")
@on_both_loops
def test_an_engine_that_is_closed_while_replaced_policies_still_decide_leaves_no_process(run: Run) -> None:
    async def scene() -> None:
        engine = EmbeddedEngine(bundle(), SETTINGS)
        await engine.start()
        deciding = asyncio.create_task(engine.evaluate(LOOPING))
        await asyncio.sleep(0)
        await engine.replace(answering("second"))
        assert not deciding.done()
        await engine.close()
        assert deciding.done()
        assert deciding.exception() is not None

    leaves_nothing(run, scene)


@pytest.mark.req("ENG-4")
@on_both_loops
@broken_off_anywhere
def test_a_close_that_is_cancelled_leaves_no_process(run: Run, turns: int) -> None:
    async def scene() -> None:
        engine = EmbeddedEngine(bundle(), SETTINGS)
        await engine.start()
        closing = asyncio.create_task(engine.close())
        await a_while(turns)
        await cancelled(closing)
        if not turns:  # it was cancelled before it began
            await engine.close()

    leaves_nothing(run, scene)


@pytest.mark.req("ENG-4")
@on_both_loops
@pytest.mark.parametrize(
    "source",
    ["package interlock\n\ndecision := {", "package interlock\n\ndecision := x if {\n\tx == y\n}"],
    ids=["does not parse", "does not compile"],
)
def test_policies_that_do_not_load_leave_no_process_and_start_no_other(run: Run, source: str) -> None:
    async def scene() -> None:
        engine = EmbeddedEngine(bundle(source), SETTINGS)
        with pytest.raises(PolicyUnavailableError):
            await engine.start()

    leaves_nothing(run, scene)


@pytest.mark.req("ENG-4")
@on_both_loops
@broken_off_anywhere
def test_an_engine_that_is_closed_while_it_replaces_a_lost_worker_leaves_no_process(run: Run, turns: int) -> None:
    async def scene() -> None:
        engine = EmbeddedEngine(bundle(), SETTINGS)
        await engine.start()
        with pytest.raises(DecisionError):
            await engine.evaluate(CRASHING)
        await a_while(turns)
        await engine.close()

    leaves_nothing(run, scene)


def test_a_worker_with_the_shipped_policies_takes_little_memory() -> None:
    async def scene() -> None:
        engine = EmbeddedEngine(load_bundle(), SETTINGS)
        await engine.start()
        resident = [resident_mib(process_id) for process_id in engine.process_ids]
        await engine.close()
        assert max(resident) < MOST_MIB

    asyncio.run(scene())
