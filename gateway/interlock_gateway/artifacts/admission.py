"""Who may keep how much: room for an artifact is entered before it is stored, and refused above a limit (ART-4)."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from interlock_gateway.artifacts.errors import (
    ArtifactLimitError,
    ArtifactNotFoundError,
    ArtifactRemovedError,
    ArtifactStoreError,
)
from interlock_gateway.artifacts.index import ArtifactIndex, Reservation, Usage
from interlock_gateway.artifacts.uri import ArtifactKey
from interlock_gateway.core.clock import Clock
from interlock_gateway.pipeline.ports import StateError

NEARLY_FULL = 0.9
"""From this part of the limit on the oldest artifacts go."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """The most bytes of one session, and of all together; `None` is no limit."""

    session_bytes: int
    total_bytes: int | None


def _nobody() -> None:
    return


class Admission:
    """Enters artifacts, within the limits. Of all together it knows what was counted last, and what it added since.

    `on_nearly_full` is called when the oldest should go.
    """

    def __init__(self, index: ArtifactIndex, clock: Clock, limits: Limits) -> None:
        self._index = index
        self._clock = clock
        self._limits = limits
        self._total = 0
        self.on_nearly_full: Callable[[], None] = _nobody

    def counted(self, usage: Usage) -> None:
        """All that is stored was counted anew."""
        self._total = usage.size

    async def admit(self, key: ArtifactKey, size: int) -> Reservation:
        """Enter an artifact. Raises `ArtifactLimitError`, and `ArtifactStoreError` when it cannot be entered."""
        total = self._limits.total_bytes
        if total is not None and self._total + size > NEARLY_FULL * total:
            self.on_nearly_full()
            if self._total + size > total:
                raise ArtifactLimitError(f"the artifact store holds all that it may, {total} bytes")
        most = self._limits.session_bytes
        with _entered():
            reservation = await self._index.reserve(key, size, now=self._clock.now(), most=most)
        if reservation is None:
            raise ArtifactLimitError(f"this session has all the artifacts that it may, {most} bytes")
        if reservation.is_new:
            self._total += size
        return reservation

    async def withdraw(self, key: ArtifactKey, reservation: Reservation, size: int) -> None:
        """It could not be stored. What is left of it goes with the next sweep, or counts until it is too old."""
        self._total -= size
        with suppress(StateError):
            await self._index.withdraw(key, reservation, self._clock.now())

    async def missing(self, key: ArtifactKey) -> ArtifactNotFoundError:
        """What to say of an artifact that is not there."""
        removed_at = None
        with suppress(StateError):
            removed_at = await self._index.removed_at(key, self._clock.now())
        if removed_at is None:
            return ArtifactNotFoundError("no artifact is stored under this URI")
        day = datetime.fromtimestamp(removed_at, UTC).strftime("%Y-%m-%d %H:%M UTC")
        return ArtifactRemovedError(f"this artifact has expired: it was removed on {day}")


@contextmanager
def _entered() -> Iterator[None]:
    try:
        yield
    except StateError as error:
        _log.warning("an artifact cannot be entered", extra={"problem": str(error)})
        raise ArtifactStoreError("the state database, which every artifact is entered in, is not available") from error
