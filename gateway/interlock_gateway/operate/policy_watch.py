"""Loads policies that changed, by themselves (LIFE-3): looked at every few seconds, loaded when two looks agree.

What was refused is not tried again until it changes. Looking never happens on the event loop.
"""

import asyncio
import logging

from interlock_gateway.operate.policy_keeper import PolicyKeeper
from interlock_gateway.policy.settings import PolicySourceError

_log = logging.getLogger(__name__)


class PolicyWatch:
    """Watches the origin of one keeper's policies."""

    def __init__(self, keeper: PolicyKeeper) -> None:
        self._keeper = keeper
        self._origin = keeper.origin
        self._before = keeper.tried
        self._unreachable = False

    async def run(self) -> None:
        """Look, again and again, until cancelled."""
        while True:
            await asyncio.sleep(self._origin.every_s)
            try:
                await self.look()
            except Exception:  # noqa: BLE001 -- who stopped here would never load a policy again, and nobody would know
                _log.exception("watching the policies failed")

    async def look(self) -> None:
        """Look once, and load what has changed and stayed so."""
        try:
            now = await self._origin.look()
        except PolicySourceError as error:
            if not self._unreachable:
                _log.warning("the policies cannot be looked at", extra={"place": error.place, "problem": error.problem})
            self._unreachable = True
            return
        self._unreachable = False
        before, self._before = self._before, now
        if now != self._keeper.tried and (now == before or not self._origin.settles):
            await self._keeper.reload()
