"""One of several replicas on a PostgreSQL database: what it tells and hears, its lease, and its locks (STATE-2)."""

from collections.abc import Callable

from interlock_gateway.core.change import EVERYTHING
from interlock_gateway.state import announcing, session_locks
from interlock_gateway.state.announcing import changes_in
from interlock_gateway.state.changes import LocalChanges
from interlock_gateway.state.listening import Listening
from interlock_gateway.state.presence import Connect, Presence
from interlock_gateway.state.session_locks import SessionLocks
from interlock_gateway.state.standing import Standing


class Replica:
    """What a replica needs besides its lanes. `join` before anything is asked of the database, `leave` at the end.

    `on_tick` is called about every second while the replica has a lease.
    """

    def __init__(
        self,
        connect: Connect,
        standing: Standing,
        *,
        lease_s: float,
        origin: str,
        changes: LocalChanges,
        on_tick: Callable[[], None],
    ) -> None:
        self._changes = changes
        self._origin = origin
        self._presence = Presence(connect, standing, lease_s)
        self.locks = SessionLocks(self._presence, origin)
        self._presence.on_tick = on_tick
        self._presence.on_lost = self.locks.lost
        self._presence.on_joined = self._joined
        self._listening = Listening(
            connect, {announcing.CHANNEL: self._heard, session_locks.CHANNEL: self.locks.hear}, self._missed
        )

    async def join(self) -> None:
        """Listen, and take a lease. Raises `StateUnavailableError`."""
        await self._listening.start()
        try:
            await self._presence.join()
        except BaseException:
            await self._listening.stop()
            raise

    async def leave(self) -> None:
        """Give up locks and lease, and hear no more."""
        await self.locks.close()
        await self._presence.leave()
        await self._listening.stop()

    def _heard(self, payload: str) -> None:
        self._changes.publish_elsewhere(changes_in(payload, told_by=self._origin))

    def _missed(self) -> None:
        self._changes.publish_elsewhere((EVERYTHING,))

    def _joined(self) -> None:
        # Others may have acted in this replica's place meanwhile.
        self._missed()
        self.locks.regained()
