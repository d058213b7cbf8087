"""From which level on clients hear what upstream servers log, and what the servers are told of that."""

from collections.abc import Coroutine
from typing import Any, get_args
from weakref import WeakKeyDictionary

from mcp_types import LoggingLevel

from interlock_gateway.providers.mcp.provider import McpProvider
from interlock_gateway.providers.mcp.upstream import Upstream
from interlock_gateway.transport.mcp.wires import Wire

LEVELS: tuple[str, ...] = get_args(LoggingLevel)
"""From the least to the most severe."""
EVERYTHING = LEVELS[0]
ASK_S = 10.0


class Levels:
    """The level of each connection: everything, until its client says otherwise, as with the server itself.

    A client of the newest revision says it with each request, or hears nothing. Servers are told the lowest level that
    anybody wants.
    """

    def __init__(self) -> None:
        self._of: WeakKeyDictionary[Wire, str] = WeakKeyDictionary()
        self._asked_for: set[str] = set()
        self._told: WeakKeyDictionary[McpProvider, tuple[Upstream, str]] = WeakKeyDictionary()

    def attached(self, wire: Wire) -> None:
        """A client has come that hears everything until it says otherwise."""
        self._of.setdefault(wire, EVERYTHING)

    def gone(self, wire: Wire) -> None:
        """It has gone."""
        self._of.pop(wire, None)

    def set(self, wire: Wire, level: str) -> None:
        """What the client of `wire` wants to hear."""
        self._of[wire] = level

    def asked(self, level: str | None) -> bool:
        """A request says what it wants to hear; whether that is more than anybody wanted before."""
        new = level in LEVELS and level not in self._asked_for
        if new:
            self._asked_for.add(str(level))
        return new

    def wants(self, wire: Wire, of_request: str | None, level: Any) -> bool:
        """Whether a message of `level` is for the client of `wire`; `of_request` is what its request says, if it does.

        A request of a connection that never said hello has to say it.
        """
        least = of_request or self._of.get(wire)
        return level in LEVELS and least in LEVELS and LEVELS.index(level) >= LEVELS.index(least)

    def tell(self, provider: McpProvider) -> Coroutine[Any, Any, object] | None:
        """Have a server log what anybody wants; what is left to be done for that, if it has to be asked."""
        wanted = [level for level in (*self._of.values(), *self._asked_for) if level in LEVELS]
        upstream = provider.upstream
        if not wanted or upstream is None:
            return None
        level = min(wanted, key=LEVELS.index)
        told, what = self._told.get(provider, (None, ""))
        if told is upstream and what == level:
            return None
        self._told[provider] = (upstream, level)
        if not upstream.modern and not provider.passes("logging"):
            return None
        if not upstream.modern:
            return provider.request("logging/setLevel", {"level": level}, timeout_s=ASK_S)
        upstream.hear(level)
        return None
