"""In which order the calls of a session came (PIPE-8), until each stands in line at its turnstile.

Before that a call is admitted, its session is read and its id is looked up, which takes each call a time of its own.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from itertools import islice
from types import TracebackType
from typing import Self

from interlock_gateway.sessions.turnstile import Turnstile


class Arrivals:
    """The calls that have come and do not stand in line yet. For the event loop's thread alone.

    They are told apart by who calls as well: somebody else's calls, which will be refused, keep nobody waiting.
    """

    def __init__(self) -> None:
        self._lines: dict[tuple[str, str], deque[Arrival]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._lines.values()))

    def arrive(self, principal_id: str, session_id: str, *, resolves: bool = False) -> "Arrival":
        """A call has come, behind all others of its session; the block that it is entered for ends with its leaving.

        One that `resolves` what others left pending goes before those that wait to begin: where more come than can be
        served, it is what makes an end of something.
        """
        of = (principal_id, session_id)
        line = self._lines.get(of)
        if line is None:
            line = self._lines[of] = deque()
        arrival = Arrival(self, of, line)
        before = next((one for one in line if one.waits_to_begin), None) if resolves else None
        line.insert(len(line) if before is None else line.index(before), arrival)
        return arrival

    def left(self, of: tuple[str, str], line: "deque[Arrival]") -> None:
        """Whoever was first in `line` has left: all may go on that waited for nobody else."""
        while line and line[0].gone:
            line.popleft()
        if not line:
            del self._lines[of]
            return
        if line[0].is_called:  # with those behind it; they go on in the loop's next turn, in their order
            return
        for one in line:
            if not (one.gone or one.call()):
                return


class Arrival:
    """The place of one call among those of its session; whether it `waits_to_begin` is for its caller to say."""

    __slots__ = ("_all", "_line", "_of", "_turn", "gone", "waits_to_begin")

    def __init__(self, every: Arrivals, of: tuple[str, str], line: "deque[Arrival]") -> None:
        self._all, self._of, self._line = every, of, line
        self._turn: asyncio.Future[None] | None = None
        self.gone = self.waits_to_begin = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave()

    @property
    def is_called(self) -> bool:
        """Whether it waited for its turn and waits no longer."""
        return self._turn is not None and self._turn.done()

    def turn(self) -> "asyncio.Future[None] | None":
        """Nothing when all that came before have left; else what is done when they have."""
        if self._line[0] is self:
            return None
        self._turn = asyncio.get_running_loop().create_future()
        return self._turn

    def ahead(self) -> int:
        """How many that came before have not left."""
        return sum(not one.gone for one in islice(self._line, self._line.index(self)))

    def call(self) -> bool:
        """Tell it that it is its turn; whether it waited for that."""
        if self._turn is None:
            return False
        if not self._turn.done():
            self._turn.set_result(None)
        return True

    def leave(self) -> None:
        """Stand in line, wait for another's answer or go away: those behind no longer wait for this. Again: nothing."""
        if self.gone:
            return
        self.gone, self.waits_to_begin = True, False
        if self._line[0] is self:
            self._all.left(self._of, self._line)


async def stand_in_line(
    turnstile: Turnstile, arrival: Arrival | None, on_ahead: Callable[[int], None] = lambda _: None, *, shared: bool
) -> float:
    """Wait until a call may run, as `Turnstile.acquire`, with an `arrival` behind those that came before.

    `on_ahead` is told how many it waits for to begin, when it has to wait.
    """
    turn = None if arrival is None else arrival.turn()
    if turn is not None or not turnstile.idle:
        on_ahead(turnstile.ahead() + (0 if arrival is None else arrival.ahead()))
    waited_s = 0.0
    if turn is not None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        await turn
        waited_s = loop.time() - began
    return waited_s + await turnstile.acquire(shared=shared, standing=None if arrival is None else arrival.leave)
