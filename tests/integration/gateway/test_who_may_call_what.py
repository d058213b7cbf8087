"""By which credential callers come in, and where (AUTH-1, AUTH-2); `test_isolation.py` has who may call what."""

import hashlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import grpc.aio
import pytest
from access_table import ROWS, asked, methods, path_of, row_of
from gateway_bench import Bench, bench
from interlock import Gateway
from interlock_gateway.config import IdentityConfig, TokenConfig
from interlock_gateway.core.session import Principal, Role
from interlock_gateway.errors import RequestError
from interlock_gateway.identity.access import check_access
from interlock_gateway.identity.authenticate import new_token
from interlock_gateway.transport.http2.listener import Http2Listener

Code = grpc.StatusCode
TOKENS = {role: new_token() for role in Role}
OTHER = new_token()
IDENTITY = IdentityConfig(
    tokens=(
        *(TokenConfig(principal=f"the {role}", sha256=digest, roles=(role,)) for role, (_, digest) in TOKENS.items()),
        TokenConfig(principal="another agent", sha256=OTHER[1]),
    )
)


@pytest.fixture
async def guarded(socket_directory: Path) -> AsyncIterator[Bench]:
    """A gateway that knows a token for each role, and one more agent's."""
    async with bench(socket_directory, identity=IDENTITY) as at:
        yield at


@pytest.fixture
async def tcp(guarded: Bench) -> AsyncIterator[grpc.aio.Channel]:
    async with grpc.aio.insecure_channel(guarded.gateway.endpoints.agents[1]) as channel:
        yield channel


@pytest.mark.req("SEC-7", "AUTH-2")
async def test_what_is_served_has_a_row_and_nothing_else_is(guarded: Bench) -> None:
    listeners = [one for one in guarded.gateway._listeners if isinstance(one, Http2Listener)]
    served = {path.decode() for one in listeners for path in one._intake.served}
    assert served == {path_of(method) for method in methods() if ROWS[row_of(method)].is_served}


def test_what_is_in_no_row_is_nobodys() -> None:
    everything = Principal("root", "token", frozenset(Role))
    for path in ("/interlock.v1.AdminService/Invented", "/interlock.v1.AdminService/getstatus", "", "/"):
        with pytest.raises(RequestError, match="this method is for: nobody"):
            check_access(everything, path)


@pytest.mark.req("AUTH-1", "AUTH-2")
async def test_the_agents_socket_has_no_admin_service_and_the_operators_socket_no_agent(guarded: Bench) -> None:
    status = "/interlock.v1.AdminService/GetStatus"
    call = "/interlock.v1.GatewayService/ListTools"
    async with grpc.aio.insecure_channel(guarded.gateway.endpoints.agents[0]) as agents:
        assert (await asked(agents, status, b"")).code is Code.UNIMPLEMENTED
        # Not even with an operator's token: this socket knows one principal.
        assert (await asked(agents, status, b"", token=TOKENS[Role.OPERATOR][0])).code is Code.UNIMPLEMENTED
        assert (await asked(agents, call, b"\n\x01s")).code is Code.OK
    async with grpc.aio.insecure_channel(guarded.gateway.endpoints.operators[0]) as operators:
        assert (await asked(operators, status, b"")).code is Code.OK
        assert (await asked(operators, call, b"\n\x01s")).reason == "ROLE_REQUIRED"
        assert (await asked(operators, call, b"\n\x01s", token=TOKENS[Role.AGENT][0])).reason == "ROLE_REQUIRED"


@pytest.mark.req("AUTH-1")
async def test_the_sockets_are_their_owners_alone(guarded: Bench) -> None:
    for address in (guarded.gateway.endpoints.agents[0], guarded.gateway.endpoints.operators[0]):
        assert os.stat(address.removeprefix("unix:")).st_mode & 0o777 == 0o600  # noqa: PTH116 - a socket, at hand


# White space around a field value is none of it (RFC 9110, 5.5), so a token with some behind it is no lookalike.
def lookalikes(token: str) -> list[str]:
    body = token.removeprefix("ilk_")
    flipped = body[:-1] + ("A" if body[-1] != "A" else "B")
    return [
        f"Bearer  {token}",
        f"Bearer {token[:-1]}",
        f"Bearer {token}A",
        f"Bearer ilk_{flipped}",
        f"Bearer ilk_{body.swapcase()}",
        f"Bearer ILK_{body}",
        f"Bearer {body}",
        f"Bearer {hashlib.sha256(token.encode()).hexdigest()}",
        f"Bearer {token},{token}",
        f"Basic {token}",
        f"Token {token}",
        token,
        "Bearer",
        "",
    ]


@pytest.mark.req("AUTH-1")
async def test_what_only_looks_like_a_token_is_refused(guarded: Bench, tcp: grpc.aio.Channel) -> None:
    del guarded
    path, token = "/interlock.v1.GatewayService/ListTools", TOKENS[Role.AGENT][0]
    assert (await asked(tcp, path, b"\n\x01s", token=token)).code is Code.OK
    assert (await asked(tcp, path, b"\n\x01s", authorization=f"bearer {token}")).code is Code.OK
    for header in lookalikes(token):
        assert (await asked(tcp, path, b"\n\x01s", authorization=header)).reason == "UNAUTHENTICATED", header
    twice = await asked(tcp, path, b"\n\x01s", authorization=f"Bearer {OTHER[0]}", token=token)
    assert twice.reason == "UNAUTHENTICATED"


@pytest.mark.req("AUTH-1")
async def test_without_a_token_nobody_gets_in_unless_the_configuration_says_so_outright(
    guarded: Bench, socket_directory: Path
) -> None:
    async with Gateway(guarded.gateway.endpoints.agents[1], plaintext=True) as nobody:
        with pytest.raises(Exception, match="UNAUTHENTICATED"):
            await nobody.session("s").call("echo", {"text": "x"})
    assert guarded.ledger.ran == []
    outright = IDENTITY.model_copy(update={"anonymous_agents_on_loopback": True})
    elsewhere = socket_directory / "elsewhere"
    elsewhere.mkdir()
    async with bench(elsewhere, identity=outright) as at:
        address = at.gateway.endpoints.agents[1]
        async with Gateway(address, plaintext=True) as anyone:
            assert (await anyone.session("s").call("echo", {"text": "x"})).text == "x"
        async with grpc.aio.insecure_channel(address) as channel:
            path = "/interlock.v1.AdminService/GetStatus"
            assert (await asked(channel, path, b"")).reason == "ROLE_REQUIRED"
            # A token that is sent must be right, and anonymous callers have no claim on anybody's session.
            call = "/interlock.v1.GatewayService/ListTools"
            assert (await asked(channel, call, b"\n\x01s", token="ilk_" + "x" * 43)).reason == "UNAUTHENTICATED"
            assert (await asked(channel, call, b"\n\x01s", token=OTHER[0])).reason == "NOT_YOUR_SESSION"
