"""The listener of `ExtMcp`, which goes on until the calls that were let through have their results."""

import asyncio

from interlock_gateway.config import Config, Front
from interlock_gateway.identity.authenticate import Authenticator
from interlock_gateway.pipeline.core import CallPipeline
from interlock_gateway.pipeline.parts import Parts
from interlock_gateway.providers.directory import Directory
from interlock_gateway.transport.extmcp.door import Callers, local_socket
from interlock_gateway.transport.extmcp.service import SERVICE, ExtMcpRpcs
from interlock_gateway.transport.grpc.endpoint import OpenRpcs, served
from interlock_gateway.transport.grpc.listening import Listener
from interlock_gateway.transport.grpc.server import GrpcioListener
from interlock_gateway.transport.health import SERVICE as HEALTH_SERVICE
from interlock_gateway.transport.health import Health
from interlock_gateway.transport.http2.listener import Http2Listener
from interlock_gateway.transport.reflection import reflected
from interlock_gateway.transport.tls.server_tls import ServerTls

MOST_BYTES = 16 * 1024 * 1024
SOCKET_MODE = 0o600


class ExtMcpListener:
    """The addresses of `extmcp.listen`."""

    def __init__(
        self, config: Config, parts: Parts, pipeline: CallPipeline, directory: Directory, health: Health
    ) -> None:
        self._config = config
        self._beside = health.served() | reflected((SERVICE, HEALTH_SERVICE))
        self._rpcs = ExtMcpRpcs(config.extmcp, parts, pipeline, directory)
        self._open = OpenRpcs(min(config.limits.max_provider_bytes, MOST_BYTES))
        self._listeners: list[Listener] = []

    def listen(self, door: Authenticator, tls: ServerTls | None) -> tuple[str, ...]:
        """Bind; where, in full. Raises `ConfigError`."""
        sockets = [one for one in self._config.extmcp.listen if one.startswith("unix:")]
        others = [one for one in self._config.extmcp.listen if not one.startswith("unix:")]
        return (*self._bound(sockets, local_socket(), None), *self._bound(others, door, tls))

    def _bound(self, addresses: list[str], authenticator: Authenticator, tls: ServerTls | None) -> list[str]:
        if not addresses:
            return []
        callers = Callers(self._config.extmcp.callers)
        rpcs = dict(served(SERVICE, self._rpcs.rpcs(), authenticator, self._open, callers.check))
        rpcs |= self._beside
        kind = Http2Listener if self._config.server.front is Front.NGHTTP2 else GrpcioListener
        listener = kind(rpcs, self._open.max_bytes, tls)
        self._listeners.append(listener)
        return [listener.listen(self._config.at_state(address), SOCKET_MODE) for address in addresses]

    async def start(self) -> None:
        """Serve."""
        for listener in self._listeners:
            await listener.start()

    async def over(self) -> None:
        """Return when no request is being answered and every call that was let through has its result."""
        await self._open.none()
        await self._rpcs.calls.none()

    async def stop(self, grace_s: float) -> None:
        """End."""
        await asyncio.gather(*(listener.stop(grace_s) for listener in self._listeners))
