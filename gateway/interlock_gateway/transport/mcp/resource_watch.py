"""Having an MCP server tell of changes of one resource, for as long as somebody wants to know (MCP-3)."""

import asyncio

from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR

from interlock_gateway.errors import ProviderError
from interlock_gateway.providers.mcp.link import LinkError, RpcError
from interlock_gateway.providers.mcp.provider import McpProvider
from interlock_gateway.providers.mcp.upstream import Upstream

ASK_S = 10.0
AGAIN_S = 1.0
"""How long after the server was lost it is asked again."""


class ResourceWatch:
    """One subscription at a server, renewed when the server comes back. `end` ends it."""

    def __init__(self, provider: McpProvider, uri: str) -> None:
        self._provider = provider
        self._uri = uri
        self._asked: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._subscribed_at: Upstream | None = None
        self._task = asyncio.create_task(self._run())

    async def begun(self) -> None:
        """Return once the server will tell. Raises `MCPError`: it will not."""
        await asyncio.shield(self._asked)

    def end(self) -> None:
        """The server need not tell any more."""
        self._task.cancel()
        if self._subscribed_at is not None and not self._subscribed_at.peer.gone.is_set():
            self._task = asyncio.create_task(self._unsubscribe())

    async def _run(self) -> None:
        while True:
            try:
                await self._watched()
            except RpcError as error:
                self._refused(MCPError(error.code, error.message, error.data))
            except (ProviderError, LinkError, TimeoutError) as error:
                self._refused(MCPError(INTERNAL_ERROR, str(error)))
            if self._asked.exception() is not None:
                return
            await asyncio.sleep(AGAIN_S)

    async def _watched(self) -> None:
        """Return when the server has gone, or tells no more."""
        upstream = self._provider.upstream
        if upstream is None:
            await self._provider.ready(ASK_S)
            return
        if upstream.modern:
            self._taken()
            wanted = {"notifications": {"resourceSubscriptions": [self._uri]}}
            await upstream.request("subscriptions/listen", wanted, None)
            return
        await upstream.request("resources/subscribe", {"uri": self._uri}, ASK_S)
        self._subscribed_at = upstream
        self._taken()
        await upstream.peer.gone.wait()

    def _taken(self) -> None:
        if not self._asked.done():
            self._asked.set_result(None)

    def _refused(self, error: MCPError) -> None:
        if not self._asked.done():
            self._asked.set_exception(error)

    async def _unsubscribe(self) -> None:
        try:
            await self._provider.request("resources/unsubscribe", {"uri": self._uri}, timeout_s=ASK_S)
        except (RpcError, ProviderError):
            return  # it tells somebody who does not listen
