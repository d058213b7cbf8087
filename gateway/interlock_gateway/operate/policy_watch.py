"""Loads policies that changed, by themselves (LIFE-3): looked at every few seconds, loaded when two looks agree.

What was refused is not tried again until it changes. Looking never happens on the event loop.
"""

import asyncio
import logging
from typing import Protocol

from interlock_gateway.policy.origin import Origin
from interlock_gateway.policy.settings import PolicySourceError

_log = logging.getLogger(__name__)


WITHOUT_ORIGIN_S = 2.0


class Watched(Protocol):
    """Who loads policies from an origin, when there is one."""

    @property
    def origin(self) -> Origin | None:
        """Where they come from."""
        ...

    @property
    def tried(self) -> str:
        """What the origin held when they were loaded last, whatever came of it."""
        ...

    async def reload(self) -> object:
        """Load them again."""
        ...


class PolicyWatch:
    """Watches the origin of one keeper's policies."""

    def __init__(self, keeper: Watched) -> None:
        self._keeper = keeper
        self._before = keeper.tried
        self._unreachable = False

    async def run(self) -> None:
        """Look, again and again, until cancelled."""
        while True:
            origin = self._keeper.origin
            await asyncio.sleep(WITHOUT_ORIGIN_S if origin is None else origin.every_s)
            try:
                await self.look()
            except Exception:  # noqa: BLE001 -- who stopped here would never load a policy again, and nobody would know
                _log.exception("watching the policies failed")

    async def look(self) -> None:
        """Look once, and load what has changed and stayed so."""
        origin = self._keeper.origin
        if origin is None:
            return
        try:
            now = await origin.look()
        except PolicySourceError as error:
            if not self._unreachable:
                _log.warning("the policies cannot be looked at", extra={"place": error.place, "problem": error.problem})
            self._unreachable = True
            return
        self._unreachable = False
        before, self._before = self._before, now
        if now != self._keeper.tried and (now == before or not origin.settles):
            await self._keeper.reload()
