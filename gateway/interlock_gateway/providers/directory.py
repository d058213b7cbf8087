"""The providers there are: connected, described, registered, and watched for as long as they are wanted (TOOL-4)."""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from interlock_gateway.config import ProviderConfig
from interlock_gateway.core.clock import Clock
from interlock_gateway.errors import ProviderError, RequestError, RequestFault
from interlock_gateway.pipeline.ports import StateError
from interlock_gateway.providers.kept import Described, KeptProvider, ProviderKind
from interlock_gateway.providers.making import made_provider
from interlock_gateway.providers.mcp.clients import Clients
from interlock_gateway.providers.port import Provider
from interlock_gateway.registry.registry import GATEWAY_PROVIDER, Registration, ToolRegistry, Trust

DESCRIBE_S = 10.0
REFRESH_S = 30.0
"""How often a connected provider is asked again what its tools are, unless it wants to be asked sooner."""
LEAST_REFRESH_S = 1.0
FIRST_RETRY_S = 0.2
LAST_RETRY_S = 10.0
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Connection:
    """One provider's state, as operators see it. Times are Unix seconds; its tools are `only_for` whose sessions.

    `retry_at` is when it is tried again at the latest, 0 while it is being tried; `None` when there is nothing to try.
    """

    spec: ProviderConfig
    provider: KeptProvider
    configured: bool
    only_for: str = ""
    connected_since: float | None = None
    version: str = ""
    last_error: str = ""
    problems: tuple[str, ...] = ()
    refresh_s: float | None = None
    retry_at: float | None = None
    described: asyncio.Event = field(default_factory=asyncio.Event)
    keeper: "asyncio.Task[None] | None" = None


