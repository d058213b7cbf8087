"""Time limits of many requests on one timer: most end long before, and a timer for each costs more than the rest."""

import asyncio
from heapq import heappop, heappush
from types import TracebackType


class Limits:
    """The limits of one server's requests."""

    def __init__(self) -> None:
        self._ends: list[tuple[float, int, Limit]] = []
        self._number = 0
        self._over = 0
        self._timer: asyncio.TimerHandle | None = None
        self._at = 0.0

    def within(self, seconds: float) -> "Limit":
        """Ends what is done in it, and raises `TimeoutError`, when that takes longer; as `asyncio.timeout` does."""
        return Limit(self, seconds)

    def close(self) -> None:
        """Set no timer any more. What is under way is not ended."""
        self._ends.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def begin(self, limit: "Limit", at: float) -> None:
        """Watch it until `at`, by the loop's clock."""
        self._number += 1
        heappush(self._ends, (at, self._number, limit))
        if self._timer is None or at < self._at:
            self._set(at)

    def end(self) -> None:
        """One of them is over. Those that are over are dropped, once they are most."""
        self._over += 1
        if self._over * 2 > len(self._ends) + 64:
            self._ends = [one for one in self._ends if not one[2].over]
            self._ends.sort()
            self._over = 0

    def _set(self, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._at, self._timer = at, asyncio.get_running_loop().call_at(at, self._look)

    def _look(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        while self._ends and (self._ends[0][0] <= now or self._ends[0][2].over):
            limit = heappop(self._ends)[2]
            if limit.over:
                self._over -= 1
            else:
                limit.expire()
        if self._ends:
            self._set(self._ends[0][0])


class Limit:
    """One of them, as a block."""

    __slots__ = ("_cancelling", "_expired", "_limits", "_seconds", "_task", "over")

    def __init__(self, limits: Limits, seconds: float) -> None:
        self._limits = limits
        self._seconds = seconds
        self._task: asyncio.Task[object] | None = None
        self._cancelling = 0
        self._expired = False
        self.over = False

    def __enter__(self) -> None:
        task = asyncio.current_task()
        assert task is not None, "only a task can be ended"
        self._task, self._cancelling = task, task.cancelling()
        self._limits.begin(self, asyncio.get_running_loop().time() + self._seconds)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.over, task = True, self._task
        self._task = None
        if not self._expired:
            self._limits.end()
            return
        # Whoever cancels it for another reason at the same time wants it to be cancelled.
        if task is not None and task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def expire(self) -> None:
        """End what is done in it."""
        if self._task is not None:
            self._expired = True
            self._task.cancel()
