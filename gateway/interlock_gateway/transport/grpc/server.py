"""The gRPC servers: one for each kind of credential, so that an agent's socket does not even have the admin service."""

import asyncio
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import grpc
import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from interlock_gateway.errors import ConfigError
from interlock_gateway.transport.grpc.binding import refuse_taken
from interlock_gateway.transport.grpc.endpoint import OpenRpcs

GATEWAY_SERVICE = "interlock.v1.GatewayService"
ADMIN_SERVICE = "interlock.v1.AdminService"
APPROVAL_SERVICE = "interlock.v1.ApprovalService"
LAST_WORDS_S = 0.1
"""How long an answer that was given may take to leave."""
_SERVICES = ("", GATEWAY_SERVICE, ADMIN_SERVICE, APPROVAL_SERVICE)


class Health:
    """What `grpc.health.v1.Health` says, on every server of the process."""

    def __init__(self) -> None:
        self.servicer = health.aio.HealthServicer()
        self.serving = False

    async def set(self, *, serving: bool) -> None:
        """Say whether calls are served."""
        self.serving = serving
        status = health_pb2.HealthCheckResponse.SERVING if serving else health_pb2.HealthCheckResponse.NOT_SERVING
        for service in _SERVICES:
            await self.servicer.set(service, status)


class GrpcListener:
    """One gRPC server with its services and addresses."""

    def __init__(self, handlers: Iterable[tuple[str, grpc.GenericRpcHandler]], health_: Health, max_bytes: int) -> None:
        self._server = grpc.aio.server(
            options=(
                ("grpc.max_receive_message_length", max_bytes),
                ("grpc.max_send_message_length", -1),
                ("grpc.so_reuseport", 0),
                ("grpc.keepalive_time_ms", 60_000),
                ("grpc.http2.min_ping_interval_without_data_ms", 20_000),
            )
        )
        names = [reflection.SERVICE_NAME, health.SERVICE_NAME]
        for name, handler in handlers:
            self._server.add_generic_rpc_handlers((handler,))
            names.append(name)
        health_pb2_grpc.add_HealthServicer_to_server(health_.servicer, self._server)
        reflection.enable_server_reflection(names, self._server)

    def listen(self, address: str, socket_mode: int) -> str:
        """Bind to `address`; the address in full, with the port that was chosen. Raises `ConfigError`."""
        path = address.removeprefix("unix:") if address.startswith("unix:") else None
        try:
            refuse_taken(address)
            if path is None:
                port = self._server.add_insecure_port(address)
                return f"{address.rpartition(':')[0]}:{port}"
            if not Path(path).parent.is_dir():
                raise ConfigError(f"cannot listen on {address}: there is no directory {Path(path).parent}")
            with _only_owner():
                self._server.add_insecure_port(address)
            Path(path).chmod(socket_mode)
        except OSError as error:
            raise ConfigError(f"cannot listen on {address}: {error.strerror or error}") from None
        except RuntimeError as error:
            raise ConfigError(f"cannot listen on {address}: {error}") from None
        return address

    async def start(self) -> None:
        """Serve."""
        await self._server.start()

    async def stop(self, grace_s: float) -> None:
        """Take no new calls; give those in flight `grace_s` seconds."""
        await self._server.stop(grace_s)


async def stop_all(listeners: Sequence[GrpcListener], open_rpcs: OpenRpcs, grace_s: float) -> None:
    """Stop `listeners`: at once for new RPCs, and for those under way when they have ended, in `grace_s` at most.

    Watches of health and reflection have no end of their own, and are not waited for.
    """
    stopping = asyncio.gather(*(listener.stop(grace_s) for listener in listeners))
    ended = asyncio.create_task(open_rpcs.none())
    try:
        await asyncio.wait((stopping, ended), return_when=asyncio.FIRST_COMPLETED)
    finally:
        ended.cancel()
    await asyncio.gather(*(listener.stop(LAST_WORDS_S) for listener in listeners))
    await stopping


@contextmanager
def _only_owner() -> Iterator[None]:
    """Make what is created meanwhile accessible to nobody else, so that there is no moment in which it is."""
    before = os.umask(0o177)
    try:
        yield
    finally:
        os.umask(before)
