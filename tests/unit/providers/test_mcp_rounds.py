"""Calls of an MCP server that asks before it answers, when it is gone in the middle (2026-07-28)."""

import time
from collections.abc import Mapping
from typing import Any

import pytest
from interlock_gateway.config_providers import McpUpstreamConfig
from interlock_gateway.errors import OutcomeUnknownError
from interlock_gateway.providers.mcp.clients import Clients
from interlock_gateway.providers.mcp.link import LinkError, RefusedError, SessionGoneError
from interlock_gateway.providers.mcp.provider import McpProvider
from interlock_gateway.providers.mcp.target import target_of


@pytest.mark.parametrize("lost", [LinkError("gone", unsent=True), SessionGoneError(), RefusedError("no", 400)])
@pytest.mark.req("MCP-2", "PIPE-7")
async def test_a_call_that_has_begun_is_never_one_that_was_not_sent(
    lost: LinkError, monkeypatch: pytest.MonkeyPatch
) -> None:
    from interlock_gateway.providers.mcp import relay

    monkeypatch.setattr(relay, "STATE_ONLY_S", 0.0)
    config = McpUpstreamConfig(url="http://127.0.0.1:1/mcp")
    provider = McpProvider("up", target_of(config, None, str, 1000), prefix="", clients=Clients())
    sent: list[Mapping[str, Any]] = []

    async def send(more: Mapping[str, Any]) -> dict[str, Any]:
        sent.append(more)
        if len(sent) == 1:
            return {"resultType": "input_required", "requestState": "half way"}
        raise lost

    with pytest.raises(OutcomeUnknownError), provider._mapped():
        await provider._rounds(send, "s", time.monotonic() + 5)
    assert sent == [{}, {"requestState": "half way"}]
