"""From which level on clients hear what upstream servers log, and what the servers are told of that."""

from collections.abc import Coroutine, Iterable
from typing import Any, get_args
from weakref import WeakKeyDictionary, WeakSet

from mcp_types import LoggingLevel

from interlock_gateway.providers.mcp.provider import McpProvider
from interlock_gateway.providers.mcp.upstream import Upstream
from interlock_gateway.transport.mcp.wires import Wire

LEVELS: tuple[str, ...] = get_args(LoggingLevel)
"""From the least to the most severe."""
EVERYTHING, LEAST = LEVELS[0], LEVELS[-1]
ASK_S = 10.0
KEEP_S = 30.0
"""For how long a server goes on logging what nobody wants any more: those who come in the meantime may."""


class Levels:
    """The level of each connection: everything, until its client says otherwise, as with the server itself.

    A client of the newest revision says it with each request, or hears nothing. Servers are told the lowest level that
    anybody wants who is there; where that is nobody, the highest.
    """

    def __init__(self) -> None:
        self._of: WeakKeyDictionary[Wire, str] = WeakKeyDictionary()
        self._asked_for: dict[str, float] = {}
        self._told: WeakKeyDictionary[McpProvider, tuple[Upstream, str]] = WeakKeyDictionary()
        self._asking: WeakSet[McpProvider] = WeakSet()

    def __contains__(self, wire: Wire) -> bool:
        """Whether it is known what the client of `wire` wants."""
        return wire in self._of

    def attached(self, wire: Wire) -> None:
        """A client has come that hears everything until it says otherwise."""
        self._of.setdefault(wire, EVERYTHING)

    def gone(self, wire: Wire) -> None:
        """It has gone."""
        self._of.pop(wire, None)

    def set(self, wire: Wire, level: str) -> None:
        """What the client of `wire` wants to hear."""
        self._of[wire] = level

    def asked(self, level: str | None, now: float) -> bool:
        """A request says, at `now`, what it wants to hear; whether none has wanted that lately."""
        if level not in LEVELS:
            return False
        new = level not in self._asked_for
        self._asked_for[level] = now
        return new

    def settle(self, under_way: Iterable[str | None], now: float) -> bool:
        """Forget what requests asked for some time ago, but for those that are under way; whether any is left."""
        wanted = [level for level in under_way if level in LEVELS]  # a request may say anything there
        self._asked_for.update((str(level), now) for level in wanted if level in self._asked_for)
        self._asked_for = {level: at for level, at in self._asked_for.items() if now - at < KEEP_S}
        return bool(self._asked_for)

    def wants(self, wire: Wire, of_request: str | None, level: Any) -> bool:
        """Whether a message of `level` is for the client of `wire`; `of_request` is what its request says, if it does.

        A request of a connection that never said hello has to say it.
        """
        least = of_request or self._of.get(wire)
        return level in LEVELS and least in LEVELS and LEVELS.index(level) >= LEVELS.index(least)

    def tell(self, provider: McpProvider) -> Coroutine[Any, Any, object] | None:
        """Have a server log what anybody wants; what is left to be done for that, if it has to be asked."""
        upstream = provider.upstream
        if upstream is None or (level := self._untold(provider, upstream)) is None:
            return None
        if upstream.modern:
            self._told[provider] = (upstream, level)
            upstream.hear(level)
            return None
        if not provider.passes("logging") or provider in self._asking:
            return None
        return self._ask(provider, upstream)

    def _untold(self, provider: McpProvider, upstream: Upstream) -> str | None:
        """The level that is wanted of a server, empty when nothing is; `None` when it knows that."""
        wanted = [level for level in (*self._of.values(), *self._asked_for) if level in LEVELS]
        level = min(wanted, key=LEVELS.index, default="")
        told, what = self._told.get(provider, (None, ""))
        known = what == level if told is upstream else not wanted
        return None if known else level

    async def _ask(self, provider: McpProvider, upstream: Upstream) -> None:
        """Ask a server for it, one level at a time, so that the last is what was wanted last."""
        self._asking.add(provider)
        try:
            while provider.upstream is upstream and (level := self._untold(provider, upstream)) is not None:
                await provider.request("logging/setLevel", {"level": level or LEAST}, timeout_s=ASK_S)
                self._told[provider] = (upstream, level)
        finally:
            self._asking.discard(provider)
