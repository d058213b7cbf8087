"""MCP servers to reach: the one of `upstream_server.py` over stdio and over HTTP, and those that misbehave."""

import asyncio
import socket
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import uvicorn
from interlock_gateway.config_providers import McpUpstreamConfig
from interlock_gateway.core.content import Text
from interlock_gateway.core.outcome import Invocation, ToolOutcome
from interlock_gateway.core.trace import TraceContext
from interlock_gateway.providers.mcp.clients import Clients
from interlock_gateway.providers.mcp.provider import McpProvider
from interlock_gateway.providers.mcp.target import target_of
from upstream_server import Upstream
from waiting import eventually

HERE = Path(__file__).parent
MOST = 1024 * 1024
WAYS = ("stdio", "http")
ERAS = ("modern", "handshake")


def stdio_config(**more: Any) -> McpUpstreamConfig:
    """The well-behaved server as a command."""
    return McpUpstreamConfig(command=(sys.executable, str(HERE / "upstream_server.py")), **more)


def crooked_config(kind: str, *more: str) -> McpUpstreamConfig:
    """A server of `crooked_server.py`; it needs no SDK, so it starts fast."""
    return McpUpstreamConfig(command=(sys.executable, "-I", "-S", str(HERE / "crooked_server.py"), kind, *more))


def provider_of(
    config: McpUpstreamConfig, *, name: str = "up", prefix: str = "", clients: Clients | None = None, most: int = MOST
) -> McpProvider:
    """A provider that nobody keeps."""
    target = target_of(config, None, lambda text: text, most)
    return McpProvider(name, target, prefix=prefix, clients=clients or Clients())


def call(
    tool: str, arguments: bytes = b"{}", deadline_s: float = 10.0, trace: TraceContext | None = None
) -> Invocation:
    """A call of session `s`."""
    return Invocation("s", "c", tool, arguments, deadline_s, trace=trace)


def text_of(outcome: ToolOutcome) -> str:
    """The text of an outcome."""
    return "".join(part.text for part in outcome.content if isinstance(part, Text))


@asynccontextmanager
async def described(provider: McpProvider) -> AsyncIterator[McpProvider]:
    """The provider, ready to be called; closed at the end."""
    try:
        await provider.describe(30)
        provider.mark_described()
        yield provider
    finally:
        await provider.close()


@asynccontextmanager
async def reached(way: str, era: str = "modern", **more: Any) -> AsyncIterator[tuple[McpProvider, "Upstream | None"]]:
    """The well-behaved server, reached so; over HTTP it is in this process, and can be looked at."""
    allow = more.pop("allow", ())
    if way == "stdio":
        provider = provider_of(stdio_config(allow=allow), **more)
        provider._handshake_only = era == "handshake"
        async with described(provider):
            yield provider, None
        return
    upstream = Upstream()
    async with http_server(upstream) as url:
        provider = provider_of(McpUpstreamConfig(url=url, allow=allow), **more)
        provider._handshake_only = era == "handshake"
        async with described(provider):
            yield provider, upstream


@asynccontextmanager
async def http_server(upstream: Upstream, port: int = 0, **options: Any) -> AsyncIterator[str]:
    """`upstream` over streamable HTTP; its URL."""
    app = upstream.server.streamable_http_app(**options)
    async with served(app, port) as found:
        yield f"http://127.0.0.1:{found}/mcp"


@asynccontextmanager
async def served(app: Any, port: int = 0) -> AsyncIterator[int]:
    """An ASGI application on a free port."""
    # With the protocol named, small answers are not held back by Nagle's algorithm.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("127.0.0.1", port))
    server = uvicorn.Server(
        uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=1, lifespan="auto", ws="none")
    )
    server.capture_signals = nullcontext  # type: ignore[assignment]  # signals are pytest's
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    await eventually(lambda: server.started or serving.done())
    try:
        yield listening.getsockname()[1]
    finally:
        server.should_exit = True
        server.force_exit = True
        with suppress(asyncio.CancelledError):
            await serving
        listening.close()


def pids_of_group(leader: int) -> Sequence[int]:
    """The processes of a process group."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(fields[2]) == leader and fields[0] != "Z":
                found.append(int(entry.name))
    return found
