"""Who can be asked: approvers, as watches and channels bring them (CHK-2, CHK-6)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from interlock_gateway.core.checkpoint import Checkpoint
from interlock_gateway.core.session import Principal, Role


@dataclass(frozen=True, slots=True)
class Handler:
    """Somebody who will be told of a checkpoint and may answer it: a principal, and the groups it answers for.

    With `only_for` they are reached through that principal's own client, and asked about its calls alone.
    """

    approver: str
    groups: tuple[str, ...]
    only_for: str = ""

    def can_be_asked(self, requester: str, groups: tuple[str, ...], escalate_to: tuple[str, ...]) -> bool:
        """Whether this is one who may answer, now or once the second groups are asked; never whoever asks."""
        if self.approver == requester or self.only_for not in ("", requester):
            return False
        return not groups or bool({*groups, *escalate_to} & set(self.groups))


class Reached(Protocol):
    """A way to people besides watches."""

    def handlers(self) -> Iterable[Handler]:
        """Those who are reached by it now."""
        ...

    def ways(self) -> int:
        """How many ways to somebody it is now, however many people are at the end of each."""
        ...


@dataclass(frozen=True, slots=True)
class Channel:
    """A configured way to people besides watches, and who answers on it."""

    name: str
    approvers: tuple[Principal, ...]

    def handlers(self) -> Iterable[Handler]:
        """Those who answer on it."""
        return (Handler(approver.id, approver.groups) for approver in self.approvers)

    def ways(self) -> int:
        """One, if anybody answers on it."""
        return 1 if self.approvers else 0


def may_approve(principal: Principal) -> bool:
    """Whether this is an approver's credential. One that is an agent's too is not: an agent never decides."""
    return principal.has(Role.APPROVER) and not principal.has(Role.AGENT)


def may_see(principal: Principal, checkpoint: Checkpoint) -> bool:
    """Whether an approver is shown a checkpoint: one it may answer now or after escalation, or its own."""
    if principal.id == checkpoint.requester or not checkpoint.approvers:
        return True
    return bool({*checkpoint.approvers, *checkpoint.escalate_to} & set(principal.groups))


def is_asked(principal: Principal, checkpoint: Checkpoint) -> bool:
    """Whether an approver is asked about a checkpoint now."""
    return principal.id != checkpoint.requester and checkpoint.may_be_answered_by(principal.groups)
