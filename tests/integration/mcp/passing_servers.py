"""MCP servers with resources and prompts, on the official SDK over HTTP, and a gateway in front of them."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any

import uvicorn
from interlock_gateway.config import ProviderConfig
from interlock_gateway.config_providers import McpUpstreamConfig
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.prompts.base import UserMessage
from mcp_bench import McpBench, mcp_bench
from mcp_types import Completion
from pydantic import BaseModel
from waiting import eventually


class Name(BaseModel):
    """What a person is asked for."""

    name: str


def docs_server(name: str = "docs") -> MCPServer:
    """A server with something of everything."""
    server = MCPServer(name, version="1", log_level="ERROR")

    @server.resource(f"{name}://page", title="A page", mime_type="text/plain")
    def page() -> str:
        return f"the page of {name}"

    @server.resource("shared://page")
    def shared() -> str:
        return f"shared by {name}"

    @server.resource(f"{name}://secret")
    def secret() -> str:
        return "AKIAIOSFODNN7EXAMPLE is the key"

    @server.resource(f"{name}://users/{{user}}/profile")
    def profile(user: str) -> str:
        return f"profile of {user}"

    @server.prompt(title="Greet")
    def greet(who: str) -> list[UserMessage]:
        """Greet somebody."""
        return [UserMessage(content=f"greet {who} for {name}")]

    @server.completion()  # type: ignore[no-untyped-call, untyped-decorator]  # the SDK says no types
    async def suggest(_ref: Any, argument: Any, _context: Any) -> Completion:
        return Completion(values=[f"{argument.value}a", f"{argument.value}b"], total=2, has_more=False)

    @server.tool(annotations={"readOnlyHint": True, "openWorldHint": False})  # type: ignore[arg-type]  # as JSON has it
    async def ask(ctx: Context) -> str:
        """Ask a person for a name."""
        answer = await ctx.elicit("Who are you?", Name)
        return f"{answer.action} {getattr(answer, 'data', None)}"

    return server


@asynccontextmanager
async def served(server: MCPServer) -> AsyncIterator[str]:
    """Serve it; its URL."""
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(server.streamable_http_app(), log_level="error", lifespan="on", timeout_graceful_shutdown=1)
    running = uvicorn.Server(config)
    # Servers that end in another order than the reverse would leave the handler of one that has ended, from which every
    # later stream of events in this process would learn that it is to end.
    running.capture_signals = nullcontext  # type: ignore[assignment]  # signals are pytest's
    task = asyncio.create_task(running.serve(sockets=[listening]))
    try:
        await eventually(lambda: running.started)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
    finally:
        running.should_exit = True
        await task
        listening.close()


@asynccontextmanager
async def in_front_of(directory: Path, *servers: MCPServer, **of_each: Any) -> AsyncIterator[McpBench]:
    """A gateway in front of `servers`.

    `mcp`, `prefix` and `trust` are settings of each of them, `surface` of the gateway as a server, and others of it.
    """
    async with AsyncExitStack() as stack:
        providers = []
        for server in servers:
            url = await stack.enter_async_context(served(server))
            upstream = McpUpstreamConfig(url=url, **of_each.get("mcp", {}))
            more = {key: value for key, value in of_each.items() if key in {"prefix", "trust"}}
            providers.append(ProviderConfig(name=server.name, mcp=upstream, **{"trust": "declared", **more}))
        rest = {key: value for key, value in of_each.items() if key not in {"mcp", "prefix", "trust", "surface"}}
        surface = of_each.get("surface")
        at = await stack.enter_async_context(mcp_bench(directory, providers=tuple(providers), mcp=surface, **rest))
        await at.at.gateway.providers_settled(10.0)
        yield at
