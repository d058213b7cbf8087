"""A gateway with MCP on a socket and on TCP, and the official SDK's client to reach it by either, at any revision."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx2
from gateway_bench import Bench, bench
from interlock_gateway.config import IdentityConfig, TokenConfig
from interlock_gateway.config_mcp import McpConfig
from interlock_gateway.core.session import Role
from interlock_gateway.identity.authenticate import new_token
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_MODERN_VERSION

REVISIONS = (*HANDSHAKE_PROTOCOL_VERSIONS, LATEST_MODERN_VERSION)


@dataclass
class McpBench:
    """A gateway, where MCP is on it, and tokens of two agents and one operator."""

    at: Bench
    socket: str
    address: str
    token: str
    other: str
    operator: str

    @property
    def url(self) -> str:
        return f"http://{self.address}/mcp"

    def http(self, token: str | None = None, **headers: str) -> httpx2.AsyncClient:
        """An HTTP client with a credential."""
        bearer = f"Bearer {self.token if token is None else token}"
        return httpx2.AsyncClient(headers={"authorization": bearer, **headers}, timeout=10.0)

    @asynccontextmanager
    async def over_http(self, mode: str = "legacy", *, token: str | None = None, **more: Any) -> AsyncIterator[Client]:
        """A client of the SDK over streamable HTTP."""
        async with (
            self.http(token) as http,
            Client(streamable_http_client(self.url, http_client=http), mode=mode, **more) as client,
        ):
            yield client

    @asynccontextmanager
    async def over_socket(self, mode: str = "legacy", **more: Any) -> AsyncIterator[Client]:
        """A client of the SDK over the Unix socket."""
        async with Client(socket_transport(self.socket), mode=mode, **more) as client:
            yield client


@asynccontextmanager
async def mcp_bench(directory: Path, *, mcp: dict[str, Any] | None = None, **changes: Any) -> AsyncIterator[McpBench]:
    """A running gateway with MCP in `directory`."""
    tokens = {name: new_token() for name in ("agent-a", "agent-b", "boss")}
    roles = {"boss": (Role.OPERATOR,)}
    known = tuple(
        TokenConfig(principal=name, sha256=sha256, roles=roles.get(name, (Role.AGENT,)))
        for name, (_, sha256) in tokens.items()
    )
    settings = McpConfig(**{"listen": ("unix:{state}/mcp.sock", "127.0.0.1:0"), **(mcp or {})})
    async with bench(directory, mcp=settings, identity=IdentityConfig(tokens=known), **changes) as at:
        socket, address = at.gateway.endpoints.mcp
        yield McpBench(at, socket.removeprefix("unix:"), address, *(tokens[name][0] for name in tokens))


@asynccontextmanager
async def socket_transport(path: str) -> AsyncIterator[Any]:
    """The SDK's idea of a transport, over a Unix socket: one message a line."""
    send_in, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, receive_out = anyio.create_memory_object_stream[SessionMessage](0)
    async with await anyio.connect_unix(path) as wire, anyio.create_task_group() as tasks:

        async def read() -> None:
            buffered = b""
            async with send_in:
                async for piece in wire:
                    *lines, buffered = (buffered + piece).split(b"\n")
                    for line in lines:
                        await send_in.send(SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False)))

        async def write() -> None:
            async with receive_out:
                async for one in receive_out:
                    await wire.send(one.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")

        tasks.start_soon(read)
        tasks.start_soon(write)
        try:
            yield incoming, outgoing
        finally:
            tasks.cancel_scope.cancel()


def meta_of(message: Any) -> dict[str, Any]:
    """The `_meta` of a result or a part of one."""
    found: dict[str, Any] | None = message.meta
    assert found is not None
    return found


def text_of(result: Any) -> str:
    """The text of a result, all of it."""
    return "\n".join(part.text for part in result.content if part.type == "text")
