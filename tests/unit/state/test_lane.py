"""The lanes: group commit, order, bounds, fairness."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from interlock_gateway.pipeline.ports import StateConflictError, StateOverloadedError, StateUnavailableError
from interlock_gateway.state.batch import Outcome, Work, read_each, write_together
from interlock_gateway.state.database import Database
from interlock_gateway.state.lane import Lane
from interlock_gateway.state.schema import probes
from interlock_gateway.state.transaction import Link, Statement
from sqlalchemy import bindparam, insert, select

ADD = Statement(insert(probes).values(replica_id=bindparam("name"), count=0))
NAMES = Statement(select(probes.c.replica_id).order_by(probes.c.replica_id))


class Watched:
    """A lane, the sizes of its batches, and a gate that holds its thread until it is opened."""

    def __init__(self, database: Database, capacity: int = 1000) -> None:
        self.batches: list[int] = []
        self._loop = asyncio.get_running_loop()
        self._held = asyncio.Event()
        self.lane = Lane("watched", database, self._run, capacity=capacity)
        self._gate = threading.Event()

    def _run(self, link: Link, works: Sequence[Work[Any]]) -> list[Outcome]:
        self.batches.append(len(works))
        return write_together(link, works)

    async def hold(self) -> "asyncio.Future[bool]":
        """Send the thread to the gate, and return when it is there."""

        def wait(_: Link) -> bool:
            self._loop.call_soon_threadsafe(self._held.set)
            return self._gate.wait(10)

        held = self.lane.submit(wait)
        await self._held.wait()
        return held

    def open(self) -> None:
        self._gate.set()

    def add(self, name: str) -> "asyncio.Future[int]":
        return self.lane.submit(lambda link: link.change(ADD, name=name))

    async def names(self) -> list[str]:
        return [row[0] for row in await self.lane.submit(lambda link: link.rows(NAMES))]


@pytest.fixture
async def watched(database: Database) -> AsyncIterator[Watched]:
    watched = Watched(database)
    yield watched
    watched.open()
    await watched.lane.close()


async def test_what_waits_is_committed_together(watched: Watched) -> None:
    held = await watched.hold()
    added = [watched.add(str(n)) for n in range(20)]
    watched.open()

    assert await asyncio.gather(held, *added) == [True, *[1] * 20]
    assert watched.batches == [1, 20]


async def test_a_batch_is_bounded(watched: Watched) -> None:
    await watched.hold()
    added = [watched.add(str(n)) for n in range(300)]
    watched.open()

    await asyncio.gather(*added)
    assert watched.batches == [1, 128, 128, 44]


async def test_one_function_that_fails_does_not_hurt_the_others_of_its_batch(watched: Watched) -> None:
    def add_and_fail(link: Link) -> None:
        link.change(ADD, name="half done")
        raise LookupError("no such thing")

    def add_twice(link: Link) -> None:
        link.change(ADD, name="twice")
        link.change(ADD, name="twice")

    await watched.hold()
    futures: list[asyncio.Future[Any]] = [
        watched.add("before"),
        watched.lane.submit(add_and_fail),
        watched.lane.submit(add_twice),
    ]
    futures.append(watched.add("after"))
    watched.open()

    before, failed, conflict, after = await asyncio.gather(*futures, return_exceptions=True)
    assert (before, after) == (1, 1)
    assert isinstance(failed, LookupError)
    assert isinstance(conflict, StateConflictError)
    assert watched.batches == [1, 4]
    assert await watched.names() == ["after", "before"]
    assert watched.lane.healthy


async def test_a_function_that_fails_alone_leaves_nothing(watched: Watched) -> None:
    def add_and_fail(link: Link) -> None:
        link.change(ADD, name="half done")
        raise LookupError("no such thing")

    with pytest.raises(LookupError):
        await watched.lane.submit(add_and_fail)
    assert await watched.names() == []
    assert watched.lane.healthy


async def test_a_value_that_is_missing_or_cannot_be_bound_is_its_callers_fault(watched: Watched) -> None:
    with pytest.raises(KeyError):
        await watched.lane.submit(lambda link: link.change(ADD))
    with pytest.raises(UnicodeEncodeError):
        await watched.add("\ud800")
    assert watched.lane.healthy


async def test_functions_run_and_answer_in_the_order_they_came(watched: Watched) -> None:
    ran: list[int] = []
    answered: list[int] = []

    async def submit(n: int) -> None:
        await watched.lane.submit(lambda _: ran.append(n))
        answered.append(n)

    await asyncio.gather(*(submit(n) for n in range(500)))

    assert ran == answered == list(range(500))


async def test_more_than_the_capacity_is_refused_and_nothing_of_it_is_done(database: Database) -> None:
    watched = Watched(database, capacity=3)
    await watched.hold()
    kept = [watched.add(str(n)) for n in range(3)]

    with pytest.raises(StateOverloadedError):
        watched.add("too many")
    watched.open()
    await asyncio.gather(*kept)

    assert await watched.names() == ["0", "1", "2"]
    await watched.lane.close()


async def test_a_write_goes_on_when_its_caller_is_cancelled(watched: Watched) -> None:
    await watched.hold()
    cancelled = watched.add("kept")
    cancelled.cancel()
    watched.open()

    assert await watched.names() == ["kept"]
    assert cancelled.cancelled()


async def test_closing_finishes_what_was_submitted_and_refuses_the_rest(database: Database) -> None:
    watched = Watched(database)
    added = [watched.add(str(n)) for n in range(10)]

    await watched.lane.close()
    await watched.lane.close()

    assert await asyncio.gather(*added) == [1] * 10
    with pytest.raises(StateUnavailableError):
        watched.add("late")


async def test_reads_see_what_was_acknowledged_and_one_that_fails_hurts_no_other(
    database: Database, watched: Watched
) -> None:
    reader = Lane("reader", database, read_each, capacity=10)
    await watched.add("written")

    def fail(_: Link) -> None:
        raise LookupError("no such thing")

    failed, rows = await asyncio.gather(
        reader.submit(fail), reader.submit(lambda link: link.rows(NAMES)), return_exceptions=True
    )
    assert isinstance(failed, LookupError)
    assert rows == [("written",)]
    await reader.close()


async def test_a_write_is_answered_under_an_event_loop_that_never_idles(watched: Watched) -> None:
    async def spin() -> None:
        while True:
            until = time.perf_counter() + 0.0001
            while time.perf_counter() < until:
                pass
            await asyncio.sleep(0)

    spinning = asyncio.create_task(spin())
    async with asyncio.timeout(10):
        for n in range(20):
            await watched.add(str(n))
    spinning.cancel()
