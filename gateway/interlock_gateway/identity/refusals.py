"""Why callers are turned away: a closed set, counted and logged for the operator, told to nobody else in full."""

import logging
from collections.abc import Callable
from enum import StrEnum

from interlock_gateway.core.clock import Clock
from interlock_gateway.errors import RequestError, RequestFault

LOGGED_EVERY_S = 10.0
LOGGED_AT_ONCE = 10
"""So many refusals of one kind are logged in so many seconds: whoever is nobody must not fill the log."""
MOST_KINDS = 256
_log = logging.getLogger(__name__)


class Refusal(StrEnum):
    """Why a caller is nobody, or may not come in; the label of a metric."""

    NO_CREDENTIALS = "no_credentials"
    MALFORMED = "malformed"
    TWO_CREDENTIALS = "two_credentials"
    UNKNOWN_TOKEN = "unknown_token"  # noqa: S105 - the name of a reason
    CERTIFICATE_UNKNOWN = "certificate_unknown"
    CERTIFICATE_EXPIRED = "certificate_expired"
    CERTIFICATE_INVALID = "certificate_invalid"
    JWT_TOO_LARGE = "jwt_too_large"
    JWT_MALFORMED = "jwt_malformed"
    JWT_ISSUER = "jwt_issuer"
    JWT_ALGORITHM = "jwt_algorithm"
    JWT_KEY = "jwt_key"
    JWT_SIGNATURE = "jwt_signature"
    JWT_EXPIRED = "jwt_expired"
    JWT_NOT_YET = "jwt_not_yet"
    JWT_AUDIENCE = "jwt_audience"
    JWT_CLAIMS = "jwt_claims"
    NO_ROLE = "no_role"
    ROLES_CONTRADICT = "roles_contradict"
    KEYS_UNAVAILABLE = "keys_unavailable"


class RefusedError(RequestError):
    """A caller who is not let in. The message is for the caller; `detail` is for the log, and holds no secret."""

    def __init__(self, reason: Refusal, message: str, detail: str = "") -> None:
        unavailable = reason is Refusal.KEYS_UNAVAILABLE
        super().__init__(RequestFault.IDENTITY_UNAVAILABLE if unavailable else RequestFault.UNAUTHENTICATED, message)
        self.reason = reason
        self.detail = detail


class Seldom:
    """Lets so many of a kind through in so many seconds, of few kinds."""

    def __init__(self) -> None:
        self._lately: dict[str, tuple[float, int]] = {}

    def allows(self, kind: str, now: float) -> bool:
        """Whether one more of this kind may be logged, at `now` in monotonic seconds."""
        since, count = self._lately.get(kind, (now, 0))
        if now - since >= LOGGED_EVERY_S:
            since, count = now, 0
        if len(self._lately) >= MOST_KINDS and kind not in self._lately:
            self._lately.clear()
        self._lately[kind] = since, count + 1
        return count < LOGGED_AT_ONCE


class RefusalLog:
    """Counts and logs refusals. `count` is told of each."""

    def __init__(self, clock: Clock, count: Callable[[Refusal], None]) -> None:
        self._clock = clock
        self._count = count
        self._seldom = Seldom()

    def note(self, error: RefusedError, origin: str) -> None:
        """A caller from `origin`, an address, was refused."""
        self._count(error.reason)
        if self._seldom.allows(error.reason, self._clock.monotonic()):
            told = {"reason": error.reason.value, "detail": error.detail or error.message, "from": origin}
            _log.info("a caller was refused", extra=told)
