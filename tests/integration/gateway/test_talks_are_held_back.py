"""Who sends on a stream faster than it is read has to wait, and no other connection does; on both fronts."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import grpc.aio
import pytest
from interlock_gateway.config import Front
from interlock_gateway.core.session import Principal, Role
from interlock_gateway.core.trace import TraceContext
from interlock_gateway.identity.authenticate import Metadata
from interlock_gateway.identity.peer import Peer
from interlock_gateway.transport.grpc.endpoint import Served
from interlock_gateway.transport.grpc.server import GrpcioListener
from interlock_gateway.transport.http2.listener import Http2Listener
from waiting import a_moment

KIB = 1024
MESSAGE = b"x" * (64 * KIB)
MESSAGES = 1000
MOST_HELD = 24 * KIB * KIB
PATIENCE_S = 20.0


class Slow:
    """Reads nothing until it is let go, and then counts."""

    def __init__(self) -> None:
        self.released = asyncio.Event()

    async def talk(
        self,
        requests: AsyncIterator[bytes],
        principal: Principal | None,
        deadline_s: float | None,
        trace: TraceContext | None,
    ) -> AsyncGenerator[bytes, None]:
        del deadline_s, trace
        assert principal is not None
        yield b"hello"
        await self.released.wait()
        count = 0
        async for request in requests:
            count += len(request)
        yield str(count).encode()

    async def echo(self, raw: bytes, *_: object) -> bytes:
        return raw


def anybody(metadata: Metadata, peer: Peer) -> Principal:
    del metadata, peer
    return Principal("somebody", "token", frozenset({Role.AGENT}))


@pytest.mark.req("SDK-1", "REL-8")
@pytest.mark.parametrize("front", [Http2Listener, GrpcioListener], ids=list(Front))
async def test_a_sender_waits_for_a_reader(socket_directory: Path, front: Any) -> None:
    slow = Slow()
    served = {
        "/t/Talk": Served(talk=slow.talk, admit=anybody, most_bytes=KIB * KIB),
        "/t/Echo": Served(unary=slow.echo, admit=anybody),
    }
    listener = front(served, KIB * KIB)
    address = listener.listen(f"unix:{socket_directory}/t.sock", 0o600)
    await listener.start()
    try:
        own = (("grpc.use_local_subchannel_pool", 1),)  # channels to one address share a connection otherwise
        async with (
            grpc.aio.insecure_channel(address, options=own) as channel,
            grpc.aio.insecure_channel(address, options=own) as other,
        ):
            call: Any = channel.stream_stream("/t/Talk")()
            assert await asyncio.wait_for(call.read(), PATIENCE_S) == b"hello"
            sent = 0

            async def send() -> None:
                nonlocal sent
                for _ in range(MESSAGES):
                    await call.write(MESSAGE)
                    sent += len(MESSAGE)
                await call.done_writing()

            sending = asyncio.create_task(send())
            before = -1
            while before != sent:  # until it moves no more
                before = sent
                for _ in range(30):
                    await a_moment()
            assert 0 < sent < MOST_HELD
            echo: Any = other.unary_unary("/t/Echo")
            assert await asyncio.wait_for(echo(b"still there"), PATIENCE_S) == b"still there"
            slow.released.set()
            assert await asyncio.wait_for(call.read(), PATIENCE_S) == str(MESSAGES * len(MESSAGE)).encode()
            await sending
    finally:
        slow.released.set()
        with suppress(TimeoutError):
            await asyncio.wait_for(listener.stop(1), PATIENCE_S)
