"""What serves MCP over HTTP: sessions of the revisions that have them, and the SDK's entry for others."""

import asyncio

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from interlock_gateway.config_loader.addresses import TcpAddress, parse_address
from interlock_gateway.identity.authenticate import Authenticator
from interlock_gateway.transport.mcp.http import McpHttp
from interlock_gateway.transport.mcp.http_sessions import HttpSessions
from interlock_gateway.transport.mcp.origins import Origins
from interlock_gateway.transport.mcp.parts import SurfaceParts
from interlock_gateway.transport.mcp.surface import Surface


class HttpHost:
    """The application of one address, and what runs beside it. Made by `opened`."""

    def __init__(self, surface: Surface, parts: SurfaceParts, door: Authenticator) -> None:
        limits = parts.parts.settings
        self._stopped = asyncio.Event()
        self._ready = asyncio.Event()
        self._sessions = HttpSessions(surface)
        self._modern = StreamableHTTPSessionManager(
            surface.server, stateless=True, max_request_body_size=parts.open_rpcs.max_bytes
        )
        self.app = McpHttp(
            door,
            origins_of(parts),
            self._sessions,
            self._modern.handle_request,
            max_bytes=parts.open_rpcs.max_bytes,
            max_depth=limits.max_depth,
            max_requests=parts.config.max_connections,
        )
        self._running = asyncio.create_task(self._run())

    @classmethod
    async def opened(cls, surface: Surface, parts: SurfaceParts, door: Authenticator) -> "HttpHost":
        """One that serves."""
        host = cls(surface, parts, door)
        await host._ready.wait()
        return host

    async def close(self) -> None:
        """End every session."""
        await self._sessions.close()
        self._stopped.set()
        await self._running

    async def _run(self) -> None:
        # What the SDK opens it must close in the same task.
        async with self._modern.run():
            self._ready.set()
            await self._stopped.wait()


def origins_of(parts: SurfaceParts) -> Origins:
    """The hosts that are configured, and those of the addresses themselves."""
    places = (parse_address(text) for text in parts.config.listen if not text.startswith("unix:"))
    named = [place.host for place in places if isinstance(place, TcpAddress)]
    return Origins((*parts.config.hosts, *named), parts.config.origins)
