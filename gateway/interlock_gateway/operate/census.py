"""What there is over all replicas: counted in the database when somebody asks, so that no call waits for it."""

import asyncio
from dataclasses import dataclass

from interlock_gateway.approvals.desk import ApprovalDesk
from interlock_gateway.core.clock import Clock
from interlock_gateway.pipeline.ports import StateError, StateStore

PATIENCE_S = 2.0
"""How long the database is waited for: how the gateway is has to be told when that hangs, too."""


@dataclass(frozen=True, slots=True)
class Counted:
    """How many there are, at whichever replica: sessions that are open, what waits in them, and ways to people."""

    open_sessions: int = 0
    pending_actions: int = 0
    open_checkpoints: int = 0
    checkpoint_handlers: int = 0


class Census:
    """Counts, and remembers what it counted last."""

    def __init__(self, store: StateStore, desk: ApprovalDesk, clock: Clock) -> None:
        self._store = store
        self._desk = desk
        self._clock = clock
        self._last = Counted()

    async def count(self) -> Counted:
        """How many there are now; when the database does not say, how many there were when it did last."""
        store, now = self._store, self._clock.now()
        try:
            async with asyncio.timeout(PATIENCE_S):
                self._last = Counted(
                    *await asyncio.gather(
                        store.sessions.count_open(),
                        store.pending.count_every_pending(now),
                        store.checkpoints.count_open_checkpoints(now),
                        self._desk.ways(),
                    )
                )
        except (StateError, TimeoutError):
            pass
        return self._last
