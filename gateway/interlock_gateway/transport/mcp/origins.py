"""Which hosts and web origins a request may name: a page in a browser must not reach the gateway (DNS rebinding)."""

import re
from collections.abc import Iterable

from starlette.datastructures import Headers

from interlock_gateway.identity.peer import is_loopback

_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:[0-9]{1,5})?", re.ASCII)
_ORIGIN = re.compile(r"(?P<scheme>https?)://(?P<host>[^/@?#]+)", re.ASCII)


class Origins:
    """Judges the `Host` and `Origin` headers. Loopback is always allowed: what is there can ask for itself."""

    def __init__(self, hosts: Iterable[str], origins: Iterable[str]) -> None:
        self._hosts = frozenset(host.lower() for host in hosts)
        self._origins = frozenset(origin.lower().rstrip("/") for origin in origins)

    def refusal(self, headers: Headers) -> str | None:
        """Why a request with these headers is refused, `None` when it is not."""
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or not self._knows(hosts[0].lower()):
            return "the Host header names none of this server's hosts (mcp.hosts)"
        if len(origins) > 1 or (origins and not self._admits(origins[0].lower())):
            return "the Origin header names no origin that may use this server (mcp.origins)"
        return None

    def _knows(self, host: str) -> bool:
        found = _HOST.fullmatch(host)
        return found is not None and (_is_here(found["name"]) or found["name"].strip("[]") in self._hosts)

    def _admits(self, origin: str) -> bool:
        found = _ORIGIN.fullmatch(origin)
        if origin in self._origins:
            return True
        host = _HOST.fullmatch(found["host"]) if found is not None else None
        return host is not None and _is_here(host["name"])


def _is_here(name: str) -> bool:
    return name == "localhost" or is_loopback(name.strip("[]"))
