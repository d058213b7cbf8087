"""Having an MCP server tell of changes of one resource, for as long as somebody wants to know (MCP-3)."""

import asyncio
from collections.abc import Mapping
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR

from interlock_gateway.errors import ProviderError
from interlock_gateway.providers.mcp.link import LinkError, RpcError
from interlock_gateway.providers.mcp.provider import McpProvider
from interlock_gateway.providers.mcp.upstream import Upstream

LISTEN, ACKNOWLEDGED = "subscriptions/listen", "notifications/subscriptions/acknowledged"
ASK_S = 10.0
ACKNOWLEDGED_S = 1.0
"""How long a server may take to acknowledge a stream before it is taken for one that does not."""
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
        self._refused(MCPError(INTERNAL_ERROR, "the subscription has ended"))
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
            if self._asked.done() and self._asked.exception() is not None:
                return
            await asyncio.sleep(AGAIN_S)

    async def _watched(self) -> None:
        """Return when the server has gone, or tells no more."""
        upstream = self._provider.upstream
        if upstream is None:
            await self._provider.ready(ASK_S)
            return
        if upstream.modern:
            await self._listened(upstream)
            return
        await upstream.request("resources/subscribe", {"uri": self._uri}, ASK_S)
        self._subscribed_at = upstream
        self._taken()
        await upstream.peer.gone.wait()

    async def _listened(self, upstream: Upstream) -> None:
        """Hold a stream open for the resource; what changes before the server has acknowledged it, it need not tell."""
        unheard = self._provider.on_notice(self._heard)
        late = asyncio.get_running_loop().call_later(ACKNOWLEDGED_S, self._taken)
        try:
            await upstream.request(LISTEN, {"notifications": {"resourceSubscriptions": [self._uri]}}, None)
        finally:
            late.cancel()
            unheard()

    def _heard(self, method: str, params: Mapping[str, Any], _session_id: str) -> None:
        told = params.get("notifications")
        uris = told.get("resourceSubscriptions") if isinstance(told, dict) else None
        if method == ACKNOWLEDGED and isinstance(uris, list) and self._uri in uris:
            self._taken()

    def _taken(self) -> None:
        if not self._asked.done():
            self._asked.set_result(None)

    def _refused(self, error: MCPError) -> None:
        if not self._asked.done():
            self._asked.set_exception(error)
            self._asked.exception()  # whoever waits for it sees it; nobody waiting is no fault

    async def _unsubscribe(self) -> None:
        try:
            await self._provider.request("resources/unsubscribe", {"uri": self._uri}, timeout_s=ASK_S)
        except (RpcError, ProviderError):
            return  # it tells somebody who does not listen
