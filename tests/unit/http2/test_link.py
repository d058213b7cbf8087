"""What a connection owes for what came is sent with what else is sent, and soon in any case."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from interlock_gateway.http2.link import Link
from ngh2 import Connection, Event, PingAcknowledged, PingReceived, Role, SettingsAcknowledged


class _Quiet(Link):
    """A server that answers nothing of itself."""

    def __init__(self) -> None:
        super().__init__(Role.SERVER, {})

    def on_event(self, event: Event) -> None:
        del event

    def on_lost(self) -> None:
        return


class _Peer:
    """The other end, read by read."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.http2 = Connection(Role.CLIENT)
        self.http2.initiate_connection({})
        self._reader = reader
        self._writer = writer

    def send(self) -> None:
        self._writer.write(self.http2.data_to_send())

    async def read(self) -> list[type[Event]]:
        """The kinds of what one read brings."""
        async with asyncio.timeout(10):
            self.http2.receive_data(await self._reader.read(65536))
        return [type(event) for event in self.http2.events()]


@asynccontextmanager
async def _connected() -> AsyncIterator[tuple[_Quiet, _Peer]]:
    """Both ends, once they have exchanged their settings."""
    ours, theirs = socket.socketpair()
    link = _Quiet()
    await asyncio.get_running_loop().create_unix_connection(lambda: link, sock=ours)
    reader, writer = await asyncio.open_unix_connection(sock=theirs)
    peer = _Peer(reader, writer)
    peer.send()
    while SettingsAcknowledged not in await peer.read():
        peer.send()
    peer.send()
    try:
        yield link, peer
    finally:
        link.abort()
        writer.close()
        await writer.wait_closed()


async def test_a_ping_is_answered_though_nothing_else_is_sent() -> None:
    async with _connected() as (_, peer):
        peer.http2.ping()
        peer.send()
        assert await peer.read() == [PingAcknowledged]


async def test_a_ping_is_answered_in_one_write_with_what_is_sent_next() -> None:
    async with _connected() as (link, peer):
        peer.http2.ping()
        link.data_received(peer.http2.data_to_send())
        link.http2.ping()
        link.flush_soon()
        assert await peer.read() == [PingAcknowledged, PingReceived]
