"""When an evaluation has had so much of the processor that it gives way to all others (decision 0136)."""

import asyncio
import select
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from engine_bundles import bundle
from interlock_gateway.policy.embedded.pace import HOGGING_S, MOST_HOGGING_S, Pace
from interlock_gateway.policy.embedded.process import Evaluation, Worker, WorkerLimits, launch
from interlock_gateway.policy.embedded.wire import pack
from waiting import eventually

ANSWER = b'{"do": "answer", "say": "hello"}'


def paced(*seconds: float) -> float:
    pace = Pace()
    for one in seconds:
        pace.took(one)
    return pace.hogging_s


@pytest.mark.req("REL-7")
def test_what_takes_several_times_as_long_as_usual_gives_way_early() -> None:
    assert paced() == MOST_HOGGING_S, "nothing is known yet"
    assert paced(*[0.0001] * 100) == HOGGING_S
    assert paced(*[0.0005] * 200) == pytest.approx(0.003, rel=0.1)
    assert paced(*[0.0001] * 100, 60.0, 60.0) < MOST_HOGGING_S, "two that took very long are not usual"


@pytest.mark.req("REL-7")
def test_where_all_evaluations_take_long_they_have_as_long_as_anybody() -> None:
    assert paced(*[0.003] * 100) == MOST_HOGGING_S
    assert paced(*[60.0] * 1000) == MOST_HOGGING_S


@asynccontextmanager
async def a_worker() -> AsyncIterator[Worker]:
    worker = launch(WorkerLimits(1 << 26, 60.0), lambda _: None, lambda _: None)
    try:
        await worker.connect()
        worker.load(pack(["{}", *bundle().modules[0]]))
        await worker.loaded
        yield worker
    finally:
        worker.kill()
        await worker.reaped


def sent(worker: Worker, document: bytes) -> Evaluation:
    loop = asyncio.get_running_loop()
    evaluation = Evaluation(document, loop.create_future(), loop.time())
    worker.send(evaluation)
    return evaluation


@pytest.mark.req("REL-7")
async def test_what_an_evaluation_used_counts_from_its_beginning_and_not_from_when_it_is_asked_for() -> None:
    async with a_worker() as worker:
        await sent(worker, ANSWER).answer
        before = used_by(worker)
        sent(worker, b'{"do": "loop"}')
        await eventually(lambda: used_by(worker) > before + 0.05)
        assert worker.used_s() > 0.04


@pytest.mark.req("REL-7", "REL-8")
async def test_what_a_worker_did_behind_the_back_of_a_loop_that_was_held_up_is_not_one_evaluations() -> None:
    async with a_worker() as worker:
        sent(worker, ANSWER)
        sent(worker, b'{"do": "loop"}')
        reply, _, _ = select.select([worker._socket], [], [], 30.0)
        assert reply
        before = used_by(worker)
        while used_by(worker) < before + 0.02:
            pass  # the loop is held up
        assert worker.used_s() == 0.0
        await eventually(lambda: len(worker.queue) == 1)
        assert worker.used_s() < used_by(worker) - before, "the second counts from when the first was read"


async def test_a_worker_says_what_the_last_small_input_took() -> None:
    async with a_worker() as worker:
        await sent(worker, ANSWER).answer
        assert 0 < worker.took_s < used_by(worker)
        await sent(worker, b'{"do": "measure", "filler": [' + b"[]," * 50_000 + b"0]}").answer
        assert worker.took_s == 0


def used_by(worker: Worker) -> float:
    return time.clock_gettime(~worker.process.pid << 3 | 2)
