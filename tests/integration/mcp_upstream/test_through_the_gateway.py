"""What an MCP client is answered through the gateway, beside what it is answered by the server itself (MCP-3)."""

from pathlib import Path
from typing import Any

import pytest
from gateway_bench import config_in
from interlock import Gateway as Grpc
from interlock_gateway.app import running
from interlock_gateway.config import DeferredConfig, IdentityConfig, ProviderConfig
from interlock_gateway.config_mcp import McpConfig
from interlock_gateway.config_providers import McpUpstreamConfig
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from upstream_bench import http_server
from upstream_server import Upstream
from waiting import eventually

OURS = "dev.interlock/"
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("echo", {"text": "hé \u2028"}),
    ("sum", {"a": 1, "b": 2.5}),
    ("parts", {}),
    ("fail", {}),
    ("refuse", {}),
    ("arguments", {"big": 9007199254740991, "float": 1.0, "deep": [{"a": [None, True]}]}),
    ("steps", {}),
]


async def played(client: Client) -> list[Any]:
    """What the client is answered, without what the gateway adds for programs to read."""
    answers: list[Any] = []

    async def told(progress: float, total: float | None, message: str | None) -> None:
        answers.append((progress, total, message))

    for tool, given in CALLS:
        try:
            result = await client.call_tool(tool, given, progress_callback=told)
        except MCPError as error:
            answers.append((error.code, error.message, error.data))
            continue
        shown = result.model_dump(by_alias=True, mode="json", exclude_none=True)
        meta = {key: value for key, value in shown.pop("_meta", {}).items() if not key.startswith((OURS, "io."))}
        answers.append({**shown, "_meta": meta})
    return answers


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.req("MCP-3")
async def test_answers_arrive_as_sent(socket_directory: Path, mode: Any) -> None:
    async with http_server(Upstream()) as url:
        async with Client(streamable_http_client(url), mode=mode) as direct:
            expected = await played(direct)
        assert (-32042, "not today", {"again": "tomorrow"}) in expected
        config = config_in(
            socket_directory,
            providers=(ProviderConfig(name="up", mcp=McpUpstreamConfig(url=url), trust="declared"),),
            mcp=McpConfig(listen=("127.0.0.1:0",)),
            identity=IdentityConfig(anonymous_agents_on_loopback=True),
            deferred=DeferredConfig(threshold=100),
        )
        async with running(config) as gateway:
            await eventually(lambda: gateway.rooms.parts.registry.find("echo") is not None)
            address = gateway.endpoints.mcp[0]
            async with Client(streamable_http_client(f"http://{address}/mcp"), mode=mode) as through:
                assert await played(through) == expected
            async with Grpc(gateway.endpoints.agents[0]) as agent:
                refused = await agent.session().call("refuse", {})
                assert (refused.is_error, refused.text) == (True, "not today")
                assert refused.details["mcp"]["error"]["code"] == -32042
