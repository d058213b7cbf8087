"""Whether there is a gateway at the other end: whoever was there once comes back, an address may be wrong."""

import time
from dataclasses import replace
from typing import Any

import grpc

from interlock._connection_trouble import broke
from interlock._flow import Answer, Failure
from interlock._status import read_details

# With these a gateway that is well says that it has no room, or makes way for another.
_WELL = frozenset({"OVERLOADED", "DRAINING"})


class Contact:
    """What a client knows of its gateway; `patience` is for how many seconds one without success counts as there.

    Without a `patience` one that has answered once counts as there for good.
    """

    def __init__(self, patience: float | None) -> None:
        self.patience = patience
        self.met = False

    def flow(self) -> "FlowContact":
        """What a flow that begins now knows of it."""
        return FlowContact(self)


class FlowContact:
    """What one flow knows of the gateway. It is away since the flow's first failure: before that nobody asked."""

    def __init__(self, contact: Contact) -> None:
        self._contact = contact
        self._away_since: float | None = None

    def answered(self, message: Any) -> Answer:
        """Take note of a message of the gateway."""
        self._contact.met, self._away_since = True, None
        return Answer(message)

    def failed(self, failure: Failure) -> Failure:
        """Take note of a failure, and say in it whether the gateway counts as there.

        One that answers that it, its audit, its state or a provider is not available is there, and away all the same.
        """
        now = time.monotonic()
        if failure.details or broke(failure):
            self._contact.met = True
        if _is_well(failure) or self._was_connected(failure):
            self._away_since = None
        if failure.code is grpc.StatusCode.UNAVAILABLE and not _is_well(failure):
            self._away_since = now if self._away_since is None else self._away_since
        away_s = 0.0 if self._away_since is None else now - self._away_since
        patience = self._contact.patience
        return replace(failure, reached=self._contact.met and (patience is None or away_s < patience))

    def _was_connected(self, failure: Failure) -> bool:
        """Whether what failed had a connection for longer than a gateway may be away, as a call that waits has."""
        patience = self._contact.patience
        return patience is not None and failure.elapsed > patience and broke(failure)


def _is_well(failure: Failure) -> bool:
    """Whether the gateway itself refused, and not because something is not available."""
    if not failure.details:
        return False
    return failure.code is not grpc.StatusCode.UNAVAILABLE or read_details(failure.details).reason in _WELL
