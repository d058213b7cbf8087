"""What is kept about artifacts besides their bytes: whose, how large and how old they are, which are going (ART-4)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from interlock_gateway.artifacts.uri import ArtifactKey


class RemovalReason(StrEnum):
    """Why an artifact goes."""

    AGE = "age"
    SIZE = "size"
    FAILED = "failed"
    """Storing it failed in the middle, so that parts of it may be there."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """Room for an artifact. `is_new` says that nothing of it is there; `stored_at` tells it from a later one."""

    is_new: bool
    stored_at: float


@dataclass(frozen=True, slots=True)
class Entry:
    """An artifact as it is entered: the name of its content, its session, its bytes, when it was stored last."""

    name: str
    session_id: str
    size: int
    stored_at: float


@dataclass(frozen=True, slots=True)
class Doomed:
    """An artifact that is being removed, and why."""

    name: str
    size: int
    reason: RemovalReason


@dataclass(frozen=True, slots=True)
class Usage:
    """How many artifacts there are, their bytes, and the bytes of each principal's (empty: of nobody known)."""

    count: int = 0
    size: int = 0
    by_owner: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Page:
    """What one look at the oldest artifacts gave: those claimed, and where to go on (`None` at the end)."""

    doomed: tuple[Doomed, ...]
    after: tuple[float, str] | None


class ArtifactIndex(Protocol):
    """The entries of all artifacts, shared by all gateways that share the store. Every method raises `StateError`.

    An artifact is entered before the first of its bytes is written, so that nothing is in the store unknown.
    """

    async def reserve(self, key: ArtifactKey, size: int, *, now: float, most: int) -> Reservation | None:
        """Enter an artifact, or renew its age; `None` when its session would have more than `most` bytes.

        Raises `ArtifactStoreError` while somebody is removing it.
        """
        ...

    async def withdraw(self, key: ArtifactKey, reservation: Reservation, now: float) -> None:
        """Storing it failed: what there may be of it goes with the next sweep, and its bytes count no more."""
        ...

    async def removed_at(self, key: ArtifactKey, now: float) -> float | None:
        """When the artifact was removed, if that is known; `now` when it is just being removed."""
        ...

    async def usage(self) -> Usage:
        """All that is entered."""
        ...

    async def owner_of(self, session_id: str) -> str:
        """The principal whose session it is; empty when it is not known."""
        ...

    async def claim(
        self,
        claimant: str,
        reason: RemovalReason,
        *,
        before: float,
        enough: int,
        after: tuple[float, str] | None,
        until: float,
        owner: str | None = None,
    ) -> Page:
        """Claim for removal the oldest that nobody refers to, stored at `before` at the latest; of `owner`, if given.

        At most some dozens, and no more than it takes for `enough` bytes, looking from behind `after`.
        """
        ...

    async def claim_left(self, claimant: str, *, now: float, until: float) -> tuple[Doomed, ...]:
        """Claim some of what others claimed, or could not store, and did not remove in their time."""
        ...

    async def removed(self, claimant: str, names: Sequence[str], now: float) -> tuple[Doomed, ...]:
        """These are gone from the store; which of them counted until now. Asked twice it does nothing more."""
        ...

    async def forget_removed(self, before: float) -> int:
        """Forget some that were removed before then; how many."""
        ...

    async def unknown(self, names: Collection[str]) -> frozenset[str]:
        """Those of `names` that are not entered."""
        ...

    async def adopt(self, entries: Sequence[Entry]) -> int:
        """Enter what was found in the store, where its session is known here; how many."""
        ...

    async def release_closed(self, after: str) -> str | None:
        """Let go of artifacts of closed sessions that were missed; looks at some sessions, and says where to go on."""
        ...

    async def release_idle(self, before: float) -> int:
        """Let go of the artifacts of some sessions in which nothing was stored since then; how many sessions."""
        ...

    async def take_turn(self, errand: str, claimant: str, *, now: float, until: float, every_s: float) -> bool:
        """Whether `claimant` is to do the errand now: one of many, and not before `every_s` have passed."""
        ...

    async def end_turn(self, errand: str, claimant: str, *, now: float, done: bool) -> None:
        """The errand has ended, well or not."""
        ...

    async def last_done(self, errand: str) -> float | None:
        """When the errand ended well the last time, whoever did it."""
        ...
