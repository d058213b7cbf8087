"""What the gateway holds for its clients: nothing for who is nobody known, and for one no more than their share."""

from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from gateway_bench import Bench, bench
from interlock.v1 import call_pb2, gateway_service_pb2
from interlock_gateway.config import IdentityConfig, TokenConfig
from interlock_gateway.http2.status import Status
from interlock_gateway.identity.authenticate import new_token
from interlock_gateway.transport.http2 import connection as http2_connection
from interlock_gateway.transport.http2 import intake
from raw_wire import Wire, message, wired

ECHO = gateway_service_pb2.CallToolRequest(
    call=call_pb2.ToolCall(session_id="s", tool="echo", input=b'{"text":"x"}')
).SerializeToString()
LARGEST = 5 * 1024 * 1024
WATCH, CHECK = b"/grpc.health.v1.Health/Watch", b"/grpc.health.v1.Health/Check"


@pytest.mark.req("SEC-7", "AUTH-1")
async def test_who_is_nobody_known_is_refused_before_their_request_is_there(socket_directory: Path) -> None:
    token, digest = new_token()
    identity = IdentityConfig(tokens=(TokenConfig(principal="agent", sha256=digest),))
    async with bench(socket_directory, identity=identity) as at, wired(at.gateway.endpoints.agents[1]) as wire:
        for authorization in (None, b"Bearer nothing"):
            stream_id = wire.begin(authorization=authorization)
            wire.flush()
            answer = await wire.answered(stream_id)
            assert answer.status == Status.UNAUTHENTICATED
            assert b"grpc-status-details-bin" in answer.fields
        answer = await wire.ask(message(ECHO), authorization=b"Bearer " + token.encode())
        assert answer.status == Status.OK


def begin_large(wire: Wire, count: int) -> list[int]:
    """Begin requests of the largest size, of which the last byte is missing."""
    streams = []
    for _ in range(count):
        streams.append(stream_id := wire.begin())
        wire.http2.send_data(stream_id, message(b"x" * LARGEST)[:-1])
    wire.flush()
    return streams


@pytest.mark.req("SEC-7")
async def test_what_one_connection_leaves_half_sent_does_not_keep_others_out(at: Bench) -> None:
    async with wired(at.gateway.endpoints.agents[0]) as greedy, wired(at.gateway.endpoints.agents[0]) as other:
        streams = begin_large(greedy, 10)
        while not any(greedy.answers[stream_id].fields for stream_id in streams):
            await greedy.read()
        refused = [greedy.answers[one].status for one in streams if greedy.answers[one].fields]
        assert set(refused) == {Status.RESOURCE_EXHAUSTED}
        stream_id = other.begin()
        other.http2.send_data(stream_id, message(ECHO)[:-1])
        other.flush()
        other.http2.send_data(stream_id, message(ECHO)[-1:], end_stream=True)
        other.flush()
        assert (await other.answered(stream_id)).status == Status.OK


async def test_what_anybody_may_ask_is_small(at: Bench) -> None:
    async with wired(at.gateway.endpoints.agents[0]) as wire:
        assert (await wire.ask(message(b"x" * 2000)[:5], path=CHECK)).status == Status.RESOURCE_EXHAUSTED
        assert (await wire.ask(message(b""), path=CHECK)).status == Status.OK


async def test_of_what_anybody_may_ask_one_connection_has_so_much_under_way(
    at: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http2_connection, "ANYBODYS_CALLS", 2)
    async with wired(at.gateway.endpoints.agents[0]) as wire:
        watches = [wire.begin(path=WATCH) for _ in range(2)]
        wire.flush()
        assert (await wire.ask(message(b""), path=CHECK)).status == Status.RESOURCE_EXHAUSTED
        assert (await wire.ask(message(ECHO))).status == Status.OK
        wire.http2.reset_stream(watches[0])
        wire.flush()
        assert (await wire.ask(message(b""), path=CHECK)).status == Status.OK


