"""What the approvers' side keeps, and what it needs of the database for it (CHK-8)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from interlock_gateway.core.checkpoint import ApproverDecision


@dataclass(frozen=True, slots=True)
class AnswerLink:
    """A link for one answer of one approver to one checkpoint; of its token only the SHA-256 in hex is kept.

    Times are Unix seconds; `used_at` is `None` until it was used.
    """

    token_sha256: str
    checkpoint_id: str
    channel: str
    approver: str
    decision: ApproverDecision
    expires_at: float
    used_at: float | None = None


class ApprovalStore(Protocol):
    """Links, what was posted, and what was answered before. Raises `StateUnavailableError` like every store."""

    async def add_links(self, links: Sequence[AnswerLink]) -> None:
        """Keep new links."""
        ...

    async def find_link(self, token_sha256: str) -> AnswerLink | None:
        """The link, used or not."""
        ...

    async def use_link(self, token_sha256: str, now: float) -> bool:
        """Use it; of many who try, one does. Not once it has expired."""
        ...

    async def give_back_link(self, token_sha256: str) -> None:
        """What it was used for did not come about: it may be used again."""
        ...

    async def first_use(self, key_sha256: str, expires_at: float) -> bool:
        """Whether this key is seen for the first time; it is remembered until `expires_at` at least."""
        ...

    async def give_back_use(self, key_sha256: str) -> None:
        """What came with this key did not come about: it may come again."""
        ...

    async def claim_delivery(
        self, channel: str, checkpoint_id: str, event: str, *, now: float, until: float, expires_at: float
    ) -> bool:
        """Take it on to post an event; of many replicas one does, until it is done or the claim has run out.

        It is remembered until `expires_at` at least.
        """
        ...

    async def hold_delivery(self, channel: str, checkpoint_id: str, event: str, until: float) -> None:
        """Whoever claimed it is still at it."""
        ...

    async def delivered(self, channel: str, checkpoint_id: str, event: str, now: float) -> None:
        """It was posted, or given up: nobody posts it again."""
        ...

    async def sweep(self, now: float) -> None:
        """Forget what has expired."""
        ...


class WatchStore(Protocol):
    """Who watches, for the other replicas to know."""

    async def begin_watch(self, watch_id: str, approver: str, groups: tuple[str, ...]) -> None:
        """Say that there is a watch at this replica."""
        ...

    async def end_watch(self, watch_id: str) -> None:
        """It has it no more; without one, nothing happens."""
        ...

    async def forget_own_watches(self) -> None:
        """At start: what a process before this one left."""
        ...

    async def watches_elsewhere(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Each watch of another replica that lives: its approver, and their groups."""
        ...
