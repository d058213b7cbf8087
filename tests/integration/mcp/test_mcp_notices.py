"""What MCP servers say unasked, told to the clients whom it is about (MCP-3)."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from interlock_gateway.providers.mcp.provider import McpProvider
from mcp import MCPError
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.subscriptions import ResourceUpdated
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_bench import McpBench, text_of
from mcp_types import ToolAnnotations
from passing_servers import in_front_of
from test_mcp_http_door import ACCEPT, ENVELOPE, MODERN
from waiting import eventually

LEVEL = "io.modelcontextprotocol/logLevel"
MODES = ("legacy", "2026-07-28")
READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
pytestmark = pytest.mark.filterwarnings(f"ignore::{MCPDeprecationWarning.__module__}.{MCPDeprecationWarning.__name__}")


def noisy_server() -> MCPServer:
    """Logs, and changes what it has."""
    server = MCPServer("noisy", version="1", log_level="ERROR")

    @server.resource("noisy://page")
    def page() -> str:
        return "a page"

    @server.tool(annotations=READS)
    async def speak(ctx: Context) -> str:
        """Log something of every kind."""
        for level in ("debug", "info", "error"):
            await ctx.log(level, f"{level} of {ctx.request_id is not None}", logger_name="noisy")
        return "said"

    @server.tool(annotations=READS)
    async def shout(ctx: Context) -> str:
        """Log more than anybody reads."""
        for _ in range(1500):
            await ctx.log("error", "x" * 20_000, logger_name="noisy")
        return "shouted"

    @server.tool(annotations=READS)
    async def touch(ctx: Context) -> str:
        """Say that the page has changed, and that there are other pages."""
        await ctx.notify_resource_updated("noisy://page")
        await ctx.notify_resources_changed()
        await ctx.notify_prompts_changed()
        return "touched"

    return server


class Heard:
    """What a client was told."""

    def __init__(self) -> None:
        self.logged: list[Any] = []
        self.told: list[Any] = []

    async def log(self, params: Any) -> None:
        self.logged.append(params)

    async def message(self, message: Any) -> None:
        if not isinstance(message, Exception):
            self.told.append(getattr(message, "method", None))

    def callbacks(self) -> dict[str, Any]:
        return {"logging_callback": self.log, "message_handler": self.message}


@pytest.fixture
async def noisy(socket_directory: Path) -> AsyncIterator[McpBench]:
    async with in_front_of(socket_directory, noisy_server()) as at:
        yield at


@pytest.mark.req("MCP-3", "SEC-1")
async def test_what_a_server_logs_is_told_in_the_session_whose_call_it_was_said_in_and_in_no_other(
    noisy: McpBench,
) -> None:
    mine, theirs = Heard(), Heard()
    async with (
        noisy.over_http(**mine.callbacks()) as client,
        noisy.over_http(token=noisy.other, **theirs.callbacks()) as other,
    ):
        assert text_of(await client.call_tool("speak", {})) == "said"
        await eventually(lambda: len(mine.logged) == 3)
        await other.list_tools()

    assert [one.level for one in mine.logged] == ["debug", "info", "error"]
    assert {one.logger for one in mine.logged} == {"noisy"}
    assert theirs.logged == []


@pytest.mark.req("MCP-3")
async def test_a_client_hears_from_the_level_on_that_it_has_set(noisy: McpBench) -> None:
    heard = Heard()
    async with noisy.over_http(**heard.callbacks()) as client:
        await client.set_logging_level("warning")
        await client.call_tool("speak", {})
        await eventually(lambda: len(heard.logged) == 1)

    assert [one.level for one in heard.logged] == ["error"]


@pytest.mark.req("MCP-3")
async def test_a_request_of_the_newest_revision_hears_what_it_asks_for_and_nothing_without(noisy: McpBench) -> None:
    heard = Heard()
    async with noisy.over_http("2026-07-28", **heard.callbacks()) as client:
        await client.call_tool("speak", {})
        await client.call_tool("speak", {}, meta={"io.modelcontextprotocol/logLevel": "info"})  # type: ignore[arg-type]  # as it is sent
        await eventually(lambda: len(heard.logged) == 2)

    assert [one.level for one in heard.logged] == ["info", "error"]


@pytest.mark.req("MCP-3")
@pytest.mark.parametrize("mode", MODES)
async def test_a_server_logs_less_again_when_the_client_has_gone_that_wanted_more(
    noisy: McpBench, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setattr("interlock_gateway.transport.mcp.log_levels.KEEP_S", 1.0)
    server = noisy.at.gateway.rooms.directory.get("noisy")
    assert isinstance(server, McpProvider)
    levels: Any = {LEVEL: "debug"}
    async with noisy.over_http(mode) as client:
        if mode == "legacy":
            await client.set_logging_level("debug")
        await client.call_tool("speak", {}, meta=levels if mode != "legacy" else None)
        assert server.upstream is not None
        assert server.upstream.log_level == "debug"
    await eventually(lambda: server.upstream is not None and server.upstream.log_level == "")


@pytest.mark.req("MCP-3", "MCP-1")
async def test_clients_hear_of_other_lists_and_of_the_resources_that_they_subscribed_to(noisy: McpBench) -> None:
    mine, theirs = Heard(), Heard()
    async with (
        noisy.over_socket(**mine.callbacks()) as client,
        noisy.over_socket(**theirs.callbacks()) as other,
    ):
        await client.subscribe_resource("noisy://page")
        await client.call_tool("touch", {})
        await eventually(lambda: "notifications/resources/updated" in mine.told)
        await eventually(lambda: "notifications/prompts/list_changed" in theirs.told)
        await client.unsubscribe_resource("noisy://page")
        assert not noisy.at.gateway.rooms.pipeline.in_flight

    assert {"notifications/resources/list_changed", "notifications/prompts/list_changed"} <= set(mine.told)
    assert "notifications/resources/updated" not in theirs.told
    del other


@pytest.mark.req("MCP-3", "SEC-7")
async def test_a_stream_tells_of_no_resource_that_could_not_be_subscribed_to(
    noisy: McpBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interlock_gateway.transport.mcp.notices.MOST_SUBSCRIPTIONS", 1)
    async with (
        asyncio.timeout(10),
        noisy.over_http("2026-07-28") as client,
        client.listen(resource_subscriptions=["noisy://page", "noisy://other"]) as one,
    ):
        assert one.honored.resource_subscriptions == ["noisy://page"]
        await client.call_tool("touch", {})
        assert await anext(aiter(one)) == ResourceUpdated(uri="noisy://page")


@pytest.mark.req("MCP-3", "SEC-2")
async def test_nobody_subscribes_to_so_much_with_one_request_that_others_wait(noisy: McpBench) -> None:
    async with noisy.over_http("2026-07-28") as client, asyncio.timeout(10):
        with pytest.raises(MCPError, match="at most"):
            async with client.listen(resource_subscriptions=[f"x:{number}" for number in range(100_000)]):
                pass


@pytest.mark.req("MCP-3", "SEC-2")
async def test_a_client_that_does_not_read_what_it_is_told_keeps_nobody_else_from_hearing(noisy: McpBench) -> None:
    heard, params = Heard(), {"name": "shout", "arguments": {}, "_meta": ENVELOPE | {LEVEL: "error"}}
    asked = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    headers = {**ACCEPT, **MODERN, "mcp-method": "tools/call", "mcp-name": "shout", "host": noisy.address}
    headers |= {"authorization": f"Bearer {noisy.other}", "content-length": str(len(asked))}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    host, _, port = noisy.address.rpartition(":")
    async with noisy.over_http(**heard.callbacks()) as client, asyncio.timeout(20):
        _, deaf = await asyncio.open_connection(host, int(port), limit=1024)
        deaf.write(f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + asked)
        await eventually(lambda: noisy.at.gateway.rooms.pipeline.in_flight == 1)
        await eventually(lambda: noisy.at.gateway.rooms.pipeline.in_flight == 0)
        await client.call_tool("speak", {})
        await eventually(lambda: len(heard.logged) == 3)
        deaf.close()
