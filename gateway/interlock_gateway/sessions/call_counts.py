"""What principals called lately: counted in memory, kept behind, added up over replicas (POL-4, decision 0062)."""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass

from interlock_gateway.core.clock import Clock
from interlock_gateway.core.recent import LONGEST_S, Counted, PrincipalCalls, Recent, summed
from interlock_gateway.pipeline.ports import StateStore

PRINCIPALS_KEPT = 1_000
"""Principals beyond this many are dropped from memory when they have been written, and read again when they call."""
LOOK_EVERY_S = 1.0
"""How old what other replicas counted may be when it is used."""


@dataclass(slots=True)
class Tally:
    """The calls of one principal: those counted here, and those that others had counted at `looked_at`."""

    own: PrincipalCalls
    elsewhere: tuple[PrincipalCalls, ...] = ()
    looked_at: float = 0.0

    def seen(self, tool: str, now: float) -> Recent:
        """How many calls are in the windows that end now, of all replicas together."""
        own = self.own.seen(tool, now)
        if not self.elsewhere:
            return own
        return summed((own, *(others.seen(tool, now) for others in self.elsewhere)))


class CallCounts:
    """Tallies by principal. What is not in memory is in the database, so dropping one never forgets a call."""

    def __init__(self, store: StateStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._known: OrderedDict[str, Tally] = OrderedDict()
        self._dirty: set[str] = set()
        self._writing = asyncio.Lock()

    async def of(self, principal_id: str) -> Tally:
        """The principal's tally. Raises `StateError`: it is not in memory and cannot be read."""
        tally = self._known.get(principal_id)
        if tally is None:
            return await self._brought_in(principal_id)
        self._known.move_to_end(principal_id)
        if self._store.crossing is not None and self._clock.monotonic() - tally.looked_at > LOOK_EVERY_S:
            await self._look_elsewhere(principal_id, tally)
        return tally

    def count(self, principal_id: str, tally: Tally, tool: str, now: float, *, destructive: bool) -> Counted:
        """Count one call that is about to be decided."""
        self._dirty.add(principal_id)
        return tally.own.count(tool, now, destructive=destructive)

    def take_back(self, principal_id: str, counted: Counted, *, destructive_only: bool = False) -> None:
        """Let a call that was not let through, or that destroys nothing, not have been counted as what it is not."""
        tally = self._known.get(principal_id)
        if tally is not None and tally.own is counted.calls:
            self._dirty.add(principal_id)
            counted.calls.take_back(counted, destructive_only=destructive_only)

    async def flush(self) -> None:
        """Write what has changed. Called about once a second, and at the end."""
        async with self._writing:
            taken, self._dirty = self._dirty, set()
            try:
                await self._write(taken)
            except BaseException:
                self._dirty |= taken  # what was called must not be forgotten because a disk was full
                raise
            self._drop_idle()

    async def forget_old(self) -> None:
        """Drop from the database what is in no window any more. Called at start."""
        await self._store.counts.forget_counts(self._clock.now() - LONGEST_S)

    def __len__(self) -> int:
        return len(self._known)

    async def _write(self, taken: set[str]) -> None:
        documents = {name: self._known[name].own.to_json() for name in taken}
        if documents:
            await self._store.counts.save_counts(documents, self._clock.now())

    async def _brought_in(self, principal_id: str) -> Tally:
        kept = await self._store.counts.load_counts(principal_id)
        own = PrincipalCalls() if kept.own is None else PrincipalCalls.from_json(kept.own)
        tally = Tally(own, tuple(map(PrincipalCalls.from_json, kept.others)), self._clock.monotonic())
        # Of two calls that brought it in at once both must go on with the same.
        return self._known.setdefault(principal_id, tally)

    async def _look_elsewhere(self, principal_id: str, tally: Tally) -> None:
        kept = await self._store.counts.load_counts(principal_id)
        tally.elsewhere = tuple(map(PrincipalCalls.from_json, kept.others))
        tally.looked_at = self._clock.monotonic()

    def _drop_idle(self) -> None:
        excess = len(self._known) - PRINCIPALS_KEPT
        if excess > 0:
            idle = [name for name in self._known if name not in self._dirty]
            for name in idle[:excess]:
                del self._known[name]
