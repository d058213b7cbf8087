"""The list of tools over MCP: what a provider may put there, and whom a crooked one hurts (MCP-1, MCP-3)."""

import json
from pathlib import Path
from typing import Any

import pytest
from interlock.v1 import tool_pb2
from interlock_gateway.config import ProviderConfig
from mcp_bench import McpBench, mcp_bench
from raw_provider import RawProvider, reading, served

SCHEMAS: dict[str, dict[str, Any]] = {
    "plain": {"properties": {"a": True, "b": {"default": None, "const": None}}, "default": None, "x-own": [None]},
    "either": {"type": ["object", "null"]},
    "of_numbers": {"type": "object", "$schema": "https://json-schema.org/draft/2020-12/schema", "required": []},
}


def crooked() -> RawProvider:
    """Tools whose schemas JSON Schema knows, and MCP half of them."""
    made = [reading(name, input_schema=json.dumps(schema).encode()) for name, schema in SCHEMAS.items()]
    listing = tool_pb2.ToolDefinition(name="listing", output_schema=b'{"type":"array"}')
    listing.metadata.read_only = True
    return RawProvider(*made, listing)


@pytest.mark.req("MCP-1")
async def test_no_tool_takes_another_out_of_the_list(socket_directory: Path) -> None:
    spec = ProviderConfig(name="raw", address=f"unix:{socket_directory}/raw.sock")
    async with served(socket_directory, crooked()), mcp_bench(socket_directory, providers=(spec,)) as at:
        for mode in ("legacy", "2026-07-28"):
            tools = await listed(at, mode)
            assert {"plain", "either", "of_numbers", "listing", "resolve"} <= tools.keys()
            assert tools["plain"].input_schema["properties"] == SCHEMAS["plain"]["properties"]
            assert tools["plain"].input_schema["x-own"] == [None]
            assert tools["either"].input_schema == {"type": "object"}
            promised = {"type": "array"} if mode == "2026-07-28" else None
            assert tools["listing"].output_schema == promised


async def listed(at: McpBench, mode: str) -> dict[str, Any]:
    async with at.over_socket(mode) as client:
        return {tool.name: tool for tool in (await client.list_tools()).tools}
