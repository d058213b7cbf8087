"""What operators hear of exemptions: how many are in force, and which end (POL-2)."""

import logging
from collections import Counter
from collections.abc import Callable

from interlock_gateway.core.clock import Clock
from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.standing import LoadedExemption, Standing, loaded_exemptions, warnings

_log = logging.getLogger(__name__)


class ExemptionWatch:
    """Looks at the exemptions of the policies that are in force when it is asked; `active` gives those policies."""

    def __init__(self, active: Callable[[], PolicyBundle | None], clock: Clock) -> None:
        self._active = active
        self._clock = clock
        self._read: tuple[str, tuple[LoadedExemption, ...]] = ("", ())

    def counts(self) -> dict[tuple[str, ...], float]:
        """How many there are, by how they stand now."""
        now = self._clock.now()
        found = Counter(one.standing(now) for one in self._exemptions())
        return {(standing.value,): float(found[standing]) for standing in Standing}

    def warn(self) -> None:
        """Log those that have ended or soon will."""
        for problem in warnings(self._exemptions(), self._clock.now()):
            about = {"code": problem.code, "problem": problem.message}
            _log.warning("an exemption has ended or soon will", extra=about)

    def _exemptions(self) -> tuple[LoadedExemption, ...]:
        bundle = self._active()
        if bundle is None:
            return ()
        if self._read[0] != bundle.revision:
            self._read = (bundle.revision, loaded_exemptions(bundle))
        return self._read[1]
