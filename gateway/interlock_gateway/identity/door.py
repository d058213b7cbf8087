"""Who is let in over the network: by a certificate, a token of ours, a token of an issuer, or outright (AUTH-1)."""

import asyncio
from collections.abc import Coroutine
from typing import Any, Protocol

from interlock_gateway.core.clock import Clock
from interlock_gateway.core.session import Principal, Role
from interlock_gateway.identity.authenticate import Found, Metadata, TokenBook
from interlock_gateway.identity.oidc.grants import refuse_contradiction
from interlock_gateway.identity.peer import Certificate, Peer
from interlock_gateway.identity.refusals import Refusal, RefusalLog, RefusedError

_SEND_ONE = "send a token: authorization: Bearer and the token"
_OR_SHOW = "; or connect with a client certificate"
ANONYMOUS = Principal("anonymous", "anonymous", frozenset({Role.AGENT}))


class Holders(Protocol):
    """Whom certificates stand for."""

    def principal(self, certificate: Certificate, now: float) -> Principal | None:
        """Whom it stands for; `None` for nobody. Raises `RefusedError`."""
        ...


class Bearers(Protocol):
    """Whose the tokens of issuers are."""

    def principal(self, token: str) -> "Principal | asyncio.Task[Principal]":
        """Whose it is, or will turn out to be. Raises `RefusedError`."""
        ...


class NetworkDoor:
    """The authenticator of TCP listeners. A caller has one credential: who brings two is asked which it is."""

    def __init__(
        self,
        tokens: TokenBook,
        clock: Clock,
        log: RefusalLog,
        *,
        holders: Holders | None = None,
        bearers: Bearers | None = None,
        anonymous: bool = False,
        approvers: frozenset[str] = frozenset(),
    ) -> None:
        self._tokens = tokens
        self._clock = clock
        self._log = log
        self._holders = holders
        self._bearers = bearers
        self._anonymous = anonymous
        self._approvers = approvers

    def principal(self, metadata: Metadata, peer: Peer) -> Found:
        """The caller, or later, when keys have to be fetched first. Raises `RefusedError` for nobody known."""
        try:
            found = self._found(metadata, peer)
            if isinstance(found, Principal):
                return self._checked(found)
        except RefusedError as error:
            self._log.note(error, peer.address)
            raise
        return after(found, self._later(found, peer))

    async def _later(self, found: "asyncio.Task[Principal]", peer: Peer) -> Principal:
        try:
            return self._checked(await found)
        except RefusedError as error:
            self._log.note(error, peer.address)
            raise

    def _found(self, metadata: Metadata, peer: Peer) -> "Principal | asyncio.Task[Principal]":
        if peer.unreadable:
            raise RefusedError(Refusal.CERTIFICATE_INVALID, "the certificate cannot be read", peer.unreadable)
        token = _bearer(metadata)
        holder = self._holder(peer.certificate)
        if token is None:
            return holder or self._without_token(peer)
        if holder is not None:
            words = "send a certificate or a token, not both"
            raise RefusedError(Refusal.TWO_CREDENTIALS, words, f"a token came with the certificate of {holder.id}")
        if self._bearers is not None and not self._tokens.looks_like_ours(token):
            return self._bearers.principal(token)
        return self._tokens.principal(token)

    def _holder(self, certificate: Certificate | None) -> Principal | None:
        if certificate is None or self._holders is None:
            return None
        return self._holders.principal(certificate, self._clock.now())

    def _without_token(self, peer: Peer) -> Principal:
        if peer.certificate is not None:
            name = ", ".join(peer.certificate.uris) or peer.certificate.subject
            detail = f"{name[:300]}: no entry of identity.mtls.principals fits it"
            raise RefusedError(Refusal.CERTIFICATE_UNKNOWN, "the certificate is nobody's here", detail)
        if self._anonymous and peer.local:
            return ANONYMOUS
        raise RefusedError(Refusal.NO_CREDENTIALS, f"{_SEND_ONE}{_OR_SHOW if self._holders is not None else ''}")

    def _checked(self, principal: Principal) -> Principal:
        """`principal`, unless it is an agent who decides about calls, by its roles or by a webhook."""
        refuse_contradiction(principal.id, principal.roles)
        if principal.id in self._approvers:
            refuse_contradiction(principal.id, principal.roles | {Role.APPROVER})
        return principal


def after(first: "asyncio.Task[Principal]", then: Coroutine[Any, Any, Principal]) -> "asyncio.Task[Principal]":
    """A task for `then`, which waits for `first`. Who cancels it cancels both, even before it has begun."""
    task = asyncio.get_running_loop().create_task(then)
    task.add_done_callback(lambda _: first.cancel())
    return task


def _bearer(metadata: Metadata) -> str | None:
    """The token in `authorization`, if there is one. Raises `RefusedError` for several, or one of another kind."""
    headers = [value for name, value in metadata if name == "authorization"]
    if not headers:
        return None
    if len(headers) > 1 or not isinstance(headers[0], str):
        raise RefusedError(Refusal.MALFORMED, "send one authorization header, as text")
    scheme, _, token = headers[0].partition(" ")
    if scheme.lower() != "bearer" or not token or " " in token:
        raise RefusedError(Refusal.MALFORMED, "the authorization header is not: Bearer and a token")
    return token
