"""A lane: one thread with one connection that works off what the event loop submits, in batches."""

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from interlock_gateway.core.change import Change
from interlock_gateway.patience import Patience
from interlock_gateway.pipeline.ports import StateOverloadedError, StateUnavailableError
from interlock_gateway.state.batch import Failed, Outcome, Work
from interlock_gateway.state.database import Database
from interlock_gateway.state.transaction import DatabaseFailedError, Link

T = TypeVar("T")

# More in one transaction would make those that came first wait for those that came last.
MAX_BATCH = 128


@dataclass(frozen=True, slots=True)
class _Job:
    work: Work[Any]
    future: asyncio.Future[Any]


class Lane:
    """Runs submitted functions in its own thread, each batch by `run_batch`, and answers on the running event loop.

    `capacity` bounds what waits. After a failure `healthy` is false until a batch succeeds that also runs `probe`,
    which is tried every `probe_every_s` seconds; a lane without a probe waits for the next submission. `publish`
    gets what committed transactions announced, on the event loop, after their callers have their answers.
    """

    def __init__(
        self,
        name: str,
        database: Database,
        run_batch: Callable[[Link, Sequence[Work[Any]]], list[Outcome]],
        *,
        capacity: int,
        probe: Work[Any] | None = None,
        probe_every_s: float = 1.0,
        publish: Callable[[list[Change]], None] | None = None,
    ) -> None:
        self._database = database
        self._publish = publish
        self._run_batch = run_batch
        self._capacity = capacity
        self._probe = probe
        self._probe_every_s = probe_every_s
        self._queue: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._link: Link | None = None
        self._loop = asyncio.get_running_loop()
        self._patience = Patience(self._loop)
        self._stopping = False
        self.healthy = True
        self._thread = threading.Thread(target=self._main, name=name, daemon=True)
        self._thread.start()

    def submit(self, work: Work[T]) -> "asyncio.Future[T]":
        """Queue `work`; the future gives what it returns or raises, once its batch is done.

        Cancelling the future does not withdraw the work. Raises `StateOverloadedError` and `StateUnavailableError`.
        """
        if self._stopping:
            raise StateUnavailableError("the state store is closed")
        if self._queue.qsize() >= self._capacity:
            raise StateOverloadedError("too much is waiting for the state store")
        future: asyncio.Future[T] = self._loop.create_future()
        self._queue.put(_Job(work, future))
        self._patience.asked()
        return future

    async def close(self) -> None:
        """Finish what was submitted, then end the thread and its connection."""
        if self._stopping:
            return
        self._stopping = True
        self._queue.put(None)
        await self._loop.run_in_executor(None, self._thread.join)

    def _main(self) -> None:
        going_on = True
        while going_on:
            jobs, going_on = self._next_batch()
            outcomes = self._run([job.work for job in jobs]) if jobs else []
            self._answer(jobs, outcomes)
        self._drop_link()

    def _next_batch(self) -> tuple[list[_Job], bool]:
        """The jobs that wait, and whether there will be more."""
        jobs: list[_Job] = []
        try:
            job = self._wait()
            while job is not None:
                jobs.append(job)
                if len(jobs) == MAX_BATCH:
                    return jobs, True
                job = self._queue.get_nowait()
        except queue.Empty:
            return jobs, True
        return jobs, False

    def _wait(self) -> _Job | None:
        while not self.healthy and self._probe is not None:
            with suppress(queue.Empty):
                return self._queue.get(timeout=self._probe_every_s)
            self._run([])
        return self._queue.get()

    def _run(self, works: Sequence[Work[Any]]) -> list[Outcome]:
        try:
            if self._link is None:
                self._link = Link(self._database)
            # A failure is over when something new is on disk, and `works` may change nothing.
            probes = [self._probe] if self._probe is not None and not self.healthy else []
            outcomes = self._run_batch(self._link, [*probes, *works])[len(probes) :]
        except Exception as error:  # noqa: BLE001 - a thread that ended here would leave every caller waiting for ever
            self.healthy = False
            self._drop_link()
            return [Failed(_unavailable(error)) for _ in works]
        self.healthy = True
        return outcomes

    def _drop_link(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            with suppress(DatabaseFailedError):
                link.close()

    def _answer(self, jobs: list[_Job], outcomes: list[Outcome]) -> None:
        # A closed loop has nobody left who waits.
        changes = self._link.take_announced() if self._link is not None else []
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._settle, jobs, outcomes, changes)

    def _settle(self, jobs: list[_Job], outcomes: list[Outcome], changes: list[Change]) -> None:
        self._patience.answered(len(jobs))
        for job, outcome in zip(jobs, outcomes, strict=True):
            if job.future.done():
                continue
            if isinstance(outcome, Failed):
                job.future.set_exception(outcome.error)
            else:
                job.future.set_result(outcome.value)
        if changes and self._publish is not None:
            self._publish(changes)


def _unavailable(cause: Exception) -> StateUnavailableError:
    error = StateUnavailableError("the state store is not available")
    error.__cause__ = cause
    return error
