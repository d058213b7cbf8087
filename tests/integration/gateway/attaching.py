"""Gateways with two agents that have tokens, for tools that agents bring along."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import grpc.aio
from gateway_bench import Bench, bench
from interlock import Gateway as Client
from interlock.v1 import provider_hub_service_pb2 as hub
from interlock.v1 import tool_pb2
from interlock.v1 import tool_provider_service_pb2 as rpc
from interlock_gateway.config import Front, IdentityConfig, ServerConfig, TokenConfig
from interlock_gateway.core.session import Role
from interlock_gateway.identity.authenticate import new_token

ATTACH = "/interlock.v1.ProviderHubService/Attach"
PATIENCE_S = 20.0


@dataclass
class Agents:
    """A gateway, and the tokens of its callers by principal."""

    bench: Bench
    tokens: dict[str, str]

    @property
    def address(self) -> str:
        """Where it is reached over TCP."""
        return self.bench.gateway.endpoints.agents[1]

    def client(self, who: str) -> Client:
        """One of them, as a client."""
        return Client(self.address, token=self.tokens[who], plaintext=True, timeout=PATIENCE_S, patience=0)


@asynccontextmanager
async def agents(directory: Path, front: Front = Front.NGHTTP2, **changes: Any) -> AsyncIterator[Agents]:
    """A gateway with the agents alice and bob, and the operator olga."""
    roles = {"alice": Role.AGENT, "bob": Role.AGENT, "host": Role.PROVIDER, "olga": Role.OPERATOR}
    made = {who: new_token() for who in roles}
    tokens = tuple(TokenConfig(principal=who, sha256=made[who][1], roles=(role,)) for who, role in roles.items())
    server = ServerConfig(listen=("unix:{state}/agent.sock", "127.0.0.1:0"), front=front, drain_s=5.0)
    identity = IdentityConfig(tokens=tokens)
    async with bench(directory, server=server, identity=identity, **changes) as at:
        yield Agents(at, {who: token for who, (token, _) in made.items()})


class RawAttachment:
    """An attachment frame by frame."""

    def __init__(self, address: str, token: str) -> None:
        self._channel = grpc.aio.insecure_channel(address, options=(("grpc.max_send_message_length", -1),))
        self.call: Any = self._channel.stream_stream(
            ATTACH,
            request_serializer=lambda frame: frame if isinstance(frame, bytes) else frame.SerializeToString(),
            response_deserializer=hub.AttachResponse.FromString,
        )(metadata=(("authorization", f"Bearer {token}"),))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.call.cancel()
        await self._channel.close()

    async def send(self, raw: bytes = b"", **frame: Any) -> None:
        """Send a frame."""
        await asyncio.wait_for(self.call.write(raw or hub.AttachRequest(**frame)), PATIENCE_S)

    async def next(self) -> hub.AttachResponse:
        """The next frame."""
        frame: Any = await asyncio.wait_for(self.call.read(), PATIENCE_S)
        assert isinstance(frame, hub.AttachResponse), await self.call.details()
        return frame

    async def attach(self, *tools: str, name: str = "raw", **frame: Any) -> hub.AttachWelcome:
        """Describe tools that declare to read only, and be welcomed."""
        await self.send(description=description(*tools, name=name), **frame)
        return (await self.next()).welcome

    async def ended(self) -> tuple[grpc.StatusCode, str]:
        """How the gateway ended the stream."""
        with suppress(grpc.aio.AioRpcError):
            while await asyncio.wait_for(self.call.read(), PATIENCE_S) is not grpc.aio.EOF:
                pass
        return await self.call.code(), await self.call.details()


def description(*tools: str, name: str = "raw") -> rpc.DescribeResponse:
    """A description of tools that declare to read only."""
    definitions = [tool_pb2.ToolDefinition(name=one, metadata={"read_only": True}) for one in tools]
    return rpc.DescribeResponse(name=name, version="1", tools=definitions)


def result(text: str) -> rpc.ExecuteResponse:
    """The end of a call."""
    return rpc.ExecuteResponse(result={"output": text})
