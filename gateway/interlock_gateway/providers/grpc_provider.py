"""A provider reached over gRPC: one channel, kept open."""

import asyncio
import contextlib
from types import SimpleNamespace

from google.protobuf.message_factory import GetMessageClass
from interlock.v1 import tool_provider_service_pb2 as service_pb2

from interlock_gateway.config_providers import ProviderTlsConfig
from interlock_gateway.errors import ProviderDownError
from interlock_gateway.providers.calling import CallingProvider, described
from interlock_gateway.providers.channel import Channel
from interlock_gateway.providers.kept import Described, ProviderKind

CONNECT_S = 2.0
"""How long a call waits for a connection that is being made before the provider counts as down."""

MAX_TOOLS = 20_000


class GrpcProvider(CallingProvider):
    """The gateway's side of `ToolProviderService`."""

    kind = ProviderKind.GRPC

    def __init__(
        self, name: str, address: str, *, max_message_bytes: int, token: str = "", tls: ProviderTlsConfig | None = None
    ) -> None:
        self.address = address
        self._channel = Channel(address, max_message_bytes=max_message_bytes, token=token, tls=tls)
        execute_once = self._channel.unary_unary(
            "/interlock.v1.ToolProviderService/Execute",
            request_serializer=service_pb2.ExecuteRequest.SerializeToString,
            response_deserializer=service_pb2.ExecuteResponse.FromString,
        )
        super().__init__(name, _stub_on(self._channel), execute_once)
        self._described = asyncio.Event()
        self._lost = asyncio.Event()

    async def close(self) -> None:
        """Close the channel; calls in flight end as unknown."""
        await self._channel.close()

    def retire(self) -> None:
        """Close the channel once the last call in flight has ended."""
        self._channel.retire()

    def connected(self) -> bool:
        """Whether the connection is up now."""
        return self._channel.connected

    @property
    def in_flight(self) -> int:
        """How many requests it has not answered."""
        return self._channel.in_flight

    async def until_lost(self) -> None:
        """Return when the connection is lost, however briefly."""
        while self.connected() and not self._lost.is_set():
            change = asyncio.create_task(self._channel.until_lost())
            noticed = asyncio.create_task(self._lost.wait())
            try:
                await asyncio.wait((change, noticed), return_when=asyncio.FIRST_COMPLETED)
            finally:
                change.cancel()
                noticed.cancel()

    async def pause(self, most_s: float) -> None:
        """Wait before it is asked again: `most_s` seconds, or until a lost connection is back."""
        was_connected = self.connected()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(most_s):
                if was_connected:
                    await asyncio.sleep(most_s)
                await self._channel.until_connected()

    def mark_described(self) -> None:
        """What the provider describes is registered: it may be called."""
        self._described.set()

    def mark_lost(self) -> None:
        """The connection was lost: who comes back may be another, and is not called before it is described."""
        self._described.clear()

    async def ready(self, deadline_s: float) -> None:
        """Return when the provider can be called; raises `ProviderDownError`."""
        if self.connected() and self._described.is_set():
            return
        if not self.connected():
            self._described.clear()
            self._lost.set()
        try:
            async with asyncio.timeout(min(CONNECT_S, deadline_s)):
                await self._described.wait()
        except TimeoutError:
            raise ProviderDownError(f"provider {self.name} cannot be reached") from None

    async def describe(self, timeout_s: float) -> Described:
        """What the provider says of itself. A tool that cannot be read is a problem of that tool alone."""
        self._lost.clear()
        await self._connected(timeout_s)
        answer = await self._unary(self._stub.Describe, service_pb2.DescribeRequest(), timeout_s)
        self._knows_result_only = answer.knows_result_only
        return await described(answer, self.name, MAX_TOOLS)

    async def _connected(self, timeout_s: float) -> None:
        try:
            async with asyncio.timeout(min(CONNECT_S, timeout_s)):
                await self._channel.until_connected()
        except TimeoutError:
            why = f": {self._channel.problem}" if self._channel.problem else ""
            raise ProviderDownError(f"provider {self.name} cannot be reached{why}") from None


def _stub_on(channel: Channel) -> SimpleNamespace:
    """What the generated stub is, whose module would load all of grpcio: 18 MB."""
    service = service_pb2.DESCRIPTOR.services_by_name["ToolProviderService"]
    methods = {}
    for method in service.methods:
        made = channel.unary_stream if method.server_streaming else channel.unary_unary
        methods[method.name] = made(
            f"/{service.full_name}/{method.name}",
            request_serializer=GetMessageClass(method.input_type).SerializeToString,
            response_deserializer=GetMessageClass(method.output_type).FromString,
        )
    return SimpleNamespace(**methods)
