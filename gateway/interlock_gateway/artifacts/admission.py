"""Who may keep how much: room for an artifact is entered before it is stored, and refused above a limit (ART-4)."""

import logging
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

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
_KNOWN = 10_000
"""Of how many sessions it is known whose they are."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """The most bytes of one session, of all together, and of one principal's sessions; `None` is no limit."""

    session_bytes: int
    total_bytes: int | None
    principal_bytes: int | None = None


class Limit(StrEnum):
    """What was reached when an artifact was refused."""

    SESSION = "session"
    PRINCIPAL = "principal"
    TOTAL = "total"


_HOLDER = {
    Limit.SESSION: "this session has all the artifacts that it may",
    Limit.PRINCIPAL: "the sessions of this principal have all the artifacts that they may",
    Limit.TOTAL: "the artifact store holds all that it may",
}


def _nobody() -> None:
    return


class Admission:
    """Enters artifacts, within the limits.

    Of all together, and of each principal, it knows what was counted last, and what it added since. `on_nearly_full` is
    called when the oldest should go. `refused` counts those for which there was no room, by what was reached.
    """

    def __init__(self, index: ArtifactIndex, clock: Clock, limits: Limits) -> None:
        self._index = index
        self._clock = clock
        self._limits = limits
        self._total = 0
        self._by_owner: Counter[str] = Counter()
        self._entering: Counter[str] = Counter()
        self._owners: OrderedDict[str, str] = OrderedDict()
        self.refused: Counter[Limit] = Counter(dict.fromkeys(Limit, 0))
        self.on_nearly_full: Callable[[], None] = _nobody

    def counted(self, usage: Usage) -> None:
        """All that is stored was counted anew. What is being entered may be among it or not, and counts in any case."""
        self._total = usage.size + self._entering.total()
        self._by_owner = Counter(usage.by_owner)
        self._by_owner.update(self._entering)

    async def admit(self, key: ArtifactKey, size: int) -> Reservation:
        """Enter an artifact. Raises `ArtifactLimitError`, and `ArtifactStoreError` when it cannot be entered."""
        with _entered():
            owner = await self._owner(key.session_id)
        self._check(Limit.TOTAL, self._total + size, self._limits.total_bytes)
        if owner:
            self._check(Limit.PRINCIPAL, self._by_owner[owner] + size, self._limits.principal_bytes)
        most, is_new = self._limits.session_bytes, False
        # Counted before it is waited for, so that many at once do not all find the same room.
        self._count(owner, size)
        self._entering[owner] += size
        try:
            with _entered():
                reservation = await self._index.reserve(key, size, now=self._clock.now(), most=most)
            if reservation is None:
                raise self._refusal(Limit.SESSION, most)
            is_new = reservation.is_new
            return reservation
        finally:
            self._entering -= Counter({owner: size})
            if not is_new:
                self._count(owner, -size)

    def _check(self, limit: Limit, size: int, most: int | None) -> None:
        if most is None or size <= NEARLY_FULL * most:
            return
        self.on_nearly_full()
        if size > most:
            raise self._refusal(limit, most)

    def _refusal(self, limit: Limit, most: int) -> ArtifactLimitError:
        self.refused[limit] += 1
        return ArtifactLimitError(f"{_HOLDER[limit]}, {most} bytes")

    def _count(self, owner: str, more: int) -> None:
        self._total += more
        self._by_owner[owner] += more

    async def _owner(self, session_id: str) -> str:
        """The principal whose session it is. It never changes, and most sessions store more than once."""
        owner = self._owners.get(session_id)
        if owner is None:
            owner = await self._index.owner_of(session_id)
            if owner:
                self._owners[session_id] = owner
                if len(self._owners) > _KNOWN:
                    self._owners.popitem(last=False)
        return owner

    async def withdraw(self, key: ArtifactKey, reservation: Reservation, size: int) -> None:
        """It could not be stored. What is left of it goes with the next sweep, or counts until it is too old."""
        self._count(self._owners.get(key.session_id, ""), -size)
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
