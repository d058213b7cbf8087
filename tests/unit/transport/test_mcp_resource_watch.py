"""A subscription at a server: begun late, refused, renewed, ended (MCP-3)."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from interlock_gateway.errors import ProviderDownError
from interlock_gateway.providers.mcp.link import RpcError
from interlock_gateway.providers.mcp.provider import McpProvider
from interlock_gateway.transport.mcp import resource_watch
from interlock_gateway.transport.mcp.resource_watch import ACKNOWLEDGED, ResourceWatch
from mcp.shared.exceptions import MCPError
from waiting import eventually


@dataclass
class Gone:
    gone: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass
class Connection:
    """One connection, and what was asked over it."""

    modern: bool = False
    refuses: bool = False
    asked: list[str] = field(default_factory=list)
    peer: Gone = field(default_factory=Gone)

    async def request(self, method: str, _params: Any, _timeout_s: float | None) -> dict[str, Any]:
        self.asked.append(method)
        if self.refuses:
            raise RpcError(-32601, "no subscriptions here")
        if self.modern:
            await self.peer.gone.wait()
        return {}


class Server:
    """A server that is connected, or not yet."""

    def __init__(self, upstream: Connection | None) -> None:
        self.upstream = upstream
        self.coming: Connection | None = None
        self.asked: list[str] = []
        self.heard: list[Callable[[str, dict[str, Any], str], None]] = []

    def on_notice(self, listener: Callable[[str, dict[str, Any], str], None]) -> Callable[[], None]:
        self.heard.append(listener)
        return lambda: self.heard.remove(listener)

    async def ready(self, _deadline_s: float) -> None:
        if self.coming is None:
            raise ProviderDownError("it is not there")
        self.upstream = self.coming

    async def request(self, method: str, _params: Any, *, timeout_s: float) -> dict[str, Any]:
        del timeout_s
        self.asked.append(method)
        return {}


def watch(server: Server) -> ResourceWatch:
    return ResourceWatch(cast("McpProvider", server), "docs://page")


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource_watch, "AGAIN_S", 0.01)


@pytest.mark.req("MCP-3")
async def test_it_is_begun_once_the_server_has_come_and_again_when_it_has_come_back() -> None:
    first, second = Connection(), Connection()
    server = Server(None)
    server.coming = first
    watching = watch(server)
    async with asyncio.timeout(5):
        await watching.begun()
    server.upstream, server.coming = None, second
    first.peer.gone.set()
    await eventually(lambda: second.asked == ["resources/subscribe"])
    watching.end()
    await eventually(lambda: server.asked == ["resources/unsubscribe"])


@pytest.mark.req("MCP-3")
@pytest.mark.parametrize("server", [Server(None), Server(Connection(refuses=True))])
async def test_a_server_that_is_not_there_or_refuses_is_an_error_at_once(server: Server) -> None:
    watching = watch(server)
    with pytest.raises(MCPError):
        await watching.begun()
    watching.end()
    assert server.asked == []


@pytest.mark.req("MCP-3")
async def test_on_the_newest_revision_it_is_a_stream_of_its_own_that_counts_once_it_is_acknowledged() -> None:
    connection = Connection(modern=True)
    server = Server(connection)
    watching = watch(server)
    begun = asyncio.create_task(watching.begun())
    await eventually(lambda: connection.asked == ["subscriptions/listen"])
    for uris in (["docs://other"], "docs://page"):
        server.heard[0](ACKNOWLEDGED, {"notifications": {"resourceSubscriptions": uris}}, "")
    assert not begun.done()
    server.heard[0](ACKNOWLEDGED, {"notifications": {"resourceSubscriptions": ["docs://page"]}}, "")
    async with asyncio.timeout(0.5):
        await begun
    watching.end()
    await eventually(lambda: server.heard == [])
    assert server.asked == []
