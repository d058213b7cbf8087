"""What the pipeline needs of the approvers' side (CHK-2)."""

from typing import Protocol


class Nobody:
    """There is no approver, and no way to reach one: whoever needs one is denied."""

    async def can_ask(self, requester: str, groups: tuple[str, ...], escalate_to: tuple[str, ...]) -> bool:
        """No."""
        del requester, groups, escalate_to
        return False


class Approvers(Protocol):
    """Who can be asked. The composition root plugs the desk of `approvals/` in."""

    async def can_ask(self, requester: str, groups: tuple[str, ...], escalate_to: tuple[str, ...]) -> bool:
        """Whether somebody who may answer is watching, or a channel that serves them is configured, anywhere.

        `requester` never counts. Without groups any approver will do; those of `escalate_to` count as well, since they
        will be asked. Raises `StateUnavailableError` when that cannot be known.
        """
        ...
