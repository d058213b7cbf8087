"""Callers with certificates over real TLS, on both fronts: who gets in, who does not, and what a rotation does."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path

import grpc
import grpc.aio
import pytest
import uvloop
from access_table import asked
from certificates import Authority, Leaf
from gateway_bench import MovableClock
from interlock_gateway.config import Front, IdentityConfig, TokenConfig
from interlock_gateway.identity.authenticate import new_token
from interlock_gateway.transport.grpc import server as grpcio_server
from interlock_gateway.transport.http2 import tls_door
from interlock_gateway.transport.http2.listener import Http2Listener
from tls_bench import AGENT, HOST, MTLS, OPERATOR, TlsBench, behind_tls, call, code_of
from waiting import eventually, eventually_so

STATUS = "/interlock.v1.AdminService/GetStatus"
OK, UNAUTHENTICATED = grpc.StatusCode.OK, grpc.StatusCode.UNAUTHENTICATED
UNAVAILABLE = grpc.StatusCode.UNAVAILABLE
FRAME_HEAD, GOAWAY = 9, 7


@pytest.fixture(params=Front)
async def at(request: pytest.FixtureRequest, socket_directory: Path) -> AsyncIterator[TlsBench]:
    async with behind_tls(socket_directory, request.param) as made:
        yield made


@pytest.mark.req("AUTH-1", "AUTH-2")
async def test_a_certificate_is_who_somebody_is_and_the_configuration_what_they_may(at: TlsBench) -> None:
    async with at.channel(at.pki.agent()) as agent, at.channel(at.pki.clients.leaf(OPERATOR)) as operator:
        assert await call(agent) == "hello"
        refused = await asked(agent, STATUS, b"")
        assert (refused.code, refused.reason) == (grpc.StatusCode.PERMISSION_DENIED, "ROLE_REQUIRED")
        assert (await asked(operator, STATUS, b"")).code is OK
        assert await code_of(operator) is grpc.StatusCode.PERMISSION_DENIED
    async with at.channel(at.pki.clients.leaf(subject="CN=by name")) as named:
        assert await call(named, session="another") == "hello"
        # The session is the first one's, whatever else both may do.
        assert (await code_of(named)) is grpc.StatusCode.PERMISSION_DENIED


@pytest.mark.req("AUTH-1")
async def test_whoever_no_authority_of_ours_vouches_for_does_not_even_connect(at: TlsBench) -> None:
    pki = at.pki
    strangers = (
        None,
        Authority("Clients").leaf(AGENT),
        pki.servers.leaf(AGENT),
        pki.agent(begins=timedelta(hours=-2), ends=timedelta(hours=-1)),
        pki.agent(begins=timedelta(hours=1), ends=timedelta(hours=2)),
        pki.agent(usages=(ssl_purpose_server(),)),
    )
    for stranger in strangers:
        async with at.channel(stranger) as channel:
            assert await code_of(channel) is UNAVAILABLE
    async with at.channel(pki.agent(), authority=pki.clients) as distrustful:
        assert await code_of(distrustful) is UNAVAILABLE
    async with grpc.aio.insecure_channel(at.address) as plain:
        assert await code_of(plain) is UNAVAILABLE
    assert at.made.ledger.ran == []


def ssl_purpose_server() -> object:
    from cryptography.x509.oid import ExtendedKeyUsageOID

    return ExtendedKeyUsageOID.SERVER_AUTH


@pytest.mark.req("AUTH-1")
async def test_a_certificate_may_come_through_an_intermediate_that_it_brings_along(at: TlsBench) -> None:
    between = Authority("between", signed_by=at.pki.clients)
    async with at.channel(between.leaf(AGENT)) as agent:
        assert await call(agent) == "hello"
    alone = between.leaf(AGENT)
    leaf_only = Leaf(
        alone.chain.partition(b"-----END CERTIFICATE-----\n")[0] + b"-----END CERTIFICATE-----\n", alone.key
    )
    async with at.channel(leaf_only) as agent:
        assert await code_of(agent) is UNAVAILABLE
    # What an authority below ours signs for itself is no client.
    async with at.channel(at.pki.clients.leaf(AGENT, is_authority=True)) as authority:
        assert await code_of(authority) is UNAUTHENTICATED


@pytest.mark.req("AUTH-1")
async def test_a_verified_certificate_of_nobody_in_particular_is_nobody(at: TlsBench) -> None:
    for uris in (("spiffe://example.org/other",), (AGENT, OPERATOR), ("spiffe://example.com/ns/prod/sa/agent",), ()):
        async with at.channel(at.pki.clients.leaf(*uris)) as channel:
            refused = await asked(channel, STATUS, b"")
            assert (refused.code, refused.reason) == (UNAUTHENTICATED, "UNAUTHENTICATED")
            assert await code_of(channel) is UNAUTHENTICATED
    assert at.made.ledger.ran == []


@pytest.mark.req("AUTH-1")
@pytest.mark.parametrize("front", Front)
async def test_a_certificate_that_ends_while_its_connection_goes_on_lets_no_call_in(
    socket_directory: Path, front: Front
) -> None:
    clock = MovableClock()
    async with behind_tls(socket_directory, front, clock=clock) as at, at.channel(at.pki.agent()) as agent:
        assert await call(agent) == "hello"
        clock.ahead_s = 3700.0
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call(agent)
        assert (caught.value.code(), caught.value.details()) == (UNAUTHENTICATED, "the certificate has expired")


@pytest.mark.req("AUTH-1")
@pytest.mark.parametrize("front", Front)
async def test_tokens_are_sent_over_tls_without_certificates(socket_directory: Path, front: Front) -> None:
    token, digest = new_token()
    identity = IdentityConfig(tokens=(TokenConfig(principal="ci", sha256=digest),))
    tls = {"client_ca_file": None}
    async with behind_tls(socket_directory, front, identity=identity, tls=tls) as at, at.channel() as channel:
        assert await call(channel, token=token) == "hello"
        assert await code_of(channel, token=new_token()[0]) is UNAUTHENTICATED
        assert await code_of(channel) is UNAUTHENTICATED


@pytest.mark.req("AUTH-1")
async def test_where_certificates_are_accepted_tokens_are_too_and_never_both(socket_directory: Path) -> None:
    token, digest = new_token()
    identity = IdentityConfig(tokens=(TokenConfig(principal="ci", sha256=digest),), mtls=MTLS)
    async with behind_tls(socket_directory, identity=identity, tls={"clients": "accept"}) as at:
        async with at.channel() as channel:
            assert await call(channel, token=token) == "hello"
            assert await code_of(channel) is UNAUTHENTICATED
        async with at.channel(at.pki.agent()) as channel:
            assert await call(channel, session="another") == "hello"
            assert await code_of(channel, token=token) is UNAUTHENTICATED
        async with at.channel(Authority().leaf(AGENT)) as channel:
            assert await code_of(channel, token=token) is UNAVAILABLE


async def loaded(at: TlsBench, times: int) -> None:
    tls = at.made.gateway.rooms.entrance.tls
    assert tls is not None
    await eventually(lambda: tls.counts["loaded"] == times)


async def answered(channel: grpc.aio.Channel) -> bool:
    return await code_of(channel) is OK


@pytest.mark.req("AUTH-1")
async def test_certificates_change_while_calls_run_and_none_is_lost(at: TlsBench) -> None:
    pki, ended = at.pki, asyncio.Event()
    async with at.channel(pki.agent()) as lasting:

        async def keep_calling() -> int:
            count = 0
            while not ended.is_set():
                assert await call(lasting, f"n{count}") == f"n{count}"
                count += 1
            return count

        calling = asyncio.create_task(keep_calling())
        old = pki.servers
        for number in range(3):
            pki.servers = Authority(f"Servers {number}")
            pki.write()
            await loaded(at, number + 1)
            async with at.channel(pki.agent()) as anew, at.channel(pki.agent(), authority=old) as stale:
                # A handshake of another client may have begun a moment ago, with what there was then.
                await eventually_so(partial(answered, anew))
                assert await code_of(stale) is UNAVAILABLE
        ended.set()
        assert await calling > 0


@pytest.mark.req("AUTH-1")
async def test_an_authority_that_is_not_believed_any_more_vouches_for_nobody(socket_directory: Path) -> None:
    async with behind_tls(socket_directory) as at, at.channel(at.pki.agent()) as lasting:
        assert await call(lasting) == "hello"
        at.pki.clients = Authority("Clients")
        at.pki.write()
        tls = at.made.gateway.rooms.entrance.tls
        assert tls is not None
        await eventually(lambda: tls.counts["loaded"] == 1)
        # Its connection was sent away, and it does not get a new one.
        assert await code_of(lasting) is UNAVAILABLE
        async with at.channel(at.pki.agent()) as anew:
            assert await call(anew) == "hello"


def frames(data: bytes) -> list[int]:
    """The types of the HTTP/2 frames in `data`."""
    found = []
    while len(data) >= FRAME_HEAD:
        found.append(data[3])
        data = data[FRAME_HEAD + int.from_bytes(data[:3], "big") :]
    return found


@pytest.mark.req("AUTH-1")
async def test_a_handshake_that_began_with_authorities_of_the_past_is_sent_away(
    socket_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tls_door, "GOODBYE_S", 0.2)
    async with behind_tls(socket_directory) as at:
        context = ssl.create_default_context(cadata=at.pki.servers.pem.decode())
        context.load_cert_chain(*at.pki.agent().written(tmp_path))
        context.set_alpn_protocols(["h2"])
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = context.wrap_bio(incoming, outgoing, server_hostname=HOST)
        reader, writer = await asyncio.open_connection("127.0.0.1", at.port)
        with pytest.raises(ssl.SSLWantReadError):
            client.do_handshake()
        writer.write(outgoing.read())
        # With TLS 1.3 that is all that the gateway has to say before the client shows its certificate.
        incoming.write(await reader.read(65536))
        at.pki.clients = Authority("Clients")
        at.pki.write()
        await loaded(at, 1)
        client.do_handshake()
        writer.write(outgoing.read())
        while more := await reader.read(65536):
            incoming.write(more)
        received = b""
        with suppress(ssl.SSLError):  # its goodbye
            while piece := client.read(65536):
                received += piece
        assert GOAWAY in frames(received)
        writer.close()


def connected(at: TlsBench) -> int:
    listeners = [one for one in at.made.gateway._listeners if isinstance(one, Http2Listener)]
    intakes = [one._intake for one in listeners if one._tls is not None]
    return sum(len(intake.connections) + len(intake.handshakes) for intake in intakes)


@pytest.mark.req("AUTH-1", "REL-9")
async def test_who_connects_and_does_not_shake_hands_keeps_nobody_out(
    socket_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tls_door, "HANDSHAKES", 4)
    monkeypatch.setattr(tls_door, "CONNECTIONS", 8)
    async with behind_tls(socket_directory) as at:
        silent = [await asyncio.open_connection("127.0.0.1", at.port) for _ in range(4)]
        half = [await asyncio.open_connection("127.0.0.1", at.port) for _ in range(8)]
        for _, writer in half:
            writer.write(b"\x16\x03\x01\x02\x00\x01\x00")
        async with at.channel(at.pki.agent()) as agent:
            assert await call(agent) == "hello"
        # The oldest were dropped, and none is counted that is gone.
        assert await silent[0][0].read() == b""
        for _, writer in (*silent, *half):
            writer.close()
        await eventually(lambda: connected(at) == 0)


@pytest.mark.req("AUTH-1", "REL-9")
async def test_with_grpcio_a_handshake_has_its_time_and_connections_are_counted_too(
    socket_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grpcio_server, "HANDSHAKE_MS", 300)
    monkeypatch.setattr(grpcio_server, "CONNECTIONS", 3)
    async with behind_tls(socket_directory, Front.GRPCIO) as at:
        silent = [await asyncio.open_connection("127.0.0.1", at.port) for _ in range(6)]
        for reader, writer in silent:
            assert await _rest(reader) == b""
            writer.close()
        async with at.channel(at.pki.agent()) as agent:
            await eventually_so(partial(answered, agent))


@pytest.mark.req("AUTH-1", "REL-9")
async def test_a_handshake_has_its_time_and_failed_ones_leave_nothing(
    socket_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tls_door, "HANDSHAKE_S", 0.2)
    async with behind_tls(socket_directory) as at:
        reader, writer = await asyncio.open_connection("127.0.0.1", at.port)
        assert await reader.read() == b""
        writer.close()
        for garbage in (b"GET / HTTP/1.1\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\x00" * 100):
            reader, writer = await asyncio.open_connection("127.0.0.1", at.port)
            writer.write(garbage)
            # A TLS alert, if anything.
            assert (await reader.read())[:1] in {b"", b"\x15"}
            writer.close()
        await eventually(lambda: connected(at) == 0)
        tls = at.made.gateway.rooms.entrance.tls
        assert tls is not None
        assert tls.counts["failed_handshakes"] == 4


@pytest.mark.req("AUTH-1")
async def test_nobody_is_spoken_to_who_does_not_speak_http2_or_an_old_tls(at: TlsBench) -> None:
    def context(*protocols: str) -> ssl.SSLContext:
        made = ssl.create_default_context(cadata=at.pki.servers.pem.decode())
        cert, key = at.pki.agent().written(at.made.directory / "client")
        made.load_cert_chain(cert, key)
        if protocols:
            made.set_alpn_protocols(list(protocols))
        return made

    for protocols in ((), ("http/1.1",)):
        try:
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", at.port, ssl=context(*protocols), server_hostname=HOST
            )
        except (ssl.SSLError, ConnectionError):
            continue
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        answer = await asyncio.wait_for(_rest(reader), 10)
        if at.made.gateway.config.server.front is Front.NGHTTP2:
            assert answer.startswith(b"HTTP/1.1 421 ")
        assert b"HTTP/1.1 200" not in answer
        writer.close()
    old = context("h2")
    old.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1"):
        old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await asyncio.open_connection("127.0.0.1", at.port, ssl=old, server_hostname=HOST)


async def _rest(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read()
    except (ssl.SSLError, ConnectionError):
        return b""


@pytest.mark.req("AUTH-1")
async def test_an_operator_is_told_until_when_the_certificate_holds(at: TlsBench) -> None:
    parts = {part.name: part for part in at.made.gateway.state().components}
    assert parts["tls"].healthy
    assert parts["tls"].message.startswith("until ")
    (at.pki.directory / "tls.key").write_text("none")
    tls = at.made.gateway.rooms.entrance.tls
    assert tls is not None
    await eventually(lambda: tls.counts["refused"] == 1)
    parts = {part.name: part for part in at.made.gateway.state().components}
    assert not parts["tls"].healthy
    assert "the new one cannot be used" in parts["tls"].message
    # Nobody is turned away for it: the old one holds.
    assert at.made.gateway.fit_to_serve()


@pytest.mark.req("AUTH-1")
async def test_sockets_beside_a_tls_listener_stay_as_they_are(at: TlsBench) -> None:
    async with grpc.aio.insecure_channel(at.made.gateway.endpoints.agents[0]) as channel:
        assert await call(channel, "through the socket") == "through the socket"


@pytest.mark.req("AUTH-1", "REL-9")
def test_all_of_it_holds_on_the_loop_that_the_gateway_runs_on(
    socket_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """uvloop's TLS is another than asyncio's, which the other tests run on."""
    monkeypatch.setattr(tls_door, "HANDSHAKE_S", 0.5)
    uncaught: list[object] = []

    async def scene() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: uncaught.append(context))
        async with behind_tls(socket_directory) as at:
            tls = at.made.gateway.rooms.entrance.tls
            assert tls is not None
            async with at.channel(at.pki.agent()) as agent:
                texts = [f"{number}" * 3000 for number in range(8)]
                assert await asyncio.gather(*(call(agent, text) for text in texts)) == texts
                reader, writer = await asyncio.open_connection("127.0.0.1", at.port)
                assert await reader.read() == b""
                writer.close()
                for stranger in (None, Authority().leaf(AGENT)):
                    async with at.channel(stranger) as channel:
                        assert await code_of(channel) is UNAVAILABLE
                at.pki.servers = Authority("Servers")
                at.pki.write()
                await eventually(lambda: tls.counts["loaded"] == 1)
                async with at.channel(at.pki.agent()) as anew:
                    assert await call(anew) == "hello"
                assert await call(agent) == "hello"
                _, gone = await asyncio.open_connection("127.0.0.1", at.port)
                gone.transport.abort()
            await eventually(lambda: connected(at) == 0)
            assert tls.counts["failed_handshakes"] >= 3

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(scene())
    assert not uncaught
