"""The gateway reaches providers over TLS, and each side is sure of the other (TOOL-4)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest
from certificates import Authority, Leaf
from gateway_bench import Ledger, MovableClock, config_in, ledger_tools
from interlock import CallStatus
from interlock import Gateway as Client
from interlock.admin import Admin
from interlock.errors import RequestError
from interlock.provider import ToolServer
from interlock.tls import ServerTls
from interlock.v1 import registry_pb2
from interlock_gateway.app import running
from interlock_gateway.config import ProviderConfig
from interlock_gateway.config_providers import ProviderCredentialsConfig, ProviderTlsConfig
from interlock_gateway.providers import channel, directory, grpc_provider
from interlock_gateway.serving import Gateway
from waiting import eventually_so

GATEWAY_ID = "spiffe://example.org/ns/prod/sa/gateway"


@pytest.fixture(autouse=True)
def short_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try again soon."""
    monkeypatch.setattr(grpc_provider, "CONNECT_S", 0.3)
    for module in (channel, directory):
        monkeypatch.setattr(module, "LAST_RETRY_S", 0.1)


PAST = timedelta(minutes=-1)


@dataclass
class Certificates:
    """Those of a gateway and a provider that trust one authority, in files, and the authority that nobody trusts."""

    directory: Path
    authority: Authority = field(default_factory=lambda: Authority("Ours"))
    stranger: Authority = field(default_factory=lambda: Authority("Theirs"))

    def __post_init__(self) -> None:
        (self.directory / "ours.pem").write_bytes(self.authority.pem)
        (self.directory / "theirs.pem").write_bytes(self.stranger.pem)
        self.provider(self.authority.leaf(hosts=("127.0.0.1",)))
        self.gateway(self.authority.leaf(GATEWAY_ID, subject="CN=gateway"))

    def provider(self, leaf: Leaf) -> None:
        """Let this be what the provider shows."""
        leaf.written(self.directory, "provider")

    def gateway(self, leaf: Leaf) -> None:
        """Let this be what the gateway shows."""
        leaf.written(self.directory, "gateway")

    def serving(self, *clients: str) -> ServerTls:
        """How a provider serves that asks for certificates."""
        files = self.directory / "provider.crt", self.directory / "provider.key"
        return ServerTls(*files, client_ca_file=self.directory / "ours.pem", clients=clients)

    def reaching(self, **more: object) -> ProviderTlsConfig:
        """How the gateway reaches it."""
        files = {"ca_file": "ours.pem", "cert_file": "gateway.crt", "key_file": "gateway.key"}
        given = {name: self.directory / file for name, file in files.items()}
        return ProviderTlsConfig.model_validate(given | more)


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    return Certificates(tmp_path)


@asynccontextmanager
async def reached(
    directory: Path, server: ToolServer, tls: ProviderTlsConfig | None, *, token: str = "", host: str = "127.0.0.1"
) -> AsyncIterator[tuple[Gateway, Client, Admin]]:
    """A gateway that has one provider, which listens already."""
    address = f"{host}:{server.address.rpartition(':')[2]}"
    provider = ProviderConfig(name="ledger", address=address, tls=tls, token=token)
    async with running(config_in(directory, providers=(provider,)), MovableClock()) as gateway:
        await gateway.providers_settled(0.5)
        async with Client(gateway.endpoints.agents[0]) as agent, Client(gateway.endpoints.operators[0]) as operator:
            yield gateway, agent, Admin(operator)


def served(ledger: Ledger, tls: ServerTls | None, token: str | None = None, address: str = "127.0.0.1:0") -> ToolServer:
    return ToolServer(ledger_tools(ledger), address, name="ledger", tls=tls, token=token)


async def trouble(admin: Admin) -> str:
    """Why the provider is not reached; empty when it is."""
    return (await admin.providers())[0].last_error


@pytest.mark.req("TOOL-4")
async def test_calls_go_over_tls_to_a_provider_that_lets_in_the_gateway_alone(
    socket_directory: Path, certificates: Certificates
) -> None:
    ledger = Ledger()
    tls = certificates.serving(GATEWAY_ID)
    async with (
        served(ledger, tls, token="t0ken") as server,
        reached(socket_directory, server, certificates.reaching(), token="t0ken") as (_, agent, _admin),
    ):
        session = agent.session("s")
        assert (await session.call("echo", {"text": "x" * 300_000})).completed
        assert (await session.call("set_value", {"value": "b"})).ok
        previewed = await session.call("replace_value", {"value": "c"})
        assert previewed.status is CallStatus.PREVIEW
        assert (await session.resolve("apply", "as asked")).ok
    assert ledger.names() == ["echo", "set_value", "replace_value"]


