"""A lane: what the event loop submits is worked off by one thread, or by several side by side."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from interlock_gateway.core.change import Change
from interlock_gateway.pipeline.ports import StateOverloadedError, StateUnavailableError
from interlock_gateway.state.batch import Outcome, Work
from interlock_gateway.state.database import Database
from interlock_gateway.state.lane_thread import Job, LaneThread
from interlock_gateway.state.transaction import Link

T = TypeVar("T")

# More in one transaction would make those that came first wait for those that came last.
MAX_BATCH = 128


class Lane:
    """Runs submitted functions in `threads` threads, each with a connection, and answers on the running event loop.

    One thread runs them in the order they came, in batches of at most `batch`, each by `run_batch`. Several keep the
    order in which one task submits, also when the task is cancelled meanwhile: what takes back comes after what is
    taken back. `capacity` bounds what waits. After a failure `healthy` is false until writing works again, which
    `probe` finds out every `probe_every_s` seconds. `publish` gets what committed transactions announced.
    """

    def __init__(
        self,
        name: str,
        database: Database,
        run_batch: Callable[[Link, Sequence[Work[Any]]], list[Outcome]],
        *,
        capacity: int,
        threads: int = 1,
        batch: int = MAX_BATCH,
        probe: Work[Any] | None = None,
        probe_every_s: float = 1.0,
        publish: Callable[[list[Change]], None] | None = None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._capacity = capacity
        self._stopping = False
        self._order = _Order(threads) if threads > 1 else None
        self._threads = [
            LaneThread(
                name if threads == 1 else f"{name}-{number}",
                database,
                run_batch,
                batch=batch,
                probe=probe,
                probe_every_s=probe_every_s,
                publish=publish,
                settled=self._order.settled if self._order is not None else None,
            )
            for number in range(threads)
        ]

    @property
    def healthy(self) -> bool:
        """Whether the last thing that every thread did succeeded."""
        return all(thread.healthy for thread in self._threads)

    @property
    def waiting(self) -> int:
        """How much is submitted and not begun."""
        return sum(thread.waiting for thread in self._threads)

    def submit(self, work: Work[T]) -> "asyncio.Future[T]":
        """Queue `work`; the future gives what it returns or raises, once its batch is done.

        Cancelling the future does not withdraw the work. Raises `StateOverloadedError` and `StateUnavailableError`.
        """
        if self._stopping:
            raise StateUnavailableError("the state store is closed")
        if self.waiting >= self._capacity:
            raise StateOverloadedError("too much is waiting for the state store")
        future: asyncio.Future[T] = self._loop.create_future()
        if self._order is None:
            self._threads[0].take(Job(work, future))
        else:
            task = asyncio.current_task() or future
            self._threads[self._order.thread_for(task)].take(Job(work, future, task))
        return future

    async def close(self) -> None:
        """Finish what was submitted, then end the threads and their connections."""
        self._stopping = True
        await asyncio.gather(*(thread.close() for thread in self._threads))


class _Order:
    """Which of several threads gets what a task submits: the one that has its earlier work, else the idlest."""

    def __init__(self, threads: int) -> None:
        self._loads = [0] * threads
        # By task: the thread that has its work, and how much of it is not answered yet.
        self._places: dict[object, tuple[int, int]] = {}

    def thread_for(self, task: object) -> int:
        thread, count = self._places.get(task) or (self._loads.index(min(self._loads)), 0)
        self._loads[thread] += 1
        self._places[task] = (thread, count + 1)
        return thread

    def settled(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            thread, count = self._places.pop(job.task)
            self._loads[thread] -= 1
            if count > 1:
                self._places[job.task] = (thread, count - 1)
