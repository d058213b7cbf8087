"""When a policy worker is held to be slow: by the processor time that it used, and never by a reply nobody has read.

On a machine with more to do than it can, every evaluation is old. What is then evaluated once more elsewhere leaves it
with even more to do (REL-8).
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import cast

import pytest
from engine_bundles import bundle
from interlock_gateway.policy.embedded import pool, process
from interlock_gateway.policy.embedded.pool import WorkerPool
from interlock_gateway.policy.embedded.pool_settings import PoolSettings
from interlock_gateway.policy.embedded.process import Evaluation, Process, Worker, WorkerLimits
from interlock_gateway.policy.embedded.wire import LARGE_BYTES, Reply
from waiting import eventually

SETTINGS = PoolSettings(workers=2, most_workers=2, timeout_s=60.0, slow_s=0.0005)


class Pretended(Worker):
    """A worker without a process: it answers when it is told to, and says that it used so much of the processor."""

    used = 0.0
    looks = 0
    has_replied = False
    """Whether its reply is there, and is read after the next look."""

    @property
    def ready(self) -> bool:
        return True

    async def connect(self) -> None:
        """It is there."""

    def load(self, policies: bytes) -> None:
        del policies
        self.loaded.set_result((Reply.OK, b""))

    def send(self, evaluation: Evaluation) -> None:
        if not self.queue:
            self.head_since = self.loop.time()
        evaluation.copies += 1
        self.large += evaluation.is_large
        self.queue.append(evaluation)

    def used_s(self) -> float:
        self.looks += 1
        if self.has_replied and self.queue:
            self.loop.call_soon(self.reply)
        return self.used

    def slow_down(self) -> None:
        self.is_slowed = True

    def reply(self) -> None:
        self._received(Reply.OK, b"")

    def kill(self) -> None:
        if not self.reaped.done():
            self.reaped.set_result(None)
            self.on_gone(self)

    def bury(self) -> None:
        self.kill()

    async def looked_at(self, times: int) -> None:
        """Return when the pool has looked at it so many times more."""
        until = self.looks + times
        await eventually(lambda: self.looks >= until)


@asynccontextmanager
async def two(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[WorkerPool, Pretended, Pretended]]:
    """A pool, the worker that evaluates first, and the other one."""
    made: list[Pretended] = []

    def launch(
        _limits: WorkerLimits, on_reply: Callable[[Worker], None], on_gone: Callable[[Worker], None]
    ) -> Pretended:
        process = cast("Process", SimpleNamespace(pid=0))
        with socket.socket() as nowhere:
            made.append(Pretended(process, nowhere, asyncio.get_running_loop(), on_reply, on_gone))
        return made[-1]

    async def refuse(_: object) -> None:
        raise BlockingIOError

    monkeypatch.setattr(pool, "launch", launch)
    monkeypatch.setattr(process, "used_s", lambda _: 0.0)
    monkeypatch.setattr("interlock_gateway.policy.embedded.nursery.Nursery.born", refuse)
    monkeypatch.setattr(pool, "STALLED_S", 60.0)
    tried = WorkerPool(bundle(), SETTINGS)
    await tried.start()
    try:
        first, second = made
        yield tried, first, second
    finally:
        await tried.close()


def submit(tried: WorkerPool, count: int) -> None:
    for number in range(count):
        tried.submit(b"%d" % number).add_done_callback(lambda answer: answer.cancelled() or answer.exception())


@pytest.mark.req("REL-8")
async def test_whoever_waits_for_a_turn_of_the_processor_has_nothing_evaluated_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with two(monkeypatch) as (tried, first, second):
        submit(tried, 6)
        await first.looked_at(5)
        assert (len(first.queue), len(second.queue)) == (3, 3)
        submit(tried, 2)
        assert (len(first.queue), len(second.queue)) == (4, 4), "both are given more to do, behind what is old"


@pytest.mark.req("REL-7")
async def test_what_is_queued_behind_a_slow_evaluation_is_evaluated_elsewhere_and_nothing_more_is_queued_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with two(monkeypatch) as (tried, first, second):
        submit(tried, 4)
        head, behind = first.queue
        first.used = 0.005
        second.reply()
        second.reply()
        await eventually(lambda: behind in second.queue)
        assert head not in second.queue
        submit(tried, 1)
        assert len(first.queue) == 2


@pytest.mark.req("REL-7")
async def test_what_uses_many_times_what_is_usual_gives_way_before_it_would_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with two(monkeypatch) as (tried, first, second):
        first.used = 0.0025
        submit(tried, 2)
        await second.looked_at(5)
        assert not first.is_slowed, "it is not known yet what is usual"
        for _ in range(100):
            tried._pace.took(0.0001)
        await eventually(lambda: first.is_slowed)
        assert not second.is_slowed


@pytest.mark.req("REL-7", "REL-8")
async def test_what_gave_way_early_and_got_no_turn_has_as_long_as_anybody_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with two(monkeypatch) as (tried, first, second):
        for _ in range(100):
            tried._pace.took(0.0001)
        submit(tried, 1)
        first.used = 0.0025
        await eventually(lambda: first.is_slowed)
        monkeypatch.setattr(pool, "STALLED_S", 0.001)
        await eventually(lambda: len(second.queue) == 1)
        second.used = 0.0025
        await second.looked_at(5)
        assert not second.is_slowed
        second.used = 0.005
        await eventually(lambda: second.is_slowed)


@pytest.mark.req("REL-8")
async def test_a_worker_whose_reply_was_only_unread_is_not_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    async with two(monkeypatch) as (tried, first, second):
        first.used, first.has_replied = 0.005, True
        submit(tried, 16)
        await eventually(lambda: not first.queue)
        assert first.looks == 8
        assert [evaluation.copies for evaluation in second.queue] == [1] * 8


@pytest.mark.req("REL-7", "PIPE-6")
async def test_nothing_is_sent_to_a_worker_that_is_about_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    at_once = Pretended.kill
    # As the real one: that the process is gone is heard a little later.
    monkeypatch.setattr(Pretended, "kill", lambda worker: worker.loop.call_soon(at_once, worker))
    async with two(monkeypatch) as (tried, first, _second):
        one, another = (tried.submit(b"x" * (LARGE_BYTES + 1)) for _ in range(2))
        first.used = 1.0
        await eventually(lambda: first.is_slowed)
        first.reply()
        assert one.done()
        assert not first.queue, "it has given way to all others, and another one comes in its place"
        await first.reaped
        assert not another.done(), "it waits for the other one"
        another.cancel()
