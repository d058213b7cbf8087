"""Workers that take the place of lost ones come from a process that holds the policies (decision 0129)."""

import asyncio
import os
import signal
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

import pytest
from child_processes import children
from engine_bundles import answering
from engine_running import failure, running_engine, said
from interlock_gateway.core.decision import GatewayErrorCode
from interlock_gateway.policy.embedded import nursery_worker
from interlock_gateway.policy.embedded.engine import EmbeddedEngine, PoolSettings
from interlock_gateway.policy.embedded.nursery import Nursery
from interlock_gateway.policy.embedded.process import ALLOCATOR, WorkerLimits
from interlock_gateway.policy.embedded.wire import pack
from scheduling import IDLE, place_of
from waiting import eventually

SETTINGS = PoolSettings(workers=1, most_workers=2, timeout_s=30.0, memory_bytes=32 * 1024 * 1024)
SCRIPT = Path(nursery_worker.__file__).name
running = partial(running_engine, settings=SETTINGS)


@asynccontextmanager
async def a_nursery() -> AsyncIterator[Nursery]:
    policies = pack(["{}", "main.rego", answering("born").modules[0][1]])
    nursery = Nursery(policies, WorkerLimits(1 << 26, 2.0), spare_s=10.0)
    try:
        yield nursery
    finally:
        nursery.end()


def read(process_id: int, name: str) -> str:
    return Path(f"/proc/{process_id}/{name}").read_text()


def runs(process_id: int) -> str:
    return read(process_id, "cmdline").replace("\0", " ")


def sockets_of(process_id: int) -> list[bool]:
    """Of each open descriptor whether it is a socket."""
    return [stat.S_ISSOCK(one.stat().st_mode) for one in Path(f"/proc/{process_id}/fd").iterdir()]


def nurseries() -> set[int]:
    """Those among our children that never answer: what came from them has another process's line, too."""
    return {one for one in children() if SCRIPT in runs(one) and os.getpgid(one) == one}


async def replaced(engine: EmbeddedEngine) -> int:
    """Lose the only worker; the one that took its place."""
    (before,) = engine.process_ids
    os.kill(before, signal.SIGKILL)
    await eventually(lambda: engine.ready and engine.process_ids[0] != before)
    return engine.process_ids[0]


@pytest.mark.req("ENG-4")
async def test_what_takes_a_lost_workers_place_is_our_own_child_with_nothing_but_its_socket() -> None:
    async with running() as engine:
        process_id = await replaced(engine)
        assert await said(engine) == "hello"
        assert process_id in children()
        (nursery,) = nurseries()
        assert os.getpgid(process_id) == nursery != os.getpgid(0)
        assert sorted(sockets_of(process_id)) == [False, False, False, True]
        words = read(process_id, "environ").split("\0")
        assert {word.partition("=")[0] for word in words if word} <= ALLOCATOR.keys()


@pytest.mark.req("REL-7")
async def test_what_takes_a_runaways_place_has_its_whole_share_of_the_processor() -> None:
    ours = place_of(os.getpid())
    async with running() as engine:
        (first,) = engine.process_ids
        runaway = asyncio.create_task(failure(engine, b'{"do": "loop"}'))
        await eventually(lambda: len(engine.process_ids) == 2)
        assert place_of(first).policy == IDLE
        assert place_of(engine.process_ids[1]) == ours
        assert SCRIPT in runs(engine.process_ids[1])
        assert await said(engine) == "hello"
        runaway.cancel()


@pytest.mark.req("ENG-4")
async def test_it_has_the_limits_of_any_other_worker() -> None:
    async with running() as engine:
        process_id = await replaced(engine)
        limits = [line.split() for line in read(process_id, "limits").splitlines()]
        (core,) = (words for words in limits if words[1] == "core")
        (space,) = (words for words in limits if words[1] == "address")
        assert core[4:6] == ["0", "0"]
        assert int(space[3]) < 1 << 30
        assert await failure(engine, b'{"do": "bomb"}') is GatewayErrorCode.POLICY_CRASHED
        assert await said(engine) == "hello"


@pytest.mark.req("ENG-4")
async def test_many_lost_workers_leave_one_process_and_that_ends_when_none_is_lost_for_long() -> None:
    before = children()
    async with running(settings=PoolSettings(workers=1, most_workers=1, timeout_s=30.0, spare_s=3.0)) as engine:
        for _ in range(5):
            last = await replaced(engine)
        # Who was lost is waited for soon after another has taken its place.
        await eventually(lambda: children() - before == {last, *nurseries()})
        assert len(nurseries()) == 1
        await eventually(lambda: not nurseries())
        assert await said(engine) == "hello", "who came from it lives on"
        assert await replaced(engine) != last
    assert children() == before


