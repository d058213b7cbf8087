"""Waking whoever waits for a call: told of changes, not looking again and again (CHK-4)."""

import asyncio
import contextlib
from collections.abc import Iterator

from interlock_gateway.core.change import Change, Topic
from interlock_gateway.pipeline.ports import ChangeFeed

RECHECK_S = 60.0
"""How long one waits on without having been told anything, before looking again all the same."""


class Bell:
    """Rings when something about its call may have changed since it was silenced last."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()

    def ring(self) -> None:
        """Wake whoever waits."""
        self._rung.set()

    def silence(self) -> None:
        """Look now: what changes from here on will ring."""
        self._rung.clear()

    async def heard(self, most_s: float) -> bool:
        """Wait until it rings, at most `most_s` seconds; whether it rang."""
        try:
            async with asyncio.timeout(most_s):
                await self._rung.wait()
        except TimeoutError:
            return False
        return True


class Bells:
    """A bell for each one that waits, rung by the changes of its call."""

    def __init__(self, changes: ChangeFeed) -> None:
        self._hung: dict[tuple[str, str], set[Bell]] = {}
        changes.subscribe(self._told)

    @contextlib.contextmanager
    def hung(self, session_id: str, call_id: str) -> Iterator[Bell]:
        """A bell for changes of this call while the block lasts."""
        bell, key = Bell(), (session_id, call_id)
        self._hung.setdefault(key, set()).add(bell)
        try:
            yield bell
        finally:
            self._hung[key].discard(bell)
            if not self._hung[key]:
                del self._hung[key]

    def ring_all(self) -> None:
        """Wake everybody."""
        for bells in tuple(self._hung.values()):
            for bell in bells:
                bell.ring()

    def _told(self, change: Change) -> None:
        if not self._hung:
            return
        if change.topic is Topic.CALL:
            for bell in self._hung.get((change.session_id, change.key), ()):
                bell.ring()
        elif change.topic is Topic.EVERYTHING:
            self.ring_all()
