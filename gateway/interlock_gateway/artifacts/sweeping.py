"""Takes the oldest artifacts out of the store, by age and by total size (ART-4).

Each is claimed in the database, then deleted from the store, then entered as removed. Whoever dies in between leaves a
claim that runs out, and another sweep goes on with it; deleting twice does nothing more.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from uuid import uuid4

from interlock_gateway.artifacts.admission import NEARLY_FULL
from interlock_gateway.artifacts.adopting import adopt_strangers
from interlock_gateway.artifacts.backend import ObjectBackend
from interlock_gateway.artifacts.errors import ArtifactStoreError
from interlock_gateway.artifacts.index import ArtifactIndex, Doomed, RemovalReason
from interlock_gateway.core.clock import Clock
from interlock_gateway.pipeline.ports import StateError

SWEEP, LISTING = "sweep", "listing"
REMEMBERED_S = 30 * 86_400.0
"""How long it is known of a removed artifact that there was one."""
SETTLED_S = 600.0
"""Nothing younger goes, whatever the limits: it may be on its way into the store."""
_CLAIM_S = 120.0
_TURN_S = 900.0
_LISTED_EVERY_S = 86_400.0
_SIDE_BY_SIDE = 8
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Retention:
    """How old artifacts of closed sessions may become, how many bytes all may have, and those of one principal.

    `None` is no limit. An open session in which nothing was stored for `idle_session_s` counts as closed; with `None`
    none does.
    """

    max_age_s: float | None
    max_total_bytes: int | None
    every_s: float
    idle_session_s: float | None = None
    principal_bytes: int | None = None


@dataclass(slots=True)
class Swept:
    """What one sweep removed: how many by reason, and their bytes; `failure` is why it ended early."""

    counts: dict[RemovalReason, int] = field(default_factory=lambda: dict.fromkeys(RemovalReason, 0))
    sizes: dict[RemovalReason, int] = field(default_factory=lambda: dict.fromkeys(RemovalReason, 0))
    adopted: int = 0
    failure: str = ""

    def take(self, gone: Sequence[Doomed]) -> None:
        """Count these."""
        for one in gone:
            self.counts[one.reason] += 1
            self.sizes[one.reason] += one.size


class Sweeper:
    """Sweeps one store. Of several gateways that share it one does it at a time."""

    def __init__(self, index: ArtifactIndex, backend: ObjectBackend, clock: Clock, retention: Retention) -> None:
        self._index = index
        self._backend = backend
        self._clock = clock
        self._retention = retention
        self._who = uuid4().hex

    async def sweep(self, *, urgent: bool = False) -> Swept | None:
        """Remove what has to go; `None` when it is another one's turn, or too early, which `urgent` makes it never.

        Raises `StateError` when nothing could be begun.
        """
        if not await self._turn(SWEEP, 0.0 if urgent else self._retention.every_s):
            return None
        swept, done = Swept(), False
        try:
            await self._sweep(swept)
            done = True
        except (StateError, ArtifactStoreError) as error:
            swept.failure = error.message
            _log.warning("a sweep of the artifact store failed", extra={"problem": error.message})
        finally:
            with suppress(StateError):
                await self._index.end_turn(SWEEP, self._who, now=self._clock.now(), done=done)
        if any(swept.counts.values()):
            removed = {reason.value: count for reason, count in swept.counts.items() if count}
            _log.info("artifacts were removed", extra={"removed": removed, "bytes": sum(swept.sizes.values())})
        return swept

    async def _sweep(self, swept: Swept) -> None:
        if await self._turn(LISTING, _LISTED_EVERY_S):
            await self._look_at_all(swept)
        now = self._clock.now()
        async for left in self._left():
            await self._remove(left, swept)
        if self._retention.idle_session_s is not None:
            while await self._index.release_idle(now - self._retention.idle_session_s):
                pass
        if self._retention.max_age_s is not None:
            before = now - max(self._retention.max_age_s, SETTLED_S)
            await self._remove_oldest(RemovalReason.AGE, before, 0, swept)
        # Before the total, so that nobody's oldest go because another one has too much.
        await self._remove_excess_of_principals(now - SETTLED_S, swept)
        await self._remove_excess(now - SETTLED_S, swept)
        while await self._index.forget_removed(now - REMEMBERED_S):
            pass

    async def _remove_excess_of_principals(self, before: float, swept: Swept) -> None:
        if self._retention.principal_bytes is None:
            return
        for owner, size in (await self._index.usage()).by_owner.items():
            excess = size - int(NEARLY_FULL * self._retention.principal_bytes)
            if owner and excess > 0:
                await self._remove_oldest(RemovalReason.SIZE, before, excess, swept, owner)

    async def _remove_excess(self, before: float, swept: Swept) -> None:
        if self._retention.max_total_bytes is None:
            return
        excess = (await self._index.usage()).size - int(NEARLY_FULL * self._retention.max_total_bytes)
        if excess > 0:
            await self._remove_oldest(RemovalReason.SIZE, before, excess, swept)

    async def _turn(self, errand: str, every_s: float) -> bool:
        now = self._clock.now()
        return await self._index.take_turn(errand, self._who, now=now, until=now + _TURN_S, every_s=every_s)

    async def _left(self) -> AsyncIterator[tuple[Doomed, ...]]:
        while True:
            now = self._clock.now()
            left = await self._index.claim_left(self._who, now=now, until=now + _CLAIM_S)
            if not left:
                return
            yield left

    async def _remove_oldest(
        self, reason: RemovalReason, before: float, enough: int, swept: Swept, owner: str | None = None
    ) -> None:
        """Those stored at `before` at the latest; no more than it takes for `enough` bytes, all when that is 0."""
        after: tuple[float, str] | None = None
        wanted = enough or 1 << 62
        while True:
            until = self._clock.now() + _CLAIM_S
            page = await self._index.claim(
                self._who, reason, before=before, enough=wanted, after=after, until=until, owner=owner
            )
            await self._remove(page.doomed, swept)
            wanted -= sum(one.size for one in page.doomed)
            after = page.after
            if after is None or wanted <= 0:
                return

    async def _remove(self, doomed: Sequence[Doomed], swept: Swept) -> None:
        """Delete claimed artifacts, as far as that can be while the claim holds."""
        until = self._clock.monotonic() + _CLAIM_S / 2
        turns = asyncio.Semaphore(_SIDE_BY_SIDE)

        async def remove(one: Doomed) -> str:
            async with turns:
                if self._clock.monotonic() >= until:
                    return ""
                # The description goes first: without it the artifact is not there.
                await self._backend.delete(f"{one.name}.json")
                await self._backend.delete(one.name)
                return one.name

        gone = await asyncio.gather(*map(remove, doomed), return_exceptions=True)
        names = [name for name in gone if isinstance(name, str) and name]
        swept.take(await self._index.removed(self._who, names, self._clock.now()))
        for problem in gone:
            if isinstance(problem, BaseException):
                raise problem

    async def _look_at_all(self, swept: Swept) -> None:
        """Once a day: what the store holds and nobody entered, and closed sessions whose artifacts were missed."""
        done = False
        try:
            swept.adopted = await adopt_strangers(self._index, self._backend)
            after: str | None = ""
            while after is not None:
                after = await self._index.release_closed(after)
            done = True
        finally:
            await self._index.end_turn(LISTING, self._who, now=self._clock.now(), done=done)
