"""A provider that describes whatever a test puts into it, changed while the gateway looks on; and operators to look."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway_bench import Bench, config_in
from interlock import Gateway as Client
from interlock.admin import Admin
from interlock.provider import ToolProvider, ToolServer
from interlock.v1 import provider_pb2, registry_pb2, tool_pb2
from interlock.v1 import tool_provider_service_pb2 as rpc
from interlock_gateway.app import running
from interlock_gateway.config import ProviderConfig
from interlock_gateway.serving import Gateway
from waiting import eventually


class RawProvider(ToolProvider):
    """Describes `definitions` as they are at that moment, and remembers what it was asked to run."""

    def __init__(self, *definitions: tool_pb2.ToolDefinition, name: str = "raw") -> None:
        super().__init__((), name=name, version="1")
        self.definitions = list(definitions)
        self.ran: list[provider_pb2.ToolInvocation] = []
        self.descriptions = 0
        self.result = provider_pb2.ToolResult(output="ran")

    def describe(self) -> rpc.DescribeResponse:
        self.descriptions += 1
        return rpc.DescribeResponse(name=self.name, version=self.version, tools=self.definitions)

    async def execute(self, request: rpc.ExecuteRequest, caller: Any = None) -> rpc.ExecuteResponse:
        del caller
        self.ran.append(request.invocation)
        return rpc.ExecuteResponse(result=self.result)


def reading(name: str, **fields: Any) -> tool_pb2.ToolDefinition:
    """The definition of a tool that only reads, with what else is given."""
    made = tool_pb2.ToolDefinition(name=name, **fields)
    if not made.HasField("metadata"):
        made.metadata.read_only = True
    return made


@asynccontextmanager
async def served(directory: Path, provider: ToolProvider) -> AsyncIterator[ToolServer]:
    """Serve `provider` on a socket in `directory` that is named like it."""
    async with ToolServer(provider, f"unix:{directory}/{provider.name}.sock") as server:
        yield server


@asynccontextmanager
async def operating(at: Bench) -> AsyncIterator[Admin]:
    """An operator, on the operators' socket."""
    async with Client(at.gateway.endpoints.operators[0]) as gateway:
        yield Admin(gateway)


@dataclass
class RawBench:
    """One gateway, a raw provider, an agent and an operator."""

    gateway: Gateway
    provider: RawProvider
    agent: Client
    admin: Admin

    async def classified(self, tool: str) -> registry_pb2.ProviderTool:
        """The tool as operators see it."""
        (found,) = (one for one in await self.admin.provider_tools("raw") if one.name == tool)
        return found

    async def told(self, *definitions: tool_pb2.ToolDefinition) -> None:
        """Have the gateway hear other definitions."""
        self.provider.definitions = list(definitions)
        heard = self.provider.descriptions
        # One description may have been under way when they changed.
        await eventually(lambda: self.provider.descriptions >= heard + 2)


@asynccontextmanager
async def raw_bench(
    directory: Path, *definitions: tool_pb2.ToolDefinition, spec: dict[str, Any] | None = None, **config: Any
) -> AsyncIterator[RawBench]:
    """A running gateway with one raw provider, configured with `spec`, and whatever else the configuration says."""
    provider = RawProvider(*definitions)
    configured = ProviderConfig(name="raw", address=f"unix:{directory}/raw.sock", **(spec or {}))
    async with (
        served(directory, provider),
        running(config_in(directory, providers=(configured,), **config)) as gateway,
        Client(gateway.endpoints.agents[0]) as agent,
        Client(gateway.endpoints.operators[0]) as operator,
    ):
        await gateway.providers_settled(5)
        yield RawBench(gateway, provider, agent, Admin(operator))


def spec_of(
    server: ToolServer, *, trust: Any = registry_pb2.PROVIDER_TRUST_DECLARED, pins: Any = 0
) -> registry_pb2.ProviderSpec:
    """What an operator says to register the provider that `server` serves."""
    grpc = registry_pb2.GrpcConnection(target=server.address)
    return registry_pb2.ProviderSpec(name=server.provider.name, grpc=grpc, trust=trust, pins=pins)
