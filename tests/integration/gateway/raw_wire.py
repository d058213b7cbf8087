"""A client that speaks HTTP/2 frame by frame, and so can say what no gRPC client says."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from interlock_gateway.http2.messages import framed
from ngh2 import (
    Connection,
    ConnectionClosed,
    DataReceived,
    GoAwayReceived,
    ResponseReceived,
    Role,
    StreamClosed,
    TrailersReceived,
)

CALL_TOOL = b"/interlock.v1.GatewayService/CallTool"
HEAD = {
    b":method": b"POST",
    b":scheme": b"http",
    b":path": CALL_TOOL,
    b":authority": b"localhost",
    b"content-type": b"application/grpc",
    b"te": b"trailers",
}


@dataclass
class Answered:
    """What came back on one stream, its trailers among its fields."""

    fields: dict[bytes, bytes] = field(default_factory=dict)
    data: bytes = b""
    closed_with: int | None = None

    @property
    def status(self) -> int:
        return int(self.fields[b"grpc-status"])


class Wire:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, settings: dict[int, int]) -> None:
        self.http2 = Connection(Role.CLIENT)
        self.writer = writer
        self.answers: dict[int, Answered] = {}
        self.goaway: int | None = None
        self.ended = False
        self._reader = reader
        self.http2.initiate_connection(settings)
        self.flush()

    def flush(self) -> None:
        """Send what is queued."""
        self.writer.write(self.http2.data_to_send())

    def begin(self, *, end: bool = False, **changed: bytes | None) -> int:
        """Begin a stream with a request's head, `changed`; `None` leaves a field out."""
        given = {name.replace("_", "-").encode(): value for name, value in changed.items()}
        pseudo = {b":" + name: value for name, value in given.items() if b":" + name in HEAD}
        fields = HEAD | pseudo | {name: value for name, value in given.items() if b":" + name not in HEAD}
        sent = [(name, value) for name, value in fields.items() if value is not None]
        stream_id = self.http2.send_request(sent, end_stream=end)
        self.answers[stream_id] = Answered()
        return stream_id

    async def ask(self, *body: bytes, **changed: bytes | None) -> Answered:
        """Make a whole call, and wait for its end."""
        stream_id = self.begin(end=not body, **changed)
        for number, part in enumerate(body):
            self.http2.send_data(stream_id, part, end_stream=number == len(body) - 1)
        self.flush()
        return await self.answered(stream_id)

    async def answered(self, stream_id: int) -> Answered:
        """The answer on a stream, once it has ended."""
        answer = self.answers[stream_id]
        while answer.closed_with is None and b"grpc-status" not in answer.fields and not self.ended:
            await self.read()
        return answer

    async def until_closed(self) -> None:
        """Read until the gateway closes the connection."""
        while not self.ended:
            await self.read()

    async def read(self) -> None:
        """Take in some of what comes."""
        async with asyncio.timeout(20):
            try:
                data = await self._reader.read(65_536)
            except ConnectionError:
                data = b""
        if not data:
            self.ended = True
            return
        self.http2.receive_data(data)
        self._note(self.http2.events())
        self.flush()

    def _note(self, events: Iterable[Any]) -> None:
        for event in events:
            match event:
                case ResponseReceived(stream_id, headers, _) | TrailersReceived(stream_id, headers):
                    self.answers[stream_id].fields |= dict(headers)
                case DataReceived(stream_id, data, _):
                    self.answers[stream_id].data += data
                case StreamClosed(stream_id, code, _) if stream_id in self.answers:
                    self.answers[stream_id].closed_with = code
                case GoAwayReceived(_, code, _):
                    self.goaway = code
                case ConnectionClosed():
                    self.ended = True


@asynccontextmanager
async def wired(address: str, settings: dict[int, int] | None = None) -> AsyncIterator[Wire]:
    """A connection to an address that is listened on."""
    if address.startswith("unix:"):
        reader, writer = await asyncio.open_unix_connection(address.removeprefix("unix:"))
    else:
        host, _, port = address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
    try:
        yield Wire(reader, writer, settings or {})
    finally:
        writer.close()


def message(raw: bytes) -> bytes:
    """`raw` as a message of gRPC."""
    return framed(raw)
