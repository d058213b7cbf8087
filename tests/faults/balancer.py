"""A balancer of TCP connections with health by gRPC, as platforms have them; small, and open to sabotage.

It hands each new connection to the next backend that serves. A backend that does not answer its probes is taken for
gone, and its connections are ended; one that says that it does not serve gets no new ones and keeps those it has.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Self

import grpc.aio
from grpc_health.v1 import health_pb2
from wires import Streams, Wire

PROBED_EVERY_S = 0.2
_PROBE_S = 0.5
_MISSED = 2
_CHECK = "/grpc.health.v1.Health/Check"


@dataclass(eq=False)
class Backend:
    """One replica behind the balancer, and the wire to it."""

    name: str
    address: str = ""
    serving: bool = False
    missed: int = 0
    wire: Wire = field(init=False)

    def __post_init__(self) -> None:
        self.wire = Wire(self._reach)

    async def _reach(self) -> Streams:
        host, _, port = self.address.rpartition(":")
        if not port:
            raise ConnectionRefusedError("it was never started")
        return await asyncio.open_connection(host, int(port))


class Balancer:
    """Listens at `doors` loopback ports, so that clients of one process do not all share one connection."""

    def __init__(self, names: tuple[str, ...], doors: int) -> None:
        self.backends = {name: Backend(name) for name in names}
        self.addresses: list[str] = []
        self._doors = doors
        self._next = count()
        self._servers: list[asyncio.Server] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._ending = asyncio.Event()

    async def __aenter__(self) -> Self:
        for _ in range(self._doors):
            server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
            self._servers.append(server)
            self.addresses.append(f"127.0.0.1:{server.sockets[0].getsockname()[1]}")
        for backend in self.backends.values():
            probed = await asyncio.start_server(backend.wire.carry, "127.0.0.1", 0)
            self._servers.append(probed)
            address = f"127.0.0.1:{probed.sockets[0].getsockname()[1]}"
            self._tasks.append(asyncio.create_task(self._probe(backend, address)))
        return self

    async def __aexit__(self, *_exception: object) -> None:
        self._ending.set()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for server in self._servers:
            server.close()
        for backend in self.backends.values():
            backend.wire.drop()

    def serving(self) -> set[str]:
        """The names of those that get connections."""
        return {backend.name for backend in self.backends.values() if backend.serving}

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        able = [backend for backend in self.backends.values() if backend.serving]
        if not able:
            writer.transport.abort()
            return
        await able[next(self._next) % len(able)].wire.carry(reader, writer)

    async def _probe(self, backend: Backend, address: str) -> None:
        """Ask through the same wire that clients go through, again and again."""
        while True:
            async with grpc.aio.insecure_channel(address, options=(("grpc.use_local_subchannel_pool", 1),)) as channel:
                check = channel.unary_unary(
                    _CHECK,
                    request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
                    response_deserializer=health_pb2.HealthCheckResponse.FromString,
                )
                answered = True
                while answered:
                    answered = await self._look(backend, check)
                    with suppress(TimeoutError):
                        async with asyncio.timeout(PROBED_EVERY_S):
                            await self._ending.wait()

    async def _look(self, backend: Backend, check: "grpc.aio.UnaryUnaryMultiCallable[object, object]") -> bool:
        try:
            answer = await check(health_pb2.HealthCheckRequest(), timeout=_PROBE_S)
        except grpc.RpcError:
            backend.missed += 1
            if backend.missed >= _MISSED and backend.serving:
                backend.serving = False
                backend.wire.drop()
            return False
        backend.missed = 0
        backend.serving = answer == health_pb2.HealthCheckResponse(status=health_pb2.HealthCheckResponse.SERVING)
        return True
