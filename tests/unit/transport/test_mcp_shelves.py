"""What stays of lists whose servers break off (MCP-3)."""

from dataclasses import dataclass, field
from itertools import count
from types import SimpleNamespace
from typing import Any, cast

import pytest
from interlock_gateway.core.session import Session
from interlock_gateway.errors import ProviderDownError
from interlock_gateway.providers.directory import Directory
from interlock_gateway.providers.mcp.provider import McpProvider
from interlock_gateway.registry.registry import ToolRegistry
from interlock_gateway.transport.mcp import shelves as module
from interlock_gateway.transport.mcp.shelves import Shelf, Shelves, Upstream

MOST = 10


@dataclass
class BreaksOff:
    """A server that lists something else each time, and not all of it."""

    name: str = "breaks-off"
    upstream: object = field(default_factory=object)
    numbers: "count[int]" = field(default_factory=count)

    async def request(self, _method: str, params: Any, *, timeout_s: float) -> dict[str, Any]:
        del timeout_s
        if params:
            raise ProviderDownError("it broke off")
        return {"resources": [{"uri": f"odd://{next(self.numbers)}"} for _ in range(MOST - 1)], "nextCursor": "more"}


@pytest.mark.req("MCP-3")
async def test_a_server_that_breaks_off_each_time_leaves_no_more_than_one_list_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MOST_ITEMS", MOST)
    server = cast("McpProvider", BreaksOff())
    nothing = SimpleNamespace(find=lambda _name: None)
    shelves = Shelves(cast("Directory", SimpleNamespace()), cast("ToolRegistry", nothing))
    monkeypatch.setattr(shelves, "servers", lambda: [server])
    monkeypatch.setattr(shelves, "upstreams", lambda _capability: [Upstream(server, "")])
    session = Session("s-1", "agent", 0.0)
    for _ in range(5):
        await shelves.items(Shelf.RESOURCES, session)
    away = shelves._away[Shelf.RESOURCES]
    assert len(away) == MOST
    assert "odd://0" in away