async def test_one_connection_too_many_is_closed_and_those_before_it_are_served(
    at: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = at.gateway.endpoints.agents[0]
    async with wired(address) as first:
        assert (await first.ask(message(ECHO))).status == Status.OK
        monkeypatch.setattr(intake, "CONNECTIONS", 1)
        async with wired(address) as second:
            await second.until_closed()
        assert (await first.ask(message(ECHO))).status == Status.OK


@pytest.mark.req("AUTH-1", "REL-9")
async def test_who_connects_and_is_nobody_makes_room_for_those_who_come_later(
    at: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "CONNECTIONS", 3)
    address = at.gateway.endpoints.agents[0]
    async with wired(address) as known, wired(address) as stranger, wired(address) as asking:
        assert (await known.ask(message(ECHO))).status == Status.OK
        # What anybody may ask makes nobody known.
        assert (await asking.ask(message(b""), path=CHECK)).status == Status.OK
        async with wired(address) as first:
            await stranger.until_closed()
            assert (await first.ask(message(ECHO))).status == Status.OK
            async with wired(address) as second:
                await asking.until_closed()
                assert (await second.ask(message(ECHO))).status == Status.OK
                assert (await known.ask(message(ECHO))).status == Status.OK


@pytest.mark.req("AUTH-1", "REL-9")
async def test_one_principal_with_every_connection_keeps_nobody_out(
    socket_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "CONNECTIONS", 4)
    (token, digest), (other, other_digest) = new_token(), new_token()
    tokens = (TokenConfig(principal="greedy", sha256=digest), TokenConfig(principal="other", sha256=other_digest))
    greedy = b"Bearer " + token.encode()
    async with AsyncExitStack() as stack:
        at = await stack.enter_async_context(bench(socket_directory, identity=IdentityConfig(tokens=tokens)))
        address = at.gateway.endpoints.agents[1]
        theirs = []
        for _ in range(4):
            theirs.append(wire := await stack.enter_async_context(wired(address)))
            assert (await wire.ask(message(ECHO), authorization=greedy)).status == Status.OK
        async with wired(address) as wire:
            await theirs[3].until_closed()
            echo = gateway_service_pb2.CallToolRequest.FromString(ECHO)
            echo.call.session_id = "another"
            asked = await wire.ask(message(echo.SerializeToString()), authorization=b"Bearer " + other.encode())
            assert asked.status == Status.OK
            assert (await theirs[0].ask(message(ECHO), authorization=greedy)).status == Status.OK


async def leave_one_unread(wire: Wire) -> None:
    """Make a call whose answer has no room."""
    stream_id = wire.begin()
    wire.http2.send_data(stream_id, message(ECHO), end_stream=True)
    wire.flush()
    while not wire.answers[stream_id].fields:
        await wire.read()


async def test_when_much_is_unread_those_who_left_it_are_refused_and_others_are_not(
    at: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http2_connection, "ALL_UNREAD_BYTES", 1)
    monkeypatch.setattr(http2_connection, "UNREAD_SHARE_BYTES", 1)
    address = at.gateway.endpoints.agents[0]
    async with wired(address) as other, wired(address, {4: 0}) as idle:
        await leave_one_unread(idle)
        assert (await idle.ask(message(ECHO))).status == Status.RESOURCE_EXHAUSTED
        assert (await other.ask(message(ECHO))).status == Status.OK


async def test_who_answers_pings_and_takes_nothing_of_what_waits_is_disconnected(
    at: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interlock_gateway.http2.link.FIRST_WORDS_S", 0.05)
    monkeypatch.setattr("interlock_gateway.http2.link.QUIET_S", 0.05)
    async with wired(at.gateway.endpoints.agents[0], {4: 0}) as wire:
        await leave_one_unread(wire)
        await wire.until_closed()
    async with wired(at.gateway.endpoints.agents[0]) as wire:
        assert (await wire.ask(message(ECHO))).status == Status.OK
