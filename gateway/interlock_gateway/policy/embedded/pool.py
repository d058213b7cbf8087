"""The workers that hold one bundle, and who evaluates what.

Each worker evaluates one input at a time and has a few more queued, so that it never waits for the gateway's loop. An
evaluation is pure, so it may run twice: what is queued behind a slow one is sent to another worker as well, and the
first answer counts. An evaluation that takes too long costs its worker its life, and nobody else more than a moment.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from interlock_gateway.core.decision import DecisionError, GatewayErrorCode
from interlock_gateway.isolation.priority import go_last
from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.embedded.choosing import Waiting, for_large, for_small
from interlock_gateway.policy.embedded.linking import relocate
from interlock_gateway.policy.embedded.nursery import Nursery
from interlock_gateway.policy.embedded.pace import HUNG, LEAST_S, MOST_HOGGING_S, SOON_S, STUCK_S, Pace
from interlock_gateway.policy.embedded.pool_settings import PoolSettings
from interlock_gateway.policy.embedded.prepared import linked, prepared
from interlock_gateway.policy.embedded.process import Evaluation, Worker, WorkerLimits, launch
from interlock_gateway.policy.embedded.unread import reads_previous
from interlock_gateway.policy.embedded.wire import Reply, pack
from interlock_gateway.policy.engine import PolicyUnavailableError

T = TypeVar("T")

LOAD_TIMEOUT_S = 10.0
RESPAWN_DELAYS_S = (0.0, 0.1, 0.5, 2.0)
SUSPICION_S = 0.002
# One this old is slow, whatever it used: younger, it may wait for its turn of the processor, as it would elsewhere.
STALLED_S = 0.05
# One that has given way to all others so long without much of the processor is sent to another; a small one sooner.
STARVED_S = 0.1


class WorkerPool:
    """Workers for one bundle. Everything runs on the loop that `start` runs on."""

    def __init__(self, bundle: PolicyBundle, settings: PoolSettings, is_crowded: Callable[[], bool] = bool) -> None:
        self.bundle = bundle
        self.policy = bundle.policy
        self.reads_previous = reads_previous(bundle.modules)
        self._settings = settings
        self._limits = WorkerLimits(settings.memory_bytes, processor_s=max(2.0, 8 * settings.timeout_s))
        self._linked = linked(bundle.modules)
        modules = prepared(bundle.modules, bundle.data_json)
        self._policies = pack(
            [bundle.data_json, *(text for module in modules for text in (module.package, module.source))]
        )
        self._nursery = Nursery(self._policies, self._limits, settings.spare_s)
        self._workers: list[Worker] = []
        self._every_worker: set[Worker] = set()
        self._starting: set[asyncio.Task[Any]] = set()
        self._waiting = Waiting()
        self._pace = Pace()
        self._held_up: set[Worker] = set()
        self._watching: asyncio.TimerHandle | None = None
        self._failed_starts = 0
        self._started = self._closed = False
        self._is_crowded = is_crowded

    @property
    def ready(self) -> bool:
        """Whether a worker is there to evaluate."""
        return bool(self._workers) and not self._closed

    @property
    def process_ids(self) -> tuple[int, ...]:
        """The processes of the workers that are ready."""
        return tuple(worker.process.pid for worker in self._workers)

    @property
    def delay_s(self) -> float:
        """How long the first of those that wait for a worker has waited."""
        first = next(self._waiting.heads(), None)
        return self._loop.time() - first.submitted_at if first is not None else 0.0

    async def start(self) -> None:
        """Start every worker. Raises `PolicyUnavailableError` when one cannot be started or loaded."""
        self._loop = asyncio.get_running_loop()
        starting = [self._begin(self._start_worker()) for _ in range(0 if self._closed else self._settings.workers)]
        try:  # all are waited for, also when one has failed: the pool is left whole or not at all
            started = await asyncio.gather(*starting, return_exceptions=True)
            self._check_started(started)
        except BaseException:
            await self.close()
            raise
        self._workers += (worker for worker in started if isinstance(worker, Worker))
        self._started = True

    def submit(self, document: bytes) -> asyncio.Future[tuple[Reply, bytes]]:
        """Evaluate `document`; the future gives the worker's reply or raises `DecisionError`."""
        evaluation = Evaluation(document, self._loop.create_future(), self._loop.time())
        if self._closed:
            evaluation.fail(_unavailable())
        else:
            # Behind those that wait, who may have lost their turn to a runaway before.
            self._waiting.add(evaluation)
            self._feed()
        if self._watching is None:
            self._watching = self._loop.call_later(self._settings.slow_s, self._watch)
        return evaluation.answer

    async def drain(self) -> None:
        """Let what was submitted end, then close."""
        submitted = [*self._waiting, *(evaluation for worker in self._workers for evaluation in worker.queue)]
        if submitted:
            await asyncio.wait([evaluation.answer for evaluation in submitted])
        await self.close()

    async def close(self) -> None:
        """End every worker and wait until its process is gone. Cancelled, it waits all the same, but for no task."""
        self._closed = True
        if self._watching is not None:
            self._watching.cancel()
        for evaluation in self._waiting:
            evaluation.fail(_unavailable())
        self._waiting.clear()
        for starting in self._starting:
            starting.cancel()
        for worker in self._every_worker:
            worker.kill()
        try:
            # Never `gather`: cancelled, it would cancel what it waits for, and nobody would wait for the processes.
            while ending := {*self._starting, *(worker.reaped for worker in self._every_worker)}:
                await asyncio.wait(ending)
        finally:
            self._nursery.end()
            for worker in tuple(self._every_worker):
                worker.bury()

    def _free_worker(self, evaluation: Evaluation) -> Worker | None:
        """The worker to evaluate it now, if there is one."""
        window = self._settings.window
        if evaluation.is_large:
            again, is_only = evaluation.copies > 0, self._settings.workers == 1
            return for_large(self._workers, window=window, again=again, is_only=is_only)
        return for_small(self._workers, window=window, is_held_up=any(not worker.large for worker in self._held_up))

    def _on_reply(self, worker: Worker) -> None:
        self._pace.took(worker.took_s)
        self._held_up.discard(worker)
        if worker.is_slowed and not worker.queue:
            self._set_aside(worker)
        if self._waiting:
            self._feed()

    def _set_aside(self, worker: Worker) -> None:
        """It was not stuck after all, but its priority cannot be raised again: one such is kept, for large inputs.

        With a new worker after each large input that takes long, starting it would cost others more than the input.
        """
        has_one = any(other.is_kept and other is not worker for other in self._workers)
        if has_one or self._settings.most_workers <= self._settings.workers:
            self._dismiss(worker)
            return
        if not worker.is_kept:
            worker.is_kept = True
            self._loop.call_later(self._settings.spare_s, self._retire_kept, worker)
        self._keep_workers(1)

    def _on_gone(self, worker: Worker) -> None:
        self._held_up.discard(worker)
        if worker in self._workers:
            self._workers.remove(worker)
        orphans = list(worker.queue)
        worker.queue.clear()
        worker.large = 0
        for evaluation in orphans:
            evaluation.copies -= 1
        if self._closed:
            for evaluation in orphans:
                evaluation.fail(_unavailable())
            return
        if orphans:
            orphans.pop(0).fail(DecisionError(GatewayErrorCode.POLICY_CRASHED, "the policy crashed on this call"))
        self._resend([evaluation for evaluation in orphans if not evaluation.copies])
        self._keep_workers(self._kept_idle())

    def _resend(self, evaluations: list[Evaluation]) -> None:
        """Have evaluations done by another worker, ahead of those that came later."""
        for evaluation in reversed(evaluations):
            if not evaluation.answer.done() and not evaluation.is_waiting:
                self._waiting.add(evaluation, first=True)
        self._feed()

    def _feed(self) -> None:
        while self._waiting and self._feed_one():
            pass

    def _feed_one(self) -> bool:
        """Send the oldest of those for whom there is a worker; whether there was any."""
        for evaluation in self._waiting.heads():
            if (worker := self._free_worker(evaluation)) is not None:
                self._waiting.remove_head(evaluation)
                if not evaluation.answer.done():
                    worker.send(evaluation)
                return True
        return False

    def _watch(self) -> None:
        """Look after slow evaluations; runs every few milliseconds while there is anything to do."""
        self._watching = None
        if self._closed:
            return
        now, delay, stuck = self._loop.time(), self._settings.slow_s, 0
        for worker in tuple(self._workers):
            if not worker.queue:
                continue
            age = now - worker.head_since
            used_s = worker.used_s() if age >= self._settings.slow_s else 0.0
            hogs = used_s >= MOST_HOGGING_S
            delay = min(delay, self._make_way(worker, used_s))
            stuck += (hogs or worker.is_slowed) and age >= STUCK_S
            overdue = self._is_overdue(now - worker.queue[0].submitted_at, age)
            if overdue and worker.suspected:
                self._end_overdue(worker, hogs=hogs or age >= HUNG * self._settings.timeout_s)
            elif overdue:
                # The loop itself may have been held up with the reply unread: look again after it has read.
                worker.suspected = True
                delay = SUSPICION_S
            elif used_s >= self._settings.slow_s or age >= STALLED_S:
                starved_s = STARVED_S if worker.large else STALLED_S
                self._hold_up(worker, head_too=worker.is_slowed and not hogs and age >= starved_s)
        self._expire_waiting(now)
        self._feed()
        if stuck:
            self._keep_workers(stuck + self._kept_idle())
        if self._waiting or any(worker.queue for worker in self._workers):
            self._watching = self._loop.call_later(delay, self._watch)

    def _make_way(self, worker: Worker, used_s: float) -> float:
        """Have a worker give way that has used so much, and say when to look again. Age may be that it gets no turn.

        What got none because it gave way early is evaluated a second time, and is not to meet with the same there.
        """
        if worker.is_slowed or self._settings.in_background:
            return self._settings.slow_s
        most_s = MOST_HOGGING_S if worker.queue[0].copies > 1 else self._pace.hogging_s
        if used_s >= most_s:
            worker.slow_down()
        return SOON_S if SOON_S <= used_s < most_s else self._settings.slow_s

    def _is_overdue(self, since_submitted: float, since_begun: float) -> bool:
        timeout_s = self._settings.timeout_s
        return since_begun >= timeout_s or (since_submitted >= timeout_s and since_begun >= LEAST_S)

    def _end_overdue(self, worker: Worker, *, hogs: bool) -> None:
        """Give up what the worker evaluates, and the worker too, unless it only waits for its turn of the processor.

        On a machine that has more to do than it can, killing those would leave it with even more.
        """
        head = worker.queue[0]
        head.fail(DecisionError(GatewayErrorCode.POLICY_TIMEOUT, "the policy took too long to decide about this call"))
        if hogs:
            worker.kill()
        else:
            self._rescue(worker)

    def _hold_up(self, slow: Worker, *, head_too: bool) -> None:
        """Rescue those behind it, seen so twice without a reply in between: the first time there may be one unread."""
        if slow in self._held_up:
            self._rescue(slow, head_too=head_too)
        self._held_up.add(slow)

    def _rescue(self, slow: Worker, *, head_too: bool = False) -> None:
        """Have what is queued behind a slow evaluation done by other workers too, once."""
        self._resend([evaluation for evaluation in list(slow.queue)[not head_too :] if evaluation.copies == 1])

    def _expire_waiting(self, now: float) -> None:
        for over in self._waiting.overdue(now - self._settings.longest_wait_s):
            if not over.copies:
                over.fail(_unavailable())

    def _kept_idle(self) -> int:
        """How many workers are kept for large inputs, and have none."""
        return sum(worker.is_kept and not worker.queue for worker in self._workers)

    def _keep_workers(self, aside: int) -> None:
        """Have as many workers as are wanted besides those `aside`, which are of no use to others now."""
        if self._closed or not self._started:
            return
        wanted = self._settings.workers + aside
        if wanted > self._settings.most_workers:
            wanted = self._settings.most_workers
            for worker in tuple(self._workers):
                if worker.is_kept and not worker.queue:
                    self._dismiss(worker)
        while len(self._workers) + len(self._starting) < wanted:
            self._begin(self._add_worker())

    def _begin(self, start: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        """Start a worker in a task that `close` knows."""
        task = self._loop.create_task(start)
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)
        return task

    async def _add_worker(self) -> None:
        """Start one more worker, again and again until it works: without workers every call is denied."""
        while True:
            await asyncio.sleep(RESPAWN_DELAYS_S[min(self._failed_starts, len(RESPAWN_DELAYS_S) - 1)])
            try:
                worker = await self._replacement()
            except PolicyUnavailableError:
                self._failed_starts += 1
            else:
                break
        self._failed_starts = 0
        self._workers.append(worker)
        self._feed()
        if self._are_too_many():
            self._loop.call_later(self._settings.spare_s, self._retire, worker)

    def _retire(self, worker: Worker) -> None:
        """End a spare worker, or look again later when it is busy."""
        if self._closed or worker not in self._workers or not self._are_too_many():
            return
        if worker.queue:
            self._loop.call_later(self._settings.spare_s, self._retire, worker)
            return
        self._dismiss(worker)

    def _retire_kept(self, worker: Worker) -> None:
        """End a worker that was kept for large inputs when there was none for long."""
        if self._closed or worker not in self._workers:
            return
        left_s = worker.idle_since + self._settings.spare_s - self._loop.time()
        if worker.queue or left_s > 0:
            self._loop.call_later(max(left_s, SUSPICION_S), self._retire_kept, worker)
            return
        self._dismiss(worker)

    def _dismiss(self, worker: Worker) -> None:
        """End a worker that has nothing to do. Nothing is sent to it any more: it would count as what ended it."""
        self._workers.remove(worker)
        worker.kill()

    def _are_too_many(self) -> bool:
        return sum(not worker.is_kept for worker in self._workers) > self._settings.workers

    def _check_started(self, started: list[Worker | BaseException]) -> None:
        if self._closed:
            raise PolicyUnavailableError("the policy engine was closed while it started")
        for outcome in started:
            if isinstance(outcome, BaseException):
                raise outcome
            if not outcome.ready:
                raise PolicyUnavailableError("a policy worker ended")

    async def _replacement(self) -> Worker:
        """As `_start_worker`, mostly for little."""
        try:
            born = Worker(*await self._nursery.born(), self._loop, self._on_reply, self._on_gone)
        except OSError:
            return await self._start_worker()
        return await self._loaded(self._known(born))

    async def _start_worker(self) -> Worker:
        """A worker that holds the policies. Raises `PolicyUnavailableError`; then its process is killed."""
        try:
            worker = launch(self._limits, self._on_reply, self._on_gone)
        except OSError as error:
            raise PolicyUnavailableError(f"a policy worker could not be started: {error}") from error
        return await self._loaded(self._known(worker), self._policies)

    async def _loaded(self, worker: Worker, policies: bytes | None = None) -> Worker:
        """The same worker once it holds the policies, which it is sent unless it has them."""
        try:
            await worker.connect()
            if policies is not None:
                worker.load(policies)
            await asyncio.wait([worker.loaded], timeout=LOAD_TIMEOUT_S)
            self._check_loaded(worker)
        except OSError as error:
            worker.kill()
            raise PolicyUnavailableError(f"a policy worker could not be reached: {error}") from error
        except BaseException:
            worker.kill()
            raise
        return worker

    def _known(self, worker: Worker) -> Worker:
        """A worker whose process runs, known to the pool from now on until it is gone."""
        if self._settings.in_background:
            go_last(worker.process.pid)
        self._every_worker.add(worker)
        worker.is_crowded = self._is_crowded
        worker.reaped.add_done_callback(lambda _: self._every_worker.discard(worker))
        return worker

    def _check_loaded(self, worker: Worker) -> None:
        if problem := worker.unloaded():
            raise PolicyUnavailableError(relocate(problem, self._linked))


def _unavailable() -> DecisionError:
    return DecisionError(GatewayErrorCode.POLICY_UNAVAILABLE, "no policy worker was free to decide about this call")
