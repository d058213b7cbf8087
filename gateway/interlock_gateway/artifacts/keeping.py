"""Keeps the artifact store within its limits: counts it, and sweeps it when that is due (ART-4)."""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from interlock_gateway.artifacts.admission import Admission, Limit
from interlock_gateway.artifacts.index import ArtifactIndex, RemovalReason, Usage
from interlock_gateway.artifacts.sweeping import SWEEP, Sweeper, Swept
from interlock_gateway.pipeline.ports import StateError

COUNTED_EVERY_S = 60.0
_FIRST_S = 10.0
# A store that is nearly full and cannot be emptied is not swept for every result that comes.
_URGENT_S = 5.0
_log = logging.getLogger(__name__)


def _none() -> dict[RemovalReason, int]:
    return dict.fromkeys(RemovalReason, 0)


@dataclass
class Upkeep:
    """What the store holds (`None` until it was counted), what this gateway removed or refused, when it was swept."""

    usage: Usage | None = None
    removed: dict[RemovalReason, int] = field(default_factory=_none)
    removed_bytes: dict[RemovalReason, int] = field(default_factory=_none)
    sweeps: int = 0
    failures: int = 0
    last_swept_at: float | None = None
    refused: Mapping[Limit, int] = field(default_factory=dict)


class StoreKeeper:
    """Runs beside the calls, from `run` until that is cancelled."""

    def __init__(self, index: ArtifactIndex, admission: Admission, sweeper: Sweeper, every_s: float) -> None:
        self.upkeep = Upkeep(refused=admission.refused)
        self._index = index
        self._admission = admission
        self._sweeper = sweeper
        self._pause_s = min(every_s, COUNTED_EVERY_S)
        self._nearly_full = asyncio.Event()
        admission.on_nearly_full = self._nearly_full.set

    async def run(self) -> None:
        """Count and sweep, until cancelled."""
        await self.count()
        await self._rest(min(_FIRST_S, self._pause_s))
        while True:
            urgent = self._nearly_full.is_set()
            self._nearly_full.clear()
            try:
                await self.keep(urgent=urgent)
            except Exception:  # noqa: BLE001 - who stopped here would let the store fill up
                _log.exception("keeping the artifact store failed")
            if urgent:
                await asyncio.sleep(_URGENT_S)
            await self._rest(self._pause_s)

    async def keep(self, *, urgent: bool = False) -> Swept | None:
        """Sweep if it is this gateway's turn, and count."""
        swept = None
        try:
            swept = await self._sweeper.sweep(urgent=urgent)
        except StateError as error:
            self.upkeep.failures += 1
            _log.warning("the artifact store cannot be swept", extra={"problem": error.message})
        if swept is not None:
            self._take(swept)
        await self.count()
        return swept

    async def count(self) -> None:
        """Look how much is stored, and when it was swept."""
        try:
            usage = await self._index.usage()
            self.upkeep.last_swept_at = await self._index.last_done(SWEEP)
        except StateError as error:
            _log.warning("the artifact store cannot be counted", extra={"problem": error.message})
            return
        self.upkeep.usage = usage
        self._admission.counted(usage)

    def _take(self, swept: Swept) -> None:
        upkeep = self.upkeep
        if swept.failure:
            upkeep.failures += 1
        else:
            upkeep.sweeps += 1
        for reason in RemovalReason:
            upkeep.removed[reason] += swept.counts[reason]
            upkeep.removed_bytes[reason] += swept.sizes[reason]

    async def _rest(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._nearly_full.wait()
