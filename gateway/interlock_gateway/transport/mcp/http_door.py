"""One TCP address of MCP: its connections, and the application behind them once the first request has come."""

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from starlette.types import Receive, Scope, Send

from interlock_gateway.identity.authenticate import Authenticator
from interlock_gateway.transport.http.listener import serving
from interlock_gateway.transport.mcp.parts import SurfaceParts

if TYPE_CHECKING:
    from interlock_gateway.transport.mcp.http_host import HttpHost
    from interlock_gateway.transport.mcp.surface import Surface


class HttpDoor:
    """Serves streamable HTTP on `bound`. `surface` loads the MCP server."""

    def __init__(
        self,
        parts: SurfaceParts,
        door: Authenticator,
        surface: "Callable[[], Awaitable[Surface]]",
        bound: socket.socket,
    ) -> None:
        self._parts = parts
        self._door = door
        self._surface = surface
        self._bound = bound
        self._host: asyncio.Task[HttpHost] | None = None
        self._serving = contextlib.AsyncExitStack()

    async def start(self) -> None:
        """Take connections."""
        await self._serving.enter_async_context(serving(self._answer, self._bound))

    async def stop(self) -> None:
        """End every session, and then the connections."""
        if self._host is not None:
            await (await self._host).close()
        await self._serving.aclose()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._host is None:
            self._host = asyncio.create_task(self._opened())
        host = await asyncio.shield(self._host)
        await host.app(scope, receive, send)

    async def _opened(self) -> "HttpHost":
        surface = await self._surface()
        from interlock_gateway.transport.mcp.http_host import HttpHost  # noqa: PLC0415 -- loaded with the surface

        return await HttpHost.opened(surface, self._parts, self._door)
