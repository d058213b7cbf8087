"""What a server says unasked, whatever it is, ends neither its connection nor a call, and fails nothing of ours."""

import logging
import sys
from pathlib import Path

import pytest
from gateway_bench import config_in
from interlock_gateway.app import running
from interlock_gateway.config import DeferredConfig, IdentityConfig, ProviderConfig
from interlock_gateway.config_mcp import McpConfig
from interlock_gateway.config_providers import McpUpstreamConfig
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from upstream_bench import HERE
from waiting import eventually


@pytest.mark.req("MCP-2", "SEC-2")
async def test_whatever_a_server_says_unasked_its_answer_comes(
    socket_directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    command = (sys.executable, "-I", "-S", str(HERE / "babbling_server.py"))
    server = McpUpstreamConfig(command=command, handshake=True, allow=("sampling", "elicitation"))
    config = config_in(
        socket_directory,
        providers=(ProviderConfig(name="up", mcp=server, trust="declared"),),
        mcp=McpConfig(listen=("127.0.0.1:0",)),
        identity=IdentityConfig(anonymous_agents_on_loopback=True),
        deferred=DeferredConfig(threshold=100),
    )
    heard: list[float] = []

    async def told(progress: float, total: float | None, message: str | None) -> None:
        del total, message
        heard.append(progress)

    async with running(config) as gateway:
        await eventually(lambda: gateway.rooms.parts.registry.find("echo") is not None)
        async with Client(streamable_http_client(f"http://{gateway.endpoints.mcp[0]}/mcp")) as client:
            for _ in range(2):
                result = await client.call_tool("echo", {}, progress_callback=told)
                assert result.content[0].text == "hello"  # type: ignore[union-attr]  # it is text
            assert [one.uri for one in (await client.list_resources()).resources] == ["a://b"]
            assert (await client.list_prompts()).prompts == []
        (connection,) = gateway.rooms.directory.connections()
        assert connection.connected_since is not None
    assert set(heard) == {0, -1, 1.5}
    assert [record.message for record in caplog.records if record.levelno >= logging.ERROR] == []
