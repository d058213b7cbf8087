"""Which calls may begin now, and which are refused, when more come than can be served (REL-8).

What a gateway can do is bounded by its event loop. A call that has begun is a task there, and each turn of the loop
takes as long as all of them together: whoever begins everything at once makes everybody slow, health and approvals too,
and refuses too late what cannot be done. So calls are begun a few in each turn, as many as keep a turn short, and the
others wait here, where waiting costs nothing. Principals take turns: one with a thousand calls holds up nobody's first.

What would have to wait too long is refused before anything of it is read. A burst may wait a while. A queue that stands
may not: it serves nobody, and makes every call late (RFC 8289 says so of packets).
"""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import thread_time

from interlock_gateway.sessions.pauses import PAUSE_S, Pauses
from interlock_gateway.sessions.refusals import Refusals
from interlock_gateway.sessions.shares import Full, Shares

TURN_S = 0.004
"""The processor time that calls are to take in one turn of the loop, at most."""
REFUSING_TURN_S = 0.005
"""The same while calls are refused: more share what each turn costs, and all wait anyway."""
FIRST_A_TURN, MOST_A_TURN = 16.0, 64.0
BURST_S = 0.5
"""How long a call may be expected to wait, when all was calm before."""
STANDING_S = 0.2
"""After how long with somebody in it a queue is no burst any more."""
TARGET_S = 0.05
"""How long a call may be expected to wait in a queue that stands."""
POLICY_S = 0.1
"""How long policy may keep calls waiting before no more are begun: well below what it takes to be denied for it."""
CALM_S = 1.0
"""After how long without a refusal all is calm."""
WINDOW_S = 0.1
"""Over how long it is counted how many calls begin."""
SLOWER = 0.93
"""What is kept of the highest rate with each window in which fewer calls began."""
LEAST_RATE = 200.0
LOOK_AGAIN_S = 0.002
_WORDS = {
    Full.ALL: "too many calls are in flight",
    Full.SHARE: "too many calls of this principal are in flight beside those of others",
}


@dataclass(slots=True)
class _Place:
    future: "asyncio.Future[None]"
    since: float


