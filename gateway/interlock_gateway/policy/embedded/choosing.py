"""Which worker evaluates what: a small input waits neither for a large one nor behind a slow one (REL-7)."""

from collections import deque
from collections.abc import Iterator, Sequence

from interlock_gateway.policy.embedded.process import Evaluation, Worker


class Waiting:
    """Those that wait for a worker, in order of arrival, small and large ones each in a line of their own."""

    def __init__(self) -> None:
        self._small: deque[Evaluation] = deque()
        self._large: deque[Evaluation] = deque()

    def __bool__(self) -> bool:
        return bool(self._small or self._large)

    def __iter__(self) -> Iterator[Evaluation]:
        yield from self._small
        yield from self._large

    def add(self, evaluation: Evaluation, *, first: bool = False) -> None:
        """Have it wait, behind all others of its line or before them."""
        evaluation.is_waiting = True
        line = self._large if evaluation.is_large else self._small
        (line.appendleft if first else line.append)(evaluation)

    def heads(self) -> Iterator[Evaluation]:
        """The first of each line, the oldest first."""
        if self._small and self._large and self._large[0].submitted_at < self._small[0].submitted_at:
            yield self._large[0]
            yield self._small[0]
            return
        for line in (self._small, self._large):
            if line:
                yield line[0]

    def remove_head(self, evaluation: Evaluation) -> None:
        """The first of its line waits no more."""
        (self._large if evaluation.is_large else self._small).popleft()
        evaluation.is_waiting = False

    def overdue(self, since: float) -> Iterator[Evaluation]:
        """Those that have waited since then or are answered, who wait no more; none that is behind another one."""
        while over := [first for first in self.heads() if first.answer.done() or first.submitted_at <= since]:
            for first in over:
                self.remove_head(first)
                yield first

    def clear(self) -> None:
        """Nobody waits."""
        self._small.clear()
        self._large.clear()


def for_small(workers: Sequence[Worker], *, window: int, is_held_up: bool) -> Worker | None:
    """The worker with the least to do, and nothing large; while any is held up, only one with nothing to do.

    What is queued behind a runaway may have to wait until its end, and when there is one there may be more.
    """
    best, least = None, 1 if is_held_up else window
    for worker in workers:
        if len(worker.queue) < least and not worker.is_slowed and not worker.large:
            best, least = worker, len(worker.queue)
    return best


def for_large(workers: Sequence[Worker], *, window: int, again: bool, is_only: bool) -> Worker | None:
    """One that has given way to all others already, and has nothing to do; else one with nothing large.

    One worker is always left to small ones, unless there is but one. `again` says that another worker has it already,
    and may not get its turn of the processor: it is then not given to one that has given way.
    """
    if not again:
        for worker in workers:
            if worker.is_slowed and not worker.queue:
                return worker
    free = [worker for worker in workers if not worker.is_slowed and not worker.large]
    if len(free) <= (0 if is_only else 1):
        return None
    best = min(free, key=lambda worker: len(worker.queue))
    return best if len(best.queue) < window else None
