"""From a request's credentials to its principal (AUTH-1). One authenticator per listener."""

import hashlib
import re
import secrets
from collections.abc import Iterable
from typing import Protocol

from interlock_gateway.config import IdentityConfig, TokenConfig
from interlock_gateway.core.session import Principal, Role
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.identity.peer import Peer

TOKEN_PREFIX = "ilk_"  # noqa: S105 - the part of a token that is not secret
_TOKEN = re.compile(r"ilk_[A-Za-z0-9_-]{43}")
_OPERATING = frozenset({Role.OPERATOR, Role.APPROVER, Role.AUDITOR})


Metadata = Iterable[tuple[str, str | bytes]]
"""A request's metadata as it came: lower-case names, each perhaps more than once."""


class Authenticator(Protocol):
    """Says who is calling."""

    def principal(self, metadata: Metadata, peer: Peer) -> Principal:
        """The caller. Raises `RequestError` (`unauthenticated`) when it is nobody known."""
        ...


class SocketAuthenticator:
    """A Unix socket's file permissions are the credential: whoever can open it is its principal."""

    def __init__(self, principal_id: str, roles: frozenset[Role], groups: tuple[str, ...] = ()) -> None:
        self._principal = Principal(principal_id, "unix", roles, groups)

    def principal(self, metadata: Metadata, peer: Peer) -> Principal:
        """The socket's principal, whatever the metadata says."""
        del metadata, peer
        return self._principal


class TokenAuthenticator:
    """Bearer tokens, kept as hashes. Without tokens nobody gets in, unless anonymous agents are let in outright."""

    def __init__(self, tokens: Iterable[TokenConfig], *, anonymous: bool) -> None:
        self._principals = {
            token.sha256: Principal(token.principal, "token", frozenset(token.roles), token.groups) for token in tokens
        }
        self._anonymous = Principal("anonymous", "anonymous", frozenset({Role.AGENT})) if anonymous else None

    def principal(self, metadata: Metadata, peer: Peer) -> Principal:
        """The bearer of the token in `authorization`. Raises `RequestError` for none, a malformed or an unknown one."""
        headers = [value for name, value in metadata if name == "authorization"]
        if len(headers) > 1 or (headers and not isinstance(headers[0], str)):
            raise RequestError(RequestFault.UNAUTHENTICATED, "send one authorization header, as text")
        header = headers[0] if headers else None
        if not isinstance(header, str):
            if self._anonymous is not None and peer.local:
                return self._anonymous
            raise RequestError(RequestFault.UNAUTHENTICATED, "send a token: authorization: Bearer ilk_...")
        scheme, _, token = header.partition(" ")
        if scheme.lower() != "bearer" or not _TOKEN.fullmatch(token):
            raise RequestError(RequestFault.UNAUTHENTICATED, "the authorization header holds no token of this gateway")
        return self._known(hashlib.sha256(token.encode()).hexdigest())

    def _known(self, digest: str) -> Principal:
        principal = self._principals.get(digest)
        # The look-up is by hash of a 256-bit secret: its timing says nothing about any token.
        if principal is None:
            raise RequestError(RequestFault.UNAUTHENTICATED, "the token is not known")
        return principal


def new_token() -> tuple[str, str]:
    """A new token, and the SHA-256 in hex that the configuration holds of it."""
    token = TOKEN_PREFIX + secrets.token_urlsafe(32)
    return token, hashlib.sha256(token.encode()).hexdigest()


def agent_socket(identity: IdentityConfig) -> SocketAuthenticator:
    """Whoever opens the agents' socket is an agent, and nothing else."""
    return SocketAuthenticator(identity.unix_agent, frozenset({Role.AGENT}))


def operator_socket(identity: IdentityConfig) -> SocketAuthenticator:
    """Whoever opens the operators' socket operates, approves and audits; it is never an agent's credential."""
    return SocketAuthenticator(identity.unix_operator, _OPERATING, identity.unix_operator_groups)