class Gate:
    """Lets calls begin. For the event loop's thread alone.

    `most` is how many calls may be in flight at once; `delay_s` says how long policy keeps waiting what has begun.
    `waited` and `waited_s` are how many calls had to wait here, and how long together. `pauses` are of connections
    on which calls are refused. `on_alone` is told when a call comes in while no other is in flight.
    """

    def __init__(self, most: int, delay_s: Callable[[], float] = lambda: 0.0) -> None:
        self.refusals = Refusals()
        self.pauses = Pauses()
        self.delay_s = delay_s
        self.on_alone: Callable[[], None] | None = None
        self.waited, self.waited_s = 0, 0.0
        self._shares = Shares(most)
        self._waiting: OrderedDict[str, deque[_Place]] = OrderedDict()
        self._count = 0
        self._since = 0.0
        self._coming: Counter[str] = Counter()
        self._all_coming = 0
        self._refused_at = float("-inf")
        self._reading_s = 0.0
        self._used_s: float | None = None
        self._turning = False
        self._a_turn = FIRST_A_TURN
        self._left = int(FIRST_A_TURN)
        self._rate = 5 * LEAST_RATE
        self._begun = 0
        self._counted_from = 0.0

    @property
    def in_flight(self) -> int:
        """How many calls are in flight, those that wait here among them."""
        return self._shares.count

    @property
    def waiting(self) -> int:
        """How many calls wait to begin."""
        return self._count

    def check(self, principal_id: str) -> None:
        """Look at a call of which only the head has come. Raises `RequestError` when it would have to wait too long."""
        if (full := self._shares.refusal(principal_id)) is not None:
            raise self.refusals.error(full, _WORDS[full], _loop().time())
        if self._count:
            self._check_queue(principal_id)
        self._coming[principal_id] += 1
        self._all_coming += 1

    def enter(self, principal_id: str, *, again: bool = False) -> None:
        """Count a call in flight; `again`, one that was let in before and is refused no more. Raises `RequestError`."""
        if not again and (full := self._shares.refusal(principal_id)) is not None:
            raise self.refusals.error(full, _WORDS[full], _loop().time())
        self._shares.take(principal_id)
        if self.on_alone is not None and self._shares.count == 1:
            self.on_alone()

    def leave(self, principal_id: str) -> None:
        """A call is not in flight any more."""
        self._shares.give_back(principal_id)

    @contextmanager
    def entered(self, principal_id: str, *, again: bool = False) -> Iterator[None]:
        """A call is in flight inside the block; as `enter`."""
        self.enter(principal_id, again=again)
        try:
            yield
        finally:
            self.leave(principal_id)

    def begin(self, principal_id: str) -> "asyncio.Future[None] | None":
        """Begin a call: at once, or when what is returned is done. Cancelled, its place is given up."""
        if not self._turning:
            self._begin_turn()
        if self._left > 0 and not self._count:
            self._left -= 1
            return None
        loop = _loop()
        place = _Place(loop.create_future(), loop.time())
        if not self._count:
            self._since = self._counted_from = place.since
            self._begun = 0
        self._count += 1
        self._waiting.setdefault(principal_id, deque()).append(place)
        return place.future

    @property
    def crowded(self) -> bool:
        """Whether calls wait, so that others may be refused."""
        return self._count > 0

    @property
    def room(self) -> int:
        """About how many more may come until somebody is refused, going by the queue: to read those at once."""
        return max(0, int(TARGET_S * self._rate) - self._count - self._all_coming)

    def is_behind(self, principal_id: str) -> bool:
        """Whether so many wait that a call of this principal begins no later when it is read after a pause."""
        mine = len(self._waiting.get(principal_id, ()))
        return min(mine * len(self._waiting), self._count) > PAUSE_S * self._rate

    def has_read(self, took_s: float) -> None:
        """Note that it took so much processor time to refuse what was read: it is none that calls took."""
        self._reading_s += took_s

    def _check_queue(self, principal_id: str) -> None:
        # Those that come in the same turn count as those of their principal: nobody is refused for another's.
        mine = len(self._waiting.get(principal_id, ())) + self._coming[principal_id]
        ahead = min(mine * max(len(self._waiting), len(self._coming)), self._count + self._all_coming)
        if ahead <= TARGET_S * self._rate:
            return
        now = _loop().time()
        is_burst = now - self._since <= STANDING_S and self._is_calm(now)
        if is_burst and ahead <= BURST_S * self._rate:
            return
        self._refused_at = now
        raise self.refusals.error("queue", "more calls come than can be served", now)

    def _is_calm(self, now: float) -> bool:
        return now - self._refused_at > CALM_S

    def _begin_turn(self) -> None:
        self._turning = True
        self._used_s = thread_time()
        _loop().call_soon(self._turn)

    def _turn(self) -> None:
        """Once in each turn of the loop in which calls begin, or wait."""
        self._turning, self._all_coming = False, 0
        self._coming.clear()
        self._adapt()
        stalled = self.delay_s() > POLICY_S
        self._left = 0 if stalled else int(self._a_turn)
        if not self._count:
            self.pauses.end()
            return
        now = _loop().time()
        self._measure(now)
        while self._left > 0 and self._count:
            self._let_in(now)
        if stalled:
            self._turning = True
            self._used_s = None
            _loop().call_later(LOOK_AGAIN_S, self._turn)
        else:
            self._begin_turn()

    def _adapt(self) -> None:
        """Begin fewer calls in a turn when it took too long, and more when it did not and more wanted to begin."""
        reading_s, self._reading_s = self._reading_s, 0.0
        if self._used_s is None:
            return
        took_s = thread_time() - self._used_s - reading_s
        if took_s > (TURN_S if self._is_calm(_loop().time()) else REFUSING_TURN_S):
            self._a_turn = max(1.0, self._a_turn * 0.8)
        elif self._left <= 0:
            self._a_turn = min(MOST_A_TURN, self._a_turn + 0.5)

    def _measure(self, now: float) -> None:
        lasted = now - self._counted_from
        if lasted >= WINDOW_S:
            self._rate = max(self._begun / lasted, self._rate * SLOWER, LEAST_RATE)
            self.refusals.scale(self._begun)
            self._begun, self._counted_from = 0, now

    def _let_in(self, now: float) -> None:
        """Let the first of those in whose turn it is."""
        principal_id, places = next(iter(self._waiting.items()))
        place = places.popleft()
        self._count -= 1
        if places:
            self._waiting.move_to_end(principal_id)
        else:
            del self._waiting[principal_id]
        if not place.future.done():
            self._left -= 1
            self._begun += 1
            self.waited += 1
            self.waited_s += now - place.since
            place.future.set_result(None)


_loop = asyncio.get_running_loop
