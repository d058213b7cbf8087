"""How those are answered who cannot be served now: quickly, with the time to wait, and with a word in the log."""

import logging
import random
from collections import Counter
from collections.abc import Sequence

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
        self._errors: dict[tuple[str, int], tuple[RequestError, ...]] = {}
        self._reasons: dict[str, str] = {}
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
        self._reasons[words] = reason
        (found,) = self._alike(words, 1)
        return found.with_traceback(None)

    def more(self, error: RequestError, count: int) -> Sequence[RequestError]:
        """The refusals of `count` more for the same reason as `error`, which this made."""
        self.counts[self._reasons[error.message]] += count
        self.total += count
        return self._alike(error.message, count)

    def _alike(self, words: str, count: int) -> Sequence[RequestError]:
        errors = self._errors.get((words, self._doublings))
        if errors is None:
            first_s = FIRST_RETRY_S * 2**self._doublings
            times = [first_s * (0.5 + step / JITTER_STEPS) for step in range(JITTER_STEPS)]
            errors = tuple(RequestError(RequestFault.OVERLOADED, words, retry_s=retry_s) for retry_s in times)
            self._errors[words, self._doublings] = errors
        first = random.randrange(JITTER_STEPS)  # noqa: S311 - nobody gains from guessing it
        return (errors * (count // JITTER_STEPS + 2))[first : first + count]
