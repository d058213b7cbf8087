"""Whether there is a gateway at the other end: whoever was there once comes back, an address may be wrong."""

import time
from dataclasses import replace
from typing import Any

import grpc

from interlock._connection_trouble import broke
from interlock._flow import Answer, Failure


class Contact:
    """What a client knows of its gateway; `patience` is for how many seconds without an answer it counts as there.

    Without a `patience` one that has answered once counts as there for good.
    """

    def __init__(self, patience: float | None) -> None:
        self._patience = patience
        self._met = False
        self._away_since: float | None = None

    def answered(self, message: Any) -> Answer:
        """Take note of a message of the gateway."""
        self._met, self._away_since = True, None
        return Answer(message)

    def failed(self, failure: Failure) -> Failure:
        """Take note of a failure, and say in it whether the gateway counts as there."""
        now = time.monotonic()
        if failure.details:
            self._met, self._away_since = True, None  # it said so itself
        elif failure.code is grpc.StatusCode.UNAVAILABLE:
            self._met = self._met or broke(failure)
            self._away_since = now if self._away_since is None else self._away_since
        away_s = 0.0 if self._away_since is None else now - self._away_since
        patient = self._patience is None or away_s < self._patience
        return replace(failure, reached=self._met and patient)
