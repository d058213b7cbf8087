"""Callers who bring a token of an issuer: verified once, and then known until it ends."""

import asyncio
import hashlib
from collections import Counter, OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from interlock_gateway.core.clock import Clock
from interlock_gateway.core.session import Principal
from interlock_gateway.identity.oidc.grants import principal_of
from interlock_gateway.identity.oidc.issuer import Issuer
from interlock_gateway.identity.oidc.keys import KeysError, KeySet
from interlock_gateway.identity.oidc.verifying import (
    NOT_ACCEPTED,
    Unverified,
    check_algorithm,
    check_claims,
    check_signature,
    key_of,
    taken_apart,
)
from interlock_gateway.identity.refusals import Refusal, RefusedError

REMEMBERED = 4096
"""Verified tokens that are remembered, by their hash."""
MOST_WAITING = 32
"""Calls that wait for one issuer's keys at once; more are refused, to be made again."""
_AGAIN = "the token cannot be verified now; try again"


@dataclass(frozen=True, slots=True)
class _Verified:
    principal: Principal
    issuer: Issuer
    generation: int
    not_before: float


class JwtBearers:
    """Verifies the tokens of some issuers."""

    def __init__(self, issuers: Iterable[Issuer], clock: Clock) -> None:
        self._issuers = {issuer.config.issuer: issuer for issuer in issuers}
        self._largest = max((issuer.config.max_token_bytes for issuer in self._issuers.values()), default=0)
        self._clock = clock
        self._remembered: OrderedDict[bytes, _Verified] = OrderedDict()
        self._waiting: Counter[str] = Counter()

    def principal(self, token: str) -> "Principal | asyncio.Task[Principal]":
        """Whose token it is; later, when its key has to be fetched first. Raises `RefusedError`."""
        if len(token) > self._largest:
            detail = f"it has {len(token)} bytes; identity.jwt accepts {self._largest}"
            raise RefusedError(Refusal.JWT_TOO_LARGE, NOT_ACCEPTED, detail)
        digest = hashlib.sha256(token.encode()).digest()
        found = self._known(digest)
        if found is not None:
            return found
        parts = taken_apart(token)
        issuer = self._issuer_of(parts, len(token))
        keys = issuer.keys
        if keys is None or not self._can_be_looked_up(parts, keys):
            if keys is not None and issuer.is_unknown(parts.kid or ""):
                raise self._without_key(parts, issuer)
            return self._later(parts, issuer, digest)
        return self._verified(parts, issuer, digest)

    def _known(self, digest: bytes) -> Principal | None:
        """The principal of a token that was verified before, if it, and the key it was signed with, still count."""
        found = self._remembered.get(digest)
        if found is None:
            return None
        has_key = found.generation == found.issuer.generation and found.issuer.keys is not None
        if not has_key or not found.not_before <= self._clock.now() < (found.principal.expires_at or 0.0):
            del self._remembered[digest]
            return None
        self._remembered.move_to_end(digest)
        return found.principal

    def _issuer_of(self, parts: Unverified, size: int) -> Issuer:
        said = parts.claims.get("iss")
        issuer = self._issuers.get(said) if isinstance(said, str) else None
        if issuer is None:
            detail = f"its issuer {str(said)[:200]!r} is none of identity.jwt"
            raise RefusedError(Refusal.JWT_ISSUER, NOT_ACCEPTED, detail)
        if size > issuer.config.max_token_bytes:
            detail = f"it has {size} bytes; {issuer.config.name} may send {issuer.config.max_token_bytes}"
            raise RefusedError(Refusal.JWT_TOO_LARGE, NOT_ACCEPTED, detail)
        check_algorithm(parts, issuer.config)
        return issuer

    @staticmethod
    def _can_be_looked_up(parts: Unverified, keys: KeySet) -> bool:
        # A key of this name that is for other algorithms will not be there a moment later either.
        return keys.knows(parts.kid) if parts.kid is not None else key_of(parts, keys) is not None

    def _later(self, parts: Unverified, issuer: Issuer, digest: bytes) -> "asyncio.Task[Principal]":
        """Verify the token once the issuer's keys were fetched. Raises `RefusedError` when too many wait for that."""
        name = issuer.config.name
        if self._waiting[name] >= MOST_WAITING:
            detail = f"{name}: {MOST_WAITING} calls wait for its keys already"
            raise RefusedError(Refusal.KEYS_UNAVAILABLE, _AGAIN, detail)
        task = asyncio.get_running_loop().create_task(self._after_fetch(parts, issuer, digest))
        self._waiting[name] += 1
        task.add_done_callback(partial(self._waits_no_more, name))
        return task

    def _waits_no_more(self, name: str, _: "asyncio.Task[Principal]") -> None:
        self._waiting[name] -= 1

    async def _after_fetch(self, parts: Unverified, issuer: Issuer, digest: bytes) -> Principal:
        try:
            await issuer.fetched_anew(parts.kid or "")
        except KeysError as error:
            raise RefusedError(Refusal.KEYS_UNAVAILABLE, _AGAIN, f"{issuer.config.name}: {error.message}") from None
        return self._verified(parts, issuer, digest)

    def _verified(self, parts: Unverified, issuer: Issuer, digest: bytes) -> Principal:
        keys, now = issuer.keys, self._clock.now()
        if keys is None:
            detail = f"{issuer.config.name}: its keys are too old: {issuer.problem or 'they were not fetched'}"
            raise RefusedError(Refusal.KEYS_UNAVAILABLE, _AGAIN, detail)
        key = key_of(parts, keys)
        if key is None:
            raise self._without_key(parts, issuer)
        check_signature(parts, key, issuer.config)
        expires_at = check_claims(parts.claims, issuer.config, now)
        principal = principal_of(parts.claims, issuer.config, expires_at)
        if len(self._remembered) >= REMEMBERED:
            self._remembered.popitem(last=False)
        self._remembered[digest] = _Verified(principal, issuer, issuer.generation, now - issuer.config.leeway_s)
        return principal

    @staticmethod
    def _without_key(parts: Unverified, issuer: Issuer) -> RefusedError:
        detail = f"{issuer.config.name}: it has no key {str(parts.kid)[:200]!r} for {parts.algorithm}"
        return RefusedError(Refusal.JWT_KEY, NOT_ACCEPTED, detail)
