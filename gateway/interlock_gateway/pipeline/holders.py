"""Who holds a call open at another replica: asked before a checkpoint is withdrawn because whoever held it has gone.

A client whose connection broke asks for the same call again, by a balancer at another replica as a rule.
"""

import asyncio
from collections.abc import Callable, Collection

from interlock_gateway.core.change import Change, Topic
from interlock_gateway.pipeline.parts import Parts

COME_AGAIN_S = 5.0
"""How long a client may take to come again elsewhere. It comes at once; noticing that it is cut off takes time."""
_ANSWERED_S = 1.0


class Holders:
    """Asks the other replicas who holds a call open, and answers them; `held` are the calls that are held here."""

    def __init__(self, parts: Parts, held: Callable[[], Collection[tuple[str, str]]]) -> None:
        self._parts = parts
        self._held = held
        parts.store.changes.subscribe_elsewhere(self._asked)

    async def hold_elsewhere(self, key: tuple[str, str]) -> bool:
        """Whether another replica holds the call open, after the time that it takes to get there.

        Where there is no other one, nobody does. Raises `StateError`.
        """
        if self._parts.store.crossing is None:
            return False
        await asyncio.sleep(COME_AGAIN_S)
        answered = asyncio.Event()

        def listen(change: Change) -> None:
            if change == Change(Topic.HELD, *key) or change.topic is Topic.EVERYTHING:
                answered.set()

        forget = self._parts.store.changes.subscribe_elsewhere(listen)
        try:
            await self._parts.store.checkpoints.tell(Change(Topic.WHO_HOLDS, *key))
            async with asyncio.timeout(_ANSWERED_S):
                await answered.wait()
        except TimeoutError:
            return False
        finally:
            forget()
        return True

    def _asked(self, change: Change) -> None:
        key = change.session_id, change.key
        if change.topic is Topic.WHO_HOLDS and key in self._held():
            self._parts.tasks.start(self._parts.store.checkpoints.tell(Change(Topic.HELD, *key)))