@pytest.mark.req("TOOL-4")
@pytest.mark.parametrize("named", ["spiffe://example.org/ns/prod/sa/other", "CN=other", GATEWAY_ID + "/"])
async def test_a_provider_refuses_who_has_another_certificate_of_the_same_authority(
    socket_directory: Path, certificates: Certificates, named: str
) -> None:
    ledger = Ledger()
    async with (
        served(ledger, certificates.serving(named)) as server,
        reached(socket_directory, server, certificates.reaching()) as (gateway, agent, admin),
    ):
        assert "not for the holder of this certificate" in await trouble(admin)
        assert gateway.tool("echo") is None
        assert (await agent.session("s").call("echo", {"text": "x"})).status is CallStatus.DENIED
    assert ledger.ran == []


async def test_a_subject_is_as_good_as_a_spiffe_id(socket_directory: Path, certificates: Certificates) -> None:
    async with (
        served(Ledger(), certificates.serving("CN=someone", "CN=gateway")) as server,
        reached(socket_directory, server, certificates.reaching()) as (_, agent, _admin),
    ):
        assert (await agent.session("s").call("echo", {"text": "x"})).text == "x"


@pytest.mark.req("TOOL-4")
async def test_a_name_is_checked_and_can_be_said(socket_directory: Path, certificates: Certificates) -> None:
    certificates.provider(certificates.authority.leaf(hosts=("tools.example.org",)))
    async with served(Ledger(), certificates.serving()) as server:
        async with reached(socket_directory, server, certificates.reaching()) as (_, _agent, admin):
            assert "its certificate is refused: " in await trouble(admin)
            assert "127.0.0.1" in await trouble(admin)
        tls = certificates.reaching(server_name="tools.example.org")
        elsewhere = socket_directory / "2"
        elsewhere.mkdir()
        async with reached(elsewhere, server, tls) as (_, agent, _admin):
            assert (await agent.session("s").call("echo", {"text": "x"})).completed


@pytest.mark.req("TOOL-4")
async def test_a_spiffe_id_stands_in_place_of_a_name(socket_directory: Path, certificates: Certificates) -> None:
    tools = "spiffe://example.org/ns/prod/sa/tools"
    certificates.provider(certificates.authority.leaf(tools))
    server = served(Ledger(), certificates.serving())
    await server.start()
    async with reached(socket_directory, server, certificates.reaching(spiffe_id=tools)) as (_, agent, admin):
        assert (await agent.session("s").call("echo", {"text": "x"})).completed

        async def is_refused() -> bool:
            return f"it is not that of {tools} alone" in await trouble(admin)

        async def is_reached() -> bool:
            return not await trouble(admin)

        for names in (("spiffe://example.org/ns/prod/sa/other",), (tools, "https://example.org/"), ()):
            for leaf, ends in (
                (certificates.authority.leaf(*names, hosts=("127.0.0.1",)), is_refused),
                (certificates.authority.leaf(tools), is_reached),
            ):
                certificates.provider(leaf)
                await server.stop(0)
                server = served(Ledger(), certificates.serving(), address=server.address)
                await server.start()
                await eventually_so(ends)
    await server.stop(0)


@pytest.mark.req("TOOL-4")
@pytest.mark.parametrize(
    "case", ["wrong authority", "expired", "none shown", "strangers shown", "no tls", "tls unasked"]
)
async def test_who_is_not_who_they_should_be_is_not_spoken_to(
    socket_directory: Path, certificates: Certificates, case: str
) -> None:
    ledger, reaching, words = Ledger(), certificates.reaching(), ""
    serving: ServerTls | None = certificates.serving()
    match case:
        case "wrong authority":
            reaching, words = (
                certificates.reaching(ca_file=certificates.directory / "theirs.pem"),
                "its certificate is refused",
            )
        case "expired":
            certificates.provider(certificates.authority.leaf(hosts=("127.0.0.1",), ends=PAST))
            words = "its certificate is refused: certificate has expired"
        case "none shown":
            reaching, words = certificates.reaching(cert_file=None, key_file=None), "may ask for a certificate"
        case "strangers shown":
            certificates.gateway(certificates.stranger.leaf(GATEWAY_ID))
            words = "may not take the gateway's certificate"
        case "no tls":
            serving, words = None, "it does not speak TLS"
        case "tls unasked":
            words = "the other side closed the connection"
    async with served(ledger, serving) as server:
        tls = None if case == "tls unasked" else reaching
        async with reached(socket_directory, server, tls) as (gateway, agent, admin):
            assert words in await trouble(admin)
            assert gateway.tool("echo") is None
            assert (await agent.session("s").call("echo", {"text": "x"})).status is CallStatus.DENIED
    assert ledger.ran == []