class Directory:
    """Providers by name. Each connection has a keeper that reconnects it; one bad provider never hurts another."""

    def __init__(
        self,
        registry: ToolRegistry,
        clock: Clock,
        *,
        at_state: Callable[[str], str],
        max_message_bytes: int,
    ) -> None:
        self._registry = registry
        self._clock = clock
        self._at_state = at_state
        self._max_message_bytes = max_message_bytes
        self._built_in: dict[str, Provider] = {}
        self._connections: dict[str, Connection] = {}
        self.clients = Clients()

    def get(self, name: str) -> Provider | None:
        """The provider, reachable or not."""
        connection = self._connections.get(name)
        return connection.provider if connection is not None else self._built_in.get(name)

    def reached(self) -> frozenset[str]:
        """The names of the providers that can be called now, whatever way they came."""
        reached = {name for name, one in self._connections.items() if one.connected_since is not None}
        return frozenset(reached | self._built_in.keys())

    def connections(self) -> tuple[Connection, ...]:
        """Every connection, by name."""
        return tuple(self._connections[name] for name in sorted(self._connections))

    def connected(self) -> dict[str, bool]:
        """Which providers can be called now, by name; without those that came by themselves, and are there or not."""
        connections = tuple(self._connections.items())  # metrics are read on another thread
        return {
            name: found.connected_since is not None
            for name, found in connections
            if found.provider.kind is not ProviderKind.ATTACHED
        }

    def add_built_in(self, provider: Provider) -> None:
        """A provider inside the gateway itself."""
        self._built_in[provider.name] = provider

    def address_of(self, name: str) -> str:
        """Where the provider is reached, `unix:PATH` or `HOST:PORT`; empty for one that is built in, or not there."""
        connection = self._connections.get(name)
        return connection.provider.address if connection is not None else ""

    def speaks_mcp(self, name: str) -> bool:
        """Whether the provider is an MCP server."""
        connection = self._connections.get(name)
        return connection is not None and connection.provider.kind in {ProviderKind.MCP_HTTP, ProviderKind.MCP_STDIO}

    def add(self, spec: ProviderConfig, *, configured: bool) -> Connection:
        """Begin to keep a connection to a provider. Raises `RequestError` when its name is taken."""
        self._check_free(spec.name)
        return self.keep(spec, self._made(spec), configured=configured)

    def keep(self, spec: ProviderConfig, provider: KeptProvider, *, configured: bool) -> Connection:
        """Begin to keep `provider`, whatever it is reached by. Raises `RequestError` when its name is taken."""
        self._check_free(spec.name)
        connection = Connection(spec, provider, configured)
        self._connections[spec.name] = connection
        connection.keeper = asyncio.create_task(self._keep(connection))
        return connection

    def adopt(self, spec: ProviderConfig, provider: KeptProvider, *, only_for: str) -> Connection:
        """Have a provider that nobody keeps: it came by itself, and goes so. Raises `RequestError` for a taken name.

        Its tools are there for the sessions of `only_for`; for everybody's, if that is empty.
        """
        self._check_free(spec.name)
        connection = self._connections[spec.name] = Connection(spec, provider, configured=False, only_for=only_for)
        connection.described.set()
        return connection

    def dismiss(self, connection: Connection) -> None:
        """Forget a provider that was adopted, and its tools."""
        name = connection.spec.name
        if self._connections.get(name) is connection:
            del self._connections[name]
            self._registry.unregister(name)

    def _check_free(self, name: str) -> None:
        if name in self._connections or name == GATEWAY_PROVIDER:
            raise RequestError(RequestFault.NAME_TAKEN, f"there is a provider {name} already", field="spec.name")

    def _made(self, spec: ProviderConfig) -> KeptProvider:
        return made_provider(spec, self._at_state, self._max_message_bytes, self.clients)

    async def remove(self, name: str) -> int:
        """Drop a provider: its tools are gone at once, calls in flight finish. How many tools it had."""
        connection = self._connections.pop(name, None)
        if connection is None:
            raise RequestError(RequestFault.PROVIDER_NOT_FOUND, f"there is no provider {name}", field="provider")
        await _stop(connection)
        connection.provider.retire()
        return self._registry.unregister(name)

    async def settled(self, timeout_s: float, *only: Connection) -> None:
        """Wait until every provider, or `only` these, has been described once, or has had `timeout_s` for it."""
        waiting = [connection.described.wait() for connection in only or self._connections.values()]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await asyncio.gather(*waiting)

    async def close(self) -> None:
        """Close every connection."""
        connections = tuple(self._connections.values())
        for connection in connections:
            await _stop(connection)
        # Side by side: a server that the gateway runs may take its time to end.
        await asyncio.gather(*(connection.provider.close() for connection in connections))

    async def _keep(self, connection: Connection) -> None:
        retry_s = FIRST_RETRY_S
        while True:
            try:
                connection.retry_at = None if connection.connected_since is not None else 0.0
                await self._describe(connection)
                retry_s = FIRST_RETRY_S
                await self._until_lost_or_due(connection)
            except Exception as error:  # noqa: BLE001 - a keeper that ended would never notice a changed definition
                self._lost(connection, _words(error))
                connection.retry_at = self._clock.now() + retry_s
                await connection.provider.pause(retry_s)
                retry_s = min(retry_s * 2, LAST_RETRY_S)

    async def _describe(self, connection: Connection) -> None:
        await self.take_in(connection, await connection.provider.describe(DESCRIBE_S))

    async def take_in(self, connection: Connection, described: Described) -> Registration:
        """Register what a provider describes; it can be called then. Raises `StateError`."""
        spec = connection.spec
        if connection.provider.kind is ProviderKind.ATTACHED:
            await self._registry.reread()  # it may have been at another replica until now
        trust = Trust(floor=spec.is_floored, follow=spec.pins == "follow", only_for=connection.only_for)
        registration = await self._registry.register(spec.name, described.tools, trust)
        self._registry.pass_on(spec.name, described.passing)
        problems = (*described.problems, *registration.problems)
        if problems != connection.problems:
            for problem in problems:
                _log.warning("a tool needs attention", extra={"provider": spec.name, "problem": problem})
        connection.problems = problems
        connection.version = described.version
        connection.refresh_s = described.refresh_s
        connection.last_error = ""
        connection.retry_at = None
        if connection.connected_since is None:
            connection.connected_since = self._clock.now()
            _log.info("provider connected", extra={"provider": spec.name, "tools": len(registration.tools)})
        connection.described.set()
        connection.provider.mark_described()
        return registration

    async def _until_lost_or_due(self, connection: Connection) -> None:
        """Return when it is time to ask again, or when the connection has come back. A lost one is away meanwhile."""
        try:
            async with asyncio.timeout(_refresh_s(connection)):
                if await connection.provider.until_lost():
                    return
        except TimeoutError:
            return
        self._lost(connection, "the connection was lost")

    def _lost(self, connection: Connection, error: str) -> None:
        if connection.connected_since is not None:
            _log.warning("provider lost", extra={"provider": connection.spec.name, "problem": error})
        elif error != connection.last_error:
            _log.warning("provider not reached", extra={"provider": connection.spec.name, "problem": error})
        connection.connected_since = None
        connection.last_error = error
        connection.provider.mark_lost()
        self._registry.set_away(connection.spec.name)


def _refresh_s(connection: Connection) -> float:
    """Never later than usual: a changed definition is called until it is seen."""
    wanted = connection.refresh_s
    return REFRESH_S if wanted is None else min(max(wanted, LEAST_REFRESH_S), REFRESH_S)


def _words(error: Exception) -> str:
    if isinstance(error, ProviderError | StateError):
        return error.message
    _log.error("a provider's description could not be taken in", exc_info=error)
    return "its description could not be taken in; the gateway's log says why"


async def _stop(connection: Connection) -> None:
    keeper = connection.keeper
    if keeper is not None:
        keeper.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await keeper
