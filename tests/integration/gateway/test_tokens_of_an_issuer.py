"""Callers with tokens of an issuer that does what tests want: keys that change, are late, or are not there at all."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from gateway_bench import Bench, MovableClock, bench
from interlock import CallStatus, Gateway
from interlock.admin import Approvals
from interlock.errors import NotAuthorizedError
from interlock.v1 import approval_service_pb2 as pb
from interlock_gateway.config import Front, IdentityConfig, ServerConfig
from interlock_gateway.config_identity import GrantConfig
from interlock_gateway.core.session import Role
from interlock_gateway.identity.oidc import issuer as issuer_module
from interlock_gateway.identity.oidc.issuer import Issuer
from interlock_gateway.transport.http2.call import UNKNOWN_BYTES
from tls_bench import call, code_of
from token_issuer import IssuerServer, Signer, claims, issuing, settings
from waiting import eventually

OK, UNAUTHENTICATED = grpc.StatusCode.OK, grpc.StatusCode.UNAUTHENTICATED
UNAVAILABLE = grpc.StatusCode.UNAVAILABLE
GRANTS = (
    GrantConfig(claim="groups", value="agents", roles=(Role.AGENT,)),
    GrantConfig(claim="groups", value="approvers", roles=(Role.APPROVER,)),
)


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(issuer_module, "LEAST_PAUSE_S", 0.05)


@dataclass
class Scene:
    """A gateway on TCP, and the issuer that it believes."""

    at: Bench
    issuer: IssuerServer

    @property
    def address(self) -> str:
        return next(one for one in self.at.gateway.endpoints.agents if not one.startswith("unix:"))

    @property
    def known(self) -> Issuer:
        return self.at.gateway.rooms.entrance.issuers[0]

    def token(self, signer: Signer | None = None, **changed: Any) -> str:
        given = claims(self.at.clock.now(), iss=self.issuer.url, **changed)
        return (signer or self.issuer.signers[0]).token(given)

    def channel(self) -> grpc.aio.Channel:
        return grpc.aio.insecure_channel(self.address, (("grpc.use_local_subchannel_pool", 1),))

    async def fetched(self) -> None:
        """Return once the gateway has keys."""
        await eventually(lambda: self.known.keys is not None)


@asynccontextmanager
async def scene(directory: Path, front: Front = Front.NGHTTP2, **changed: Any) -> AsyncIterator[Scene]:
    server = ServerConfig(listen=("unix:{state}/agent.sock", "127.0.0.1:0"), front=front, drain_s=5.0)
    async with issuing() as issuer:
        identity = IdentityConfig(jwt=(settings(issuer=issuer.url, grants=GRANTS, **changed),))
        async with bench(directory, server=server, identity=identity, clock=MovableClock()) as at:
            yield Scene(at, issuer)


@pytest.mark.req("AUTH-1")
@pytest.mark.parametrize("front", Front)
async def test_a_call_waits_for_its_key_and_holds_up_no_other(socket_directory: Path, front: Front) -> None:
    async with scene(socket_directory, front) as here, here.channel() as channel:
        await here.fetched()
        known = here.token()
        assert await call(channel, token=known) == "hello"
        here.issuer.hold = asyncio.Event()
        new = Signer("second")
        here.issuer.signers.append(new)
        waiting = asyncio.create_task(call(channel, "waited", token=here.token(new)))
        await eventually(lambda: len(here.issuer.asked) > 2)
        for number in range(20):
            assert await call(channel, f"n{number}", token=known) == f"n{number}"
        assert not waiting.done()
        here.issuer.hold.set()
        assert await waiting == "waited"
        # A key that is nowhere: refused, and then refused unasked.
        assert await code_of(channel, token=here.token(Signer("third"))) is UNAUTHENTICATED
        asked = len(here.issuer.asked)
        assert await code_of(channel, token=here.token(Signer("third"))) is UNAUTHENTICATED
        assert len(here.issuer.asked) == asked


@pytest.mark.req("AUTH-1", "REL-9")
async def test_little_is_held_for_whom_nobody_knows_yet(socket_directory: Path) -> None:
    async with scene(socket_directory) as here, here.channel() as channel:
        await here.fetched()
        here.issuer.hold = asyncio.Event()
        token = here.token(Signer("second"))
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call(channel, "x" * UNKNOWN_BYTES, token=token)
        assert caught.value.code() is UNAVAILABLE
        assert "too large to wait" in str(caught.value.details())
        gone = asyncio.create_task(call(channel, token=token))
        await eventually(lambda: waiting_in(here) == 1)
        gone.cancel()
        await eventually(lambda: waiting_in(here) == 0)
        late = asyncio.create_task(code_of(channel, token=token))
        await eventually(lambda: waiting_in(here) == 1)
        here.issuer.hold.set()
        assert await late is UNAUTHENTICATED
    assert here.at.ledger.ran == []


def waiting_in(here: Scene) -> int:
    return int(here.at.gateway.rooms.entrance.door._bearers._waiting.total())  # type: ignore[union-attr]  # there are issuers


@pytest.mark.req("AUTH-1")
async def test_a_gateway_ends_while_somebody_waits_to_be_known(socket_directory: Path) -> None:
    async with AsyncExitStack() as outer:
        async with scene(socket_directory) as here:
            channel = await outer.enter_async_context(here.channel())
            await here.fetched()
            here.issuer.hold = asyncio.Event()
            waiting = asyncio.create_task(code_of(channel, token=here.token(Signer("second"))))
            await eventually(lambda: waiting_in(here) == 1)
        assert await waiting in {UNAVAILABLE, grpc.StatusCode.CANCELLED}


@pytest.mark.req("AUTH-1")
@pytest.mark.parametrize("front", Front)
async def test_a_token_may_be_as_large_as_is_configured_and_no_larger(socket_directory: Path, front: Front) -> None:
    async with scene(socket_directory, front, max_token_bytes=10_000) as here, here.channel() as channel:
        await here.fetched()
        large = here.token(groups=["agents", *(f"group-{number}" for number in range(550))])
        assert 8192 < len(large) < 10_000
        for _ in range(20):
            assert await call(channel, token=large) == "hello"
        larger = here.token(groups=["agents", *(f"a-group-{number}" for number in range(600))])
        assert len(larger) > 10_000
        assert await code_of(channel, token=larger) is UNAUTHENTICATED


@pytest.mark.req("AUTH-2")
async def test_a_session_is_its_subjects_whatever_token_they_bring(socket_directory: Path) -> None:
    async with scene(socket_directory) as here, here.channel() as channel:
        await here.fetched()
        assert await call(channel, token=here.token()) == "hello"
        assert await call(channel, token=here.token(jti="another")) == "hello"
        assert await code_of(channel, token=here.token(sub="mallory")) is grpc.StatusCode.PERMISSION_DENIED
        assert await code_of(channel, token=here.token(sub="own:alice")) is grpc.StatusCode.PERMISSION_DENIED
        assert await code_of(channel, token=here.token(groups=["agents", "approvers"])) is UNAUTHENTICATED
        assert await code_of(channel, token=here.token(aud="another")) is UNAUTHENTICATED


@pytest.mark.req("AUTH-1", "CHK-8")
async def test_a_call_that_waits_for_a_person_outlives_its_token_and_a_watch_does_not(socket_directory: Path) -> None:
    async with scene(socket_directory, leeway_s=0) as here:
        await here.fetched()
        operators = here.at.gateway.endpoints.operators[0]
        soon = int(time.time()) + 3
        agents, approvers = here.token(exp=soon), here.token(groups=["approvers"], sub="bob", exp=soon)
        async with (
            Gateway(here.address, token=agents) as agent,
            Gateway(here.address, token=approvers) as approver,
            Gateway(operators) as local,
        ):
            watch, lasting = Approvals(approver).watch(), Approvals(local).watch()
            for one in (watch, lasting):
                assert (await anext(one)).event == pb.CHECKPOINT_EVENT_KEEPALIVE
            asked = asyncio.create_task(agent.session("s").call("wreck", {"what": "x"}))
            told = await anext(lasting)
            with pytest.raises(NotAuthorizedError, match="the credentials have ended"):
                async for _ in watch:
                    pass
            with pytest.raises(NotAuthorizedError, match="the token has expired"):
                await agent.session("s").call("echo", {"text": "late"})
            await Approvals(local).approve(told.checkpoint.checkpoint_id)
            assert (await asked).status is CallStatus.COMPLETED
    assert here.at.ledger.names() == ["wreck"]
