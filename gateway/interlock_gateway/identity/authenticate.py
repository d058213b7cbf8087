"""From a request's credentials to its principal (AUTH-1): sockets, and tokens of our own."""

import asyncio
import hashlib
import re
import secrets
from collections.abc import Iterable
from typing import Protocol, TypeAlias

from interlock_gateway.config import IdentityConfig, TokenConfig
from interlock_gateway.core.session import Principal, Role
from interlock_gateway.identity.peer import Peer
from interlock_gateway.identity.refusals import Refusal, RefusedError

TOKEN_PREFIX = "ilk_"  # noqa: S105 - the part of a token that is not secret
_TOKEN = re.compile(r"ilk_[A-Za-z0-9_-]{43}")
_OPERATING = frozenset({Role.OPERATOR, Role.APPROVER, Role.AUDITOR})


Metadata = Iterable[tuple[str, str | bytes]]
"""A request's metadata as it came: lower-case names, each perhaps more than once."""
Found: TypeAlias = Principal | asyncio.Task[Principal]
"""Who is calling, or what will say so once it has fetched what that needs. Whoever gets a task waits for it, or cancels
it."""


class Authenticator(Protocol):
    """Says who is calling."""

    def principal(self, metadata: Metadata, peer: Peer) -> Found:
        """The caller. Raises `RequestError` (`unauthenticated`), at once or later, when it is nobody known."""
        ...


class SocketAuthenticator:
    """A Unix socket's file permissions are the credential: whoever can open it is its principal."""

    def __init__(self, principal_id: str, roles: frozenset[Role], groups: tuple[str, ...] = ()) -> None:
        self._principal = Principal(principal_id, "unix", roles, groups)

    def principal(self, metadata: Metadata, peer: Peer) -> Principal:
        """The socket's principal, whatever the metadata says."""
        del metadata, peer
        return self._principal


class TokenBook:
    """Static tokens, kept as hashes."""

    def __init__(self, tokens: Iterable[TokenConfig]) -> None:
        self._principals = {
            token.sha256: Principal(token.principal, "token", frozenset(token.roles), token.groups) for token in tokens
        }

    @staticmethod
    def looks_like_ours(token: str) -> bool:
        """Whether it says it is one of this gateway, rather than of an issuer."""
        return token.startswith(TOKEN_PREFIX)

    def principal(self, token: str) -> Principal:
        """Whose it is. Raises `RefusedError` for a malformed or an unknown one."""
        if not _TOKEN.fullmatch(token):
            raise RefusedError(Refusal.MALFORMED, "the authorization header holds no token of this gateway")
        principal = self._principals.get(hashlib.sha256(token.encode()).hexdigest())
        # The look-up is by hash of a 256-bit secret: its timing says nothing about any token.
        if principal is None:
            raise RefusedError(Refusal.UNKNOWN_TOKEN, "the token is not known", "no entry of identity.tokens fits it")
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
