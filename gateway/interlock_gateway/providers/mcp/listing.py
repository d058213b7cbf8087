"""The tools of an MCP server, page by page, as definitions (MCP-2). It brings the SDK."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from interlock_gateway.core.tool import ToolDefinition
from interlock_gateway.errors import ProviderFailedError
from interlock_gateway.providers.mcp.definitions import definition_of
from interlock_gateway.providers.mcp.link import RpcError
from interlock_gateway.providers.mcp.param_headers import headers_of
from interlock_gateway.providers.mcp.upstream import ParamHeaders, Upstream

MAX_TOOLS = 20_000
MAX_PAGES = 2_000
TOOLS_AT_ONCE = 20
"""How many definitions are read before somebody else has a turn."""
MAX_NAME = 128


@dataclass(slots=True)
class Listing:
    """What a server lists: definitions, each tool as it came by its name here, and a sentence for each refused one."""

    definitions: list[ToolDefinition] = field(default_factory=list)
    tools: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


async def list_tools(upstream: Upstream, provider: str, prefix: str, timeout_s: float) -> Listing:
    """Every tool of the server. Raises `ProviderFailedError`, `LinkError`, `TimeoutError`.

    A tool that cannot be used is a problem of that tool alone.
    """
    listing = Listing()
    if "tools" not in upstream.capabilities:
        return listing
    headers: dict[str, ParamHeaders] = {}
    for number, tool in enumerate(await _pages(upstream, provider, time.monotonic() + timeout_s)):
        if number % TOOLS_AT_ONCE == 0:
            await asyncio.sleep(0)
        try:
            definition = definition_of(tool, prefix)
            mapped = headers_of(tool) if upstream.modern else None
        except ProviderFailedError as error:
            shown = str(tool.get("name") if isinstance(tool, dict) else None)[:MAX_NAME]
            listing.problems.append(f"{shown} of {provider} is refused: {error.message}")
            continue
        listing.definitions.append(definition)
        listing.tools.setdefault(definition.name, tool)
        if mapped:
            headers[tool["name"]] = mapped
    upstream.param_headers = headers
    return listing


async def _pages(upstream: Upstream, provider: str, deadline: float) -> list[Any]:
    tools: list[Any] = []
    cursors: set[str] = set()
    params: dict[str, Any] = {}
    while True:
        page = await _page(upstream, provider, params, max(0.1, deadline - time.monotonic()))
        tools += page["tools"]
        if len(tools) > MAX_TOOLS:
            raise ProviderFailedError(f"{provider} lists more than {MAX_TOOLS} tools, which is the most")
        cursor = page.get("nextCursor")
        if not isinstance(cursor, str):
            return tools
        if cursor in cursors or len(cursors) >= MAX_PAGES:
            raise ProviderFailedError(f"{provider} does not come to the end of its list of tools")
        cursors.add(cursor)
        params = {"cursor": cursor}


async def _page(upstream: Upstream, provider: str, params: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
    try:
        page = await upstream.request("tools/list", params, timeout_s)
    except RpcError as error:
        raise ProviderFailedError(f"{provider} does not list its tools: {error.message[:200]}") from None
    if not isinstance(page.get("tools"), list):
        raise ProviderFailedError(f"{provider} lists its tools in a form that cannot be read")
    return page
