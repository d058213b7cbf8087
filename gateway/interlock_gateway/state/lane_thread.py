"""One thread of a lane, with one connection: it works off what the event loop gives it, in batches."""

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from interlock_gateway.core.change import Change
from interlock_gateway.patience import Patience
from interlock_gateway.pipeline.ports import StateUnavailableError
from interlock_gateway.state.batch import Failed, Outcome, Work
from interlock_gateway.state.database import Database
from interlock_gateway.state.transaction import DatabaseFailedError, Link, LinkLostError


@dataclass(frozen=True, slots=True)
class Job:
    """A function, and who waits for what it returns or raises; `task` is who submitted it."""

    work: Work[Any]
    future: asyncio.Future[Any]
    task: object = None


class LaneThread:
    """Runs the functions it is given, each batch by `run_batch`, and answers on the running event loop.

    After a failure `healthy` is false until a batch succeeds that also runs `probe`, which is tried every
    `probe_every_s` seconds; without a probe it waits for the next function. `settled` is told on the event loop of
    every function that has its answer, and then `publish` gets what committed transactions announced.
    """

    def __init__(
        self,
        name: str,
        database: Database,
        run_batch: Callable[[Link, Sequence[Work[Any]]], list[Outcome]],
        *,
        batch: int,
        probe: Work[Any] | None,
        probe_every_s: float,
        publish: Callable[[list[Change]], None] | None,
        settled: Callable[[Sequence["Job"]], None] | None = None,
    ) -> None:
        self._database = database
        self._publish = publish
        self._run_batch = run_batch
        self._batch = batch
        self._settled = settled
        self._probe = probe
        self._probe_every_s = probe_every_s
        self._queue: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._link: Link | None = None
        self._loop = asyncio.get_running_loop()
        self._patience = Patience(self._loop)
        self._stopping = False
        self.healthy = True
        self._thread = threading.Thread(target=self._main, name=name, daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How many functions wait for the thread."""
        return self._queue.qsize()

    def take(self, job: Job) -> None:
        """Run `job` after those that were taken before it."""
        self._queue.put(job)
        self._patience.asked()

    async def close(self) -> None:
        """Finish what was taken, then end the thread and its connection."""
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

    def _next_batch(self) -> tuple[list[Job], bool]:
        """The jobs that wait, and whether there will be more."""
        jobs: list[Job] = []
        try:
            job = self._wait()
            while job is not None:
                jobs.append(job)
                if len(jobs) == self._batch:
                    return jobs, True
                job = self._queue.get_nowait()
        except queue.Empty:
            return jobs, True
        return jobs, False

    def _wait(self) -> Job | None:
        while not self.healthy and self._probe is not None:
            with suppress(queue.Empty):
                return self._queue.get(timeout=self._probe_every_s)
            self._run([])
        return self._queue.get()

    def _run(self, works: Sequence[Work[Any]]) -> list[Outcome]:
        try:
            outcomes = self._attempted(works)
        except Exception as error:  # noqa: BLE001 - a thread that ended here would leave every caller waiting for ever
            self.healthy = False
            self._drop_link()
            return [Failed(_unavailable(error)) for _ in works]
        self.healthy = True
        return outcomes

    def _attempted(self, works: Sequence[Work[Any]]) -> list[Outcome]:
        used_before = self._link is not None
        try:
            return self._run_once(works)
        except LinkLostError:
            if not used_before:
                raise
        # The server closed it while nothing went on; that is no reason to fail anybody.
        self._drop_link()
        return self._run_once(works)

    def _run_once(self, works: Sequence[Work[Any]]) -> list[Outcome]:
        if self._link is None:
            self._link = Link(self._database)
        # A failure is over when something new is on disk, and `works` may change nothing.
        probes = [self._probe] if self._probe is not None and not self.healthy else []
        return self._run_batch(self._link, [*probes, *works])[len(probes) :]

    def _drop_link(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            with suppress(DatabaseFailedError):
                link.close()

    def _answer(self, jobs: list[Job], outcomes: list[Outcome]) -> None:
        # A closed loop has nobody left who waits.
        changes = self._link.take_announced() if self._link is not None else []
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._settle, jobs, outcomes, changes)

    def _settle(self, jobs: list[Job], outcomes: list[Outcome], changes: list[Change]) -> None:
        self._patience.answered(len(jobs))
        if self._settled is not None:
            self._settled(jobs)
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
