"""Where a pending action goes after its apply, held on to until the database takes it (PREV-13).

An apply has happened or not, whatever the database can be told of it at that moment. A move that could not be written
is kept and tried again, so that an action is not left as being applied until the next start.
"""

import logging
from collections.abc import Awaitable, Callable

from interlock_gateway.core.clock import Clock
from interlock_gateway.core.machine import UnknownTransitionError
from interlock_gateway.core.pending import PendingAction, PendingState
from interlock_gateway.pipeline.ports import PendingStore, StateError, UnknownRecordError

_log = logging.getLogger(__name__)


class Settling:
    """Moves claimed pending actions on; what cannot be written now is written later by `retry`.

    `closed` is told of those that could not go back, because their session was closed meanwhile: they are discarded.
    """

    def __init__(self, store: PendingStore, clock: Clock, closed: Callable[[tuple[PendingAction, ...]], None]) -> None:
        self._store = store
        self._closed = closed
        self._clock = clock
        self._owed: dict[tuple[str, str], tuple[PendingState, str]] = {}

    def __len__(self) -> int:
        return len(self._owed)

    async def finish(self, action: PendingAction, claimant: str, state: PendingState, reason: str) -> None:
        """Being applied by `claimant`, a call id → `state`."""
        await self._move((action.pending_id, claimant), state, reason)

    async def release(self, action: PendingAction, claimant: str, last_error: str = "") -> bool:
        """Being applied by `claimant` → pending, on top again (PREV-7); `last_error` says why it was not applied.

        False when it is not `claimant`'s any more, and stays as it is.
        """
        return await self._move((action.pending_id, claimant), PendingState.PENDING, last_error)

    async def retry(self) -> None:
        """Try again what could not be written."""
        for claim, (state, reason) in tuple(self._owed.items()):
            await self._move(claim, state, reason)

    async def _move(self, claim: tuple[str, str], state: PendingState, reason: str) -> bool:
        try:
            moved = await self._written(claim, state, reason)
        except (UnknownRecordError, UnknownTransitionError):
            # Somebody else has moved it meanwhile; what the database says holds.
            self._owed.pop(claim, None)
            return False
        except StateError as error:
            self._owed[claim] = (state, reason)
            _log.warning("a pending action could not be settled", extra={"pending_id": claim[0], "problem": str(error)})
        else:
            self._owed.pop(claim, None)
            if state is PendingState.PENDING and moved.state is PendingState.DISCARDED:
                self._closed((moved,))
        return True

    def _written(self, claim: tuple[str, str], state: PendingState, reason: str) -> Awaitable[PendingAction]:
        pending_id, claimant = claim
        now = self._clock.now()
        if state is PendingState.PENDING:
            return self._store.release_pending(pending_id, claimant, now, reason)
        return self._store.finish_pending(pending_id, claimant, state, now, reason)
