"""In which order the calls of a session came (PIPE-8), until each stands in line at its turnstile.

Before that a call is admitted, its session is read and its id is looked up, which takes each call a time of its own.
"""

import asyncio
from collections import deque


class Arrivals:
    """The calls that have come and do not stand in line yet. For the event loop's thread alone.

    They are told apart by who calls as well: somebody else's calls, which will be refused, keep nobody waiting.
    """

    def __init__(self) -> None:
        self._lines: dict[tuple[str, str], deque[Arrival]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._lines.values()))

    def arrive(self, principal_id: str, session_id: str, *, is_answer: bool = False) -> "Arrival":
        """A call has come, behind all others of its session.

        One that `is_answer`, which resolves what others left pending, goes before those that wait to begin: where more
        come than can be served, it is what makes an end of something.
        """
        of = (principal_id, session_id)
        line = self._lines.get(of)
        if line is None:
            line = self._lines[of] = deque()
        arrival = Arrival(self, of, line)
        before = next((one for one in line if one.waits_to_begin), None) if is_answer else None
        line.insert(len(line) if before is None else line.index(before), arrival)
        return arrival

    def left(self, of: tuple[str, str], line: "deque[Arrival]") -> None:
        """Somebody has left `line`: whoever is first in it now may go on."""
        while line and line[0].gone:
            line.popleft()
        if line:
            line[0].go()
        else:
            self._lines.pop(of, None)


class Arrival:
    """The place of one call among those of its session; whether it `waits_to_begin` is for its caller to say."""

    __slots__ = ("_all", "_line", "_of", "_turn", "gone", "waits_to_begin")

    def __init__(self, every: Arrivals, of: tuple[str, str], line: "deque[Arrival]") -> None:
        self._all, self._of, self._line = every, of, line
        self._turn: asyncio.Future[None] | None = None
        self.gone = self.waits_to_begin = False

    def turn(self) -> "asyncio.Future[None] | None":
        """Nothing when all that came before have left; else what is done when they have."""
        if self._line[0] is self:
            return None
        self._turn = asyncio.get_running_loop().create_future()
        return self._turn

    def go(self) -> None:
        """It is the first now."""
        if self._turn is not None and not self._turn.done():
            self._turn.set_result(None)

    def leave(self) -> None:
        """Stand in line, wait for another's answer or go away: those behind no longer wait for this. Again: nothing."""
        if self.gone:
            return
        self.gone, self.waits_to_begin = True, False
        if self._line[0] is self:
            self._all.left(self._of, self._line)
