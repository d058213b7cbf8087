"""A gateway with TLS on TCP, the authorities that sign for both ends, and clients that show certificates."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
from certificates import Authority, Leaf
from gateway_bench import Bench, MovableClock, bench
from interlock.v1 import call_pb2, gateway_service_pb2, gateway_service_pb2_grpc
from interlock_gateway.config import Front, IdentityConfig, ServerConfig
from interlock_gateway.config_identity import CertificateConfig, MtlsConfig
from interlock_gateway.config_server import TlsConfig
from interlock_gateway.core.session import Role

AGENT = "spiffe://example.org/ns/prod/sa/agent"
OPERATOR = "spiffe://example.org/ops"
HOST = "gateway.example.org"
MTLS = MtlsConfig(
    principals=(
        CertificateConfig(spiffe="spiffe://example.org/ns/*/sa/agent", roles=(Role.AGENT,)),
        CertificateConfig(spiffe=OPERATOR, principal="ops", roles=(Role.OPERATOR, Role.AUDITOR)),
        CertificateConfig(subject="CN=by name", roles=(Role.AGENT,)),
    )
)
WATCH_S = 0.05


@dataclass
class Pki:
    """Who signs for the gateway and who for its clients, and the files that the gateway reads."""

    directory: Path
    servers: Authority = field(default_factory=lambda: Authority("Servers"))
    clients: Authority = field(default_factory=lambda: Authority("Clients"))
    taken_back: list[Leaf] = field(default_factory=list)

    def write(self, pair: Leaf | None = None) -> None:
        """The files as they should be."""
        (pair or self.servers.leaf(hosts=(HOST,))).written(self.directory)
        (self.directory / "ca.crt").write_bytes(self.clients.pem)
        self.write_list()

    def write_list(self) -> None:
        """The list of what the clients' authority has taken back."""
        (self.directory / "ca.crl").write_bytes(self.clients.revocations(*self.taken_back))

    def settings(self, **changed: Any) -> TlsConfig:
        """The configuration of those files."""
        files = {name: self.directory / file for name, file in FILES.items()}
        return TlsConfig(**{**files, "watch_s": WATCH_S, **changed})

    def agent(self, **changed: Any) -> Leaf:
        """An agent's certificate."""
        return self.clients.leaf(AGENT, **changed)


FILES = {"cert_file": "tls.crt", "key_file": "tls.key", "client_ca_file": "ca.crt"}


@dataclass
class TlsBench:
    """A gateway behind TLS."""

    made: Bench
    pki: Pki

    @property
    def address(self) -> str:
        """Where it listens on TCP."""
        return next(one for one in self.made.gateway.endpoints.agents if not one.startswith("unix:"))

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    def channel(self, leaf: Leaf | None = None, authority: Authority | None = None) -> grpc.aio.Channel:
        """A client that shows `leaf`, and believes what `authority` signs."""
        return channel(self.address, leaf, authority or self.pki.servers)


def channel(address: str, leaf: Leaf | None, authority: Authority) -> grpc.aio.Channel:
    """A client of its own, that shares no connection with another."""
    credentials = grpc.ssl_channel_credentials(
        authority.pem, *((leaf.key, leaf.chain) if leaf is not None else (None, None))
    )
    options = (("grpc.ssl_target_name_override", HOST), ("grpc.use_local_subchannel_pool", 1))
    return grpc.aio.secure_channel(address, credentials, options)


async def call(connection: grpc.aio.Channel, text: str = "hello", token: str = "", session: str = "s") -> str:
    """Have `echo` say it."""
    stub = gateway_service_pb2_grpc.GatewayServiceStub(connection)
    given = f'{{"text":"{text}"}}'.encode()
    request = gateway_service_pb2.CallToolRequest(call=call_pb2.ToolCall(session_id=session, tool="echo", input=given))
    metadata = (("authorization", f"Bearer {token}"),) if token else ()
    answer = await stub.CallTool(request, metadata=metadata, timeout=10)
    return str(answer.result.content[0].text.text)


async def code_of(connection: grpc.aio.Channel, token: str = "", session: str = "s") -> grpc.StatusCode:
    """How a call of `echo` ends."""
    try:
        await call(connection, token=token, session=session)
    except grpc.aio.AioRpcError as error:
        return error.code()
    return grpc.StatusCode.OK


@asynccontextmanager
async def behind_tls(
    directory: Path,
    front: Front = Front.NGHTTP2,
    *,
    clock: MovableClock | None = None,
    identity: IdentityConfig | None = None,
    tls: dict[str, Any] | None = None,
    with_lists: bool = False,
    **changes: Any,
) -> AsyncIterator[TlsBench]:
    """A gateway with TLS, and with the agents' socket beside it."""
    pki = Pki(directory / "pki")
    pki.write()
    if with_lists:
        tls = {**(tls or {}), "crl_file": pki.directory / "ca.crl"}
    server = ServerConfig(
        listen=("unix:{state}/agent.sock", "127.0.0.1:0"), front=front, drain_s=5.0, tls=pki.settings(**(tls or {}))
    )
    identity = identity or IdentityConfig(mtls=MTLS)
    async with bench(directory, server=server, identity=identity, clock=clock, **changes) as made:
        yield TlsBench(made, pki)
