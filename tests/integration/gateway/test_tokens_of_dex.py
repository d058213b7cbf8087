"""Callers with tokens of a real OpenID provider: its keys are found, changed while calls run, and missed a while."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import pytest
from access_table import asked
from dex_process import AGENT, CLIENT, OPERATOR, OTHER_CLIENT, STRANGER, Dex, dex
from interlock_gateway.config import Front, IdentityConfig
from interlock_gateway.config_identity import GrantConfig, JwtConfig
from interlock_gateway.core.session import Role
from interlock_gateway.identity.oidc import issuer
from tls_bench import TlsBench, behind_tls, call, code_of

pytestmark = pytest.mark.usefixtures("_short_pauses")
STATUS = "/interlock.v1.AdminService/GetStatus"
OK, UNAUTHENTICATED = grpc.StatusCode.OK, grpc.StatusCode.UNAUTHENTICATED


@pytest.fixture
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(issuer, "LEAST_PAUSE_S", 0.2)


def issuer_of(made: Dex) -> JwtConfig:
    grants = (
        GrantConfig(claim="email", value=AGENT, roles=(Role.AGENT,)),
        GrantConfig(claim="email", value=OPERATOR, roles=(Role.OPERATOR,)),
    )
    return JwtConfig(
        name="dex", issuer=made.issuer, audience=(CLIENT,), principal_claim="email", grants=grants, refresh_s=3600
    )


@asynccontextmanager
async def gateway(directory: Path, made: Dex, front: Front = Front.NGHTTP2) -> AsyncIterator[TlsBench]:
    identity = IdentityConfig(jwt=(issuer_of(made),))
    async with behind_tls(directory, front, identity=identity, tls={"client_ca_file": None}) as at:
        yield at


@pytest.mark.req("AUTH-1", "AUTH-2")
@pytest.mark.parametrize("front", Front)
async def test_tokens_of_dex_say_who_calls(
    program: Callable[[str], Path], socket_directory: Path, front: Front
) -> None:
    async with dex(program("dex"), socket_directory) as made, gateway(socket_directory, made, front) as at:
        agent, operator = await made.token(AGENT), await made.token(OPERATOR)
        async with at.channel() as channel:
            assert await call(channel, token=agent) == "hello"
            assert (await asked(channel, STATUS, b"", token=operator)).code is OK
            refused = await asked(channel, STATUS, b"", token=agent)
            assert (refused.code, refused.reason) == (grpc.StatusCode.PERMISSION_DENIED, "ROLE_REQUIRED")
            # Not its session, for who would have the role.
            assert await code_of(channel, token=operator) is grpc.StatusCode.PERMISSION_DENIED
            for nobody in (await made.token(STRANGER), await made.token(AGENT, OTHER_CLIENT), agent[:-2], agent + "A"):
                assert await code_of(channel, token=nobody) is UNAUTHENTICATED
        assert at.made.ledger.names() == ["echo"]


@pytest.mark.req("AUTH-1")
async def test_dex_changes_its_keys_while_calls_run_and_none_is_lost(
    program: Callable[[str], Path], socket_directory: Path
) -> None:
    async with dex(program("dex"), socket_directory) as made, gateway(socket_directory, made) as at:
        old, ended = await made.token(AGENT), asyncio.Event()
        async with at.channel() as channel:
            assert await call(channel, token=old) == "hello"

            async def keep_calling() -> int:
                count = 0
                while not ended.is_set():
                    assert await call(channel, f"n{count}", token=old, session="kept") == f"n{count}"
                    count += 1
                return count

            calling = asyncio.create_task(keep_calling())
            await made.stop()
            # Nobody is there to be asked: keys that are known go on, for as long as is configured.
            assert await call(channel, token=old) == "hello"
            await made.start()
            new = await made.token(AGENT)
            ended.set()
            assert await calling > 0
            # Signed with a key that nobody here has seen: it is fetched, and the call waits for that.
            assert await call(channel, token=new) == "hello"
            # What was signed with a key that is gone counts no more.
            assert await code_of(channel, token=old) is UNAUTHENTICATED
        (known,) = at.made.gateway.rooms.entrance.issuers
        # Twice for keys, and perhaps once more for the one that is gone.
        assert known.fetched <= 3


@pytest.mark.req("AUTH-1")
async def test_a_gateway_starts_without_its_issuer_and_has_callers_come_again(
    program: Callable[[str], Path], socket_directory: Path
) -> None:
    async with dex(program("dex"), socket_directory) as made:
        token = await made.token(AGENT)
        await made.stop()
        async with gateway(socket_directory, made) as at, at.channel() as channel:
            refused = await asked(channel, STATUS, b"", token=token)
            assert (refused.code, refused.reason) == (grpc.StatusCode.UNAVAILABLE, "IDENTITY_UNAVAILABLE")
            await made.start()
            assert await call(channel, token=await made.token(AGENT)) == "hello"
            told = {part.name: part.message for part in at.made.gateway.rooms.entrance.remarks()}
            assert told["issuer dex"].startswith("keys fetched ")
