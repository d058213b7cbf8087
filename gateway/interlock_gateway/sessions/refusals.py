"""How those are answered who cannot be served now: quickly, with the time to wait, and with a word in the log."""

import logging
import random
from collections import Counter

from interlock_gateway.errors import RequestError, RequestFault

FIRST_RETRY_S = 0.25
MOST_DOUBLINGS = 5
JITTER_STEPS = 16
"""The time to wait is that many parts longer at most than its half: who was refused together does not come together."""
SAY_S = 10.0
_log = logging.getLogger(__name__)


class Refusals:
    """Makes the errors, each once: thousands are sent a second.

    The time to wait grows with how many are refused for each that is served, so that those who keep to it come back in
    numbers that can be served.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.total = 0
        self._errors: dict[tuple[str, int, int], RequestError] = {}
        self._doublings = 0
        self._before = 0
        self._said_at: float | None = None
        self._said = 0

    def scale(self, served: int) -> None:
        """Note how many were served since this was last called."""
        refused, self._before = self.total - self._before, self.total
        self._doublings = min(MOST_DOUBLINGS, (refused // max(1, served)).bit_length())

    def error(self, reason: str, words: str, now: float) -> RequestError:
        """The refusal of one request, for `reason`."""
        self.counts[reason] += 1
        self.total += 1
        if self._said_at is None or now - self._said_at >= SAY_S:
            _log.warning(
                "calls are refused, because more come than can be served",
                extra={"reason": reason, "refused": self.total - self._said},
            )
            self._said_at, self._said = now, self.total
        step = random.randrange(JITTER_STEPS)  # noqa: S311 - nobody gains from guessing it
        key = (words, self._doublings, step)
        found = self._errors.get(key)
        if found is None:
            retry_s = FIRST_RETRY_S * 2**self._doublings * (0.5 + step / JITTER_STEPS)
            found = self._errors[key] = RequestError(RequestFault.OVERLOADED, words, retry_s=retry_s)
        return found.with_traceback(None)
