"""Who may ask: MCP gateways that the configuration names, and whoever may open a Unix socket."""

from collections.abc import Collection

from interlock_gateway.core.session import Principal
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.identity.authenticate import SocketAuthenticator

LOCAL = "local"
"""The name of those who come through a Unix socket."""


def local_socket() -> SocketAuthenticator:
    """Whoever may open the socket speaks for agents, and may do nothing else."""
    return SocketAuthenticator(LOCAL, frozenset())


class Callers:
    """Says whether a known caller may ask."""

    def __init__(self, named: Collection[str]) -> None:
        self._named = frozenset(named)

    def check(self, principal: Principal, method: str) -> None:
        """Raise `RequestError` for everybody else."""
        del method
        if principal.kind == "unix" and principal.id == LOCAL and not principal.roles:
            return
        if principal.id not in self._named:
            raise RequestError(RequestFault.ROLE_MISSING, "extmcp.callers does not name this caller")