@pytest.mark.req("TOOL-4")
async def test_tools_go_with_an_expired_certificate_and_come_back_with_a_mended_one(
    socket_directory: Path, certificates: Certificates
) -> None:
    ledger, authority = Ledger(), certificates.authority
    async with served(ledger, certificates.serving()) as first:
        port = first.address
        async with reached(socket_directory, first, certificates.reaching()) as (gateway, agent, admin):
            assert (await agent.session("s").call("echo", {"text": "before"})).completed
            certificates.provider(authority.leaf(hosts=("127.0.0.1",), ends=PAST))
            await first.stop(0)
            async with served(ledger, certificates.serving(), address=port):

                async def is_refused() -> bool:
                    return "certificate has expired" in await trouble(admin)

                await eventually_so(is_refused)
                assert "echo" not in {tool.name for tool in (await agent.session("s").tools()).tools}
                assert (await agent.session("s").call("echo", {"text": "meanwhile"})).status is CallStatus.FAILED
                # Both sides look at their files again by themselves.
                certificates.provider(authority.leaf(hosts=("127.0.0.1",)))

                async def is_back() -> bool:
                    return not await trouble(admin)

                await eventually_so(is_back)
                assert gateway.tool("echo") is not None
                assert (await agent.session("s").call("echo", {"text": "after"})).completed
    assert [what for _, what in ledger.ran] == ["before", "after"]


@pytest.mark.req("TOOL-4")
async def test_the_gateways_own_certificate_is_read_again(socket_directory: Path, certificates: Certificates) -> None:
    certificates.gateway(certificates.stranger.leaf(GATEWAY_ID))
    async with (
        served(Ledger(), certificates.serving()) as server,
        reached(socket_directory, server, certificates.reaching()) as (_, agent, admin),
    ):
        assert "gateway's certificate" in await trouble(admin)
        certificates.gateway(certificates.authority.leaf(GATEWAY_ID))

        async def is_reached() -> bool:
            return not await trouble(admin)

        await eventually_so(is_reached)
        assert (await agent.session("s").call("echo", {"text": "x"})).completed


async def test_files_that_are_not_there_are_said(socket_directory: Path, certificates: Certificates) -> None:
    async with served(Ledger(), certificates.serving()) as server:
        tls = certificates.reaching(ca_file=socket_directory / "nowhere.pem")
        async with reached(socket_directory, server, tls) as (_, _agent, admin):
            assert await trouble(admin) == (
                f"provider ledger cannot be reached: {socket_directory}/nowhere.pem: No such file or directory"
            )


@pytest.mark.req("TOOL-4")
async def test_a_provider_is_registered_at_run_time_with_credentials_of_the_configuration(
    socket_directory: Path, certificates: Certificates
) -> None:
    credentials = {"mesh": ProviderCredentialsConfig(token="t0ken", tls=certificates.reaching())}
    config = config_in(socket_directory, providers=(), provider_credentials=credentials)
    async with (
        served(Ledger(), certificates.serving(GATEWAY_ID), token="t0ken") as server,
        running(config, MovableClock()) as gateway,
        Client(gateway.endpoints.operators[0]) as operator,
        Client(gateway.endpoints.agents[0]) as agent,
    ):
        admin = Admin(operator)

        def spec(target: str, name: str = "mesh") -> registry_pb2.ProviderSpec:
            connection = registry_pb2.GrpcConnection(target=target, credentials_name=name)
            return registry_pb2.ProviderSpec(name="late", grpc=connection)

        for target, name, field in (
            (server.address, "unheard-of", "spec.grpc.credentials_name"),
            ("tools.example.org:7090", "", "spec.grpc.credentials_name"),
            (f"unix:{socket_directory}/tools.sock", "mesh", "spec.grpc.credentials_name"),
            ("nowhere", "mesh", "spec.grpc.target"),
        ):
            with pytest.raises(RequestError) as refused:
                await admin.register_provider(spec(target, name))
            assert (refused.value.reason, refused.value.metadata["field"]) == ("INVALID_FIELD", field)
        added = await admin.register_provider(spec(f"dns:///{server.address}"))
        assert (added.last_error, added.tools) == ("", 8)
        assert (await agent.session("s").call("echo", {"text": "x"})).completed
