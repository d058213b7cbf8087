"""The conformance suite's client under test: a gateway whose one provider is the scenario's server, and who calls it.

Run by the suite with the server's URL as its argument and the scenario's name in its environment. Every request that
the scenario sees comes from the gateway.
"""

import json
import os
import sys
import tempfile
import warnings
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import uvloop
from interlock_gateway.app import running
from interlock_gateway.config import Config
from interlock_gateway.serving import Gateway
from mcp import Client
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp_types import ElicitRequestFormParams, ElicitResult

OURS = frozenset({"resolve", "read_artifact", "search_artifact"})


async def main(url: str) -> None:
    """Play the scenario, at the revision that it is about."""
    revision = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", "")
    with tempfile.TemporaryDirectory(prefix="il-", dir="/tmp") as directory:
        async with running(_config(Path(directory), url)) as gateway:
            entrance = f"http://{gateway.endpoints.mcp[0]}/mcp"
            mode = "2026-07-28" if revision == "2026-07-28" else "legacy"
            async with Client(entrance, mode=mode, elicitation_callback=_with_defaults, cache=None) as client:
                await _play(os.environ["MCP_CONFORMANCE_SCENARIO"], gateway, client)


async def _play(scenario: str, gateway: Gateway, client: Client) -> None:
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    await gateway.rooms.directory.settled(20)
    assert all(gateway.rooms.directory.connected().values()), "the gateway is not connected to the scenario's server"
    tools = {tool.name: tool for tool in (await client.list_tools()).tools if tool.name not in OURS}
    # What a tool's schema does not allow the gateway refuses; to leave an argument out is as good to the suite as null.
    calls = [
        (one["name"], {name: value for name, value in one["arguments"].items() if value is not None})
        for one in context.get("toolCalls", ())
    ]
    for name, arguments in calls or [(name, _arguments(tool.input_schema)) for name, tool in tools.items()]:
        await _quietly(client.call_tool(name, arguments))
    if (rich := tools.get("json_schema_2020_12_tool")) is not None:
        for name in tools.keys() - {rich.name}:
            await _quietly(client.call_tool(name, {"schema": rich.input_schema}))
    if scenario == "http-standard-headers":
        for resource in (await client.list_resources()).resources:
            await _quietly(client.read_resource(str(resource.uri)))
        for prompt in (await client.list_prompts()).prompts:
            await _quietly(client.get_prompt(prompt.name, {}))


async def _quietly(work: Awaitable[Any]) -> None:
    """Some scenarios answer with errors, and look at what was asked alone."""
    try:
        await work
    except MCPError as error:
        sys.stderr.write(f"{error}\n")


def _arguments(schema: dict[str, Any]) -> dict[str, Any]:
    """Something for every property that is required."""
    samples: dict[str, Any] = {"number": 5, "integer": 5, "string": "text", "boolean": True, "object": {}, "array": []}
    properties = schema.get("properties", {})
    return {name: samples.get(properties.get(name, {}).get("type", ""), "text") for name in schema.get("required", ())}


async def _with_defaults(context: Any, params: Any) -> ElicitResult:  # noqa: ARG001 - as the SDK names them
    """Say yes to everything, with the defaults of the form (SEP-1034)."""
    assert isinstance(params, ElicitRequestFormParams)
    fields = params.requested_schema.get("properties", {})
    given = {name: one["default"] for name, one in fields.items() if "default" in one}
    given |= {name: True for name, one in fields.items() if one.get("type") == "boolean" and name not in given}
    return ElicitResult(action="accept", content=given)


def _config(directory: Path, url: str) -> Config:
    upstream = {"url": url, "allow": ["sampling", "elicitation", "roots"]}
    return Config.model_validate(
        {
            "state": {"dir": str(directory)},
            "server": {"listen": ["unix:{state}/agent.sock"]},
            "mcp": {"listen": ["127.0.0.1:0"]},
            "metrics": {"listen": ""},
            "identity": {"anonymous_agents_on_loopback": True},
            "policy": {"profile": "observe", "workers": 1, "timeout_s": 5},
            "deferred": {"threshold": 1000},
            "providers": [{"name": "scenario", "trust": "declared", "mcp": upstream}],
        }
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore", MCPDeprecationWarning)
    uvloop.run(main(sys.argv[-1]))