@pytest.mark.req("ENG-4")
async def test_without_it_workers_are_started_as_the_first_ones_were() -> None:
    async with running() as engine:
        await replaced(engine)
        os.kill(nurseries().pop(), signal.SIGKILL)
        assert SCRIPT not in runs(await replaced(engine))
        assert SCRIPT in runs(await replaced(engine)), "and then there is one again"
        assert await said(engine) == "hello"


@pytest.mark.req("ENG-4")
async def test_where_the_system_does_not_allow_it_it_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[object] = []

    def refuse(script: Path, *_: object, **__: object) -> None:
        tried.append(script)
        raise PermissionError

    monkeypatch.setattr("interlock_gateway.policy.embedded.nursery.start_isolated", refuse)
    async with running() as engine:
        for _ in range(3):
            assert SCRIPT not in runs(await replaced(engine))
    assert len(tried) == 1


@pytest.mark.req("ENG-4")
@pytest.mark.parametrize("turns", [0, 1, 2, 3, 5, 8])
async def test_a_birth_that_is_broken_off_leaves_no_process(turns: int) -> None:
    before = children()
    async with a_nursery() as nursery:
        for _ in range(2):  # with and without the time that it takes to load
            birth = asyncio.create_task(nursery.born())
            for _ in range(turns):
                await asyncio.sleep(0)
            birth.cancel()
            with suppress(asyncio.CancelledError):
                process, ours = await birth  # it was faster
                ours.close()
                process.kill()
                process.wait()
            assert children() - before <= nurseries()
    assert children() == before


@pytest.mark.req("ENG-4")
async def test_a_process_that_hangs_holds_up_nobody_who_breaks_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlock_gateway.policy.embedded.nursery.BROKEN_OFF_S", 0.01)
    before = children()
    async with a_nursery() as nursery:
        process, ours = await nursery.born()
        (hanging,) = nurseries()
        os.kill(hanging, signal.SIGSTOP)
        birth = asyncio.create_task(nursery.born())
        await asyncio.sleep(0)
        birth.cancel()
        async with asyncio.timeout(5.0):
            await asyncio.wait([birth])
        ours.close()
        process.kill()
        process.wait()
    assert children() == before


@pytest.mark.req("ENG-4")
async def test_one_that_hangs_delays_what_takes_a_lost_workers_place_by_a_second_and_is_ended() -> None:
    before = children()
    async with running() as engine:
        await replaced(engine)
        (hanging,) = nurseries()
        os.kill(hanging, signal.SIGSTOP)
        async with asyncio.timeout(5.0):
            process_id = await replaced(engine)
        assert SCRIPT not in runs(process_id), "it was started as the first ones are"
        assert children() - before == {process_id}, "neither it nor what it was asked for is left"
        assert await said(engine) == "hello"
        assert SCRIPT in runs(await replaced(engine)), "and then there is one again"


@pytest.mark.req("ENG-4")
async def test_one_that_takes_too_long_to_load_the_policies_is_ended_and_tried_again_with_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = children()
    async with running() as engine:
        with monkeypatch.context() as patched:
            patched.setattr("interlock_gateway.policy.embedded.nursery.LOAD_S", 0.0)
            process_id = await replaced(engine)
        assert SCRIPT not in runs(process_id)
        assert children() - before == {process_id}
        assert SCRIPT in runs(await replaced(engine))


@pytest.mark.req("ENG-4")
async def test_what_was_made_by_one_that_says_no_more_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlock_gateway.policy.embedded.nursery.ANSWER_S", 0.0)
    before = children()
    async with a_nursery() as nursery:
        with suppress(ConnectionError):  # it was ended before it had made one
            process, ours = await nursery.born()
            ours.close()
            process.kill()
            process.wait()
    assert children() == before


@pytest.mark.req("LIFE-3")
async def test_policies_that_were_replaced_leave_nothing_that_could_become_a_worker() -> None:
    async with running(answering("first")) as engine:
        await replaced(engine)
        (old,) = nurseries()
        await engine.replace(answering("second"))
        await eventually(lambda: old not in children())
        await replaced(engine)
        assert await said(engine) == "second"
