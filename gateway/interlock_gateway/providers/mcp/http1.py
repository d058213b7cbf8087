"""HTTP/1.1 to one server, on kept connections: as much of it as MCP needs. Answers are read by llhttp (`httptools`).

A whole HTTP client takes longer for a request than the rest of a call together. What is read here is handed on in the
turn of the loop in which it comes, and a connection is free again the moment its answer has ended.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Protocol, cast
from urllib.parse import urlsplit

import httptools

from interlock_gateway.providers.mcp.link import LinkError
from interlock_gateway.providers.tls import ProviderTls, trouble

CONNECT_S = 5.0
KEEP_S = 4.0
"""How long an idle connection is kept: less than the five seconds after which many servers close theirs."""
MAX_IDLE = 64
MAX_HEAD = 64 * 1024
MOST_HEADS, LONGEST_HEAD = 256, 4096
"""Heads of requests that are remembered, and of how many bytes each: most are sent again and again."""
PIECES = 1000
"""Into how many pieces the bytes of one turn of the loop may be cut before those that follow have to wait."""
PIECES_A_SECOND = 50_000
"""How many pieces count as a second then: it takes a small part of it to read them."""
"""What may come of an answer that is none of its body: headers, trailers, and what stands around chunks."""
FIRST_ANSWER = 200
"""What has a lower status comes before the answer."""
SWITCHING = 101
_EMPTY = frozenset({204, 304})
Headers = Mapping[bytes, bytes]


class BadAnswerError(Exception):
    """What came is not HTTP as it should be; the message says what, in our own words."""


class Sink(Protocol):
    """Takes one answer, as it comes. None of these may raise."""

    def head(self, status: int, headers: Headers) -> None:
        """Its status and headers, names in lower case; what is sent several times is joined with a comma."""
        ...

    def data(self, chunk: bytes) -> None:
        """Some of its body."""
        ...

    def end(self) -> None:
        """It has ended."""
        ...

    def failed(self, why: str) -> None:
        """It will not end: the connection was lost, or what came cannot be read."""
        ...


class Origin:
    """The server of a URL, and the connections to it. `tls` is for `https`."""

    def __init__(self, url: str, tls: ProviderTls | None) -> None:
        parts = urlsplit(url)
        self._host = parts.hostname or ""
        self._port = parts.port or (443 if parts.scheme == "https" else 80)
        self._tls = tls
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._netloc = parts.netloc.rpartition("@")[2]
        self._idle: list[Wire] = []
        self._wires: set[Wire] = set()
        self._closed = False
        self._heads: dict[tuple[object, ...], bytes] = {}

    async def send(self, method: str, headers: Mapping[str, str], body: bytes, sink: Sink) -> "Wire":
        """Send a request, whose answer goes to `sink`. Raises `LinkError`: nothing was sent."""
        head = self._head(method, headers)
        length = b"Content-Length: %d\r\n" % len(body) if body or method == "POST" else b""
        wire = self._kept() or await self._connected()
        wire.send(b"%b%b\r\n%b" % (head, length, body), sink)
        return wire

    def _head(self, method: str, headers: Mapping[str, str]) -> bytes:
        """The head of a request but for its length. Raises `LinkError`."""
        key = (method, *headers.items())
        known = self._heads.get(key)
        if known is not None:
            return known
        lines = [f"{method} {self._target} HTTP/1.1", f"Host: {self._netloc}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        head = "\r\n".join(lines)
        if head.count("\n") != len(lines) - 1 or head.count("\r") != len(lines) - 1 or "\0" in head:
            raise LinkError("a header of it cannot be sent", unsent=True)
        made = head.encode("latin-1", "replace") + b"\r\n"
        if len(made) <= LONGEST_HEAD:
            if len(self._heads) >= MOST_HEADS:
                self._heads.clear()
            self._heads[key] = made
        return made

    async def close(self) -> None:
        """Close every connection."""
        self._closed = True
        for wire in tuple(self._wires):
            wire.abort()
        await asyncio.sleep(0)  # in which they are closed

    def free(self, wire: "Wire") -> None:
        """`wire` has nothing more to do."""
        if self._closed or len(self._idle) >= MAX_IDLE:
            wire.abort()
        else:
            self._idle.append(wire)

    def gone(self, wire: "Wire") -> None:
        """`wire` is closed."""
        self._wires.discard(wire)
        with suppress(ValueError):
            self._idle.remove(wire)

    def _kept(self) -> "Wire | None":
        now = asyncio.get_running_loop().time()
        while self._idle:
            wire = self._idle.pop()
            if now - wire.free_since < KEEP_S and wire.usable:
                return wire
            wire.abort()
        return None

    async def _connected(self) -> "Wire":
        if self._closed:
            raise LinkError("the connection is closed", unsent=True)
        try:
            async with asyncio.timeout(CONNECT_S):
                wire = await self._opened()
        except (OSError, TimeoutError) as error:
            raise LinkError(f"connecting failed: {trouble(error, self._tls)}", unsent=True) from None
        self._wires.add(wire)
        return wire

    async def _opened(self) -> "Wire":
        loop = asyncio.get_running_loop()
        if self._tls is None:
            return (await loop.create_connection(lambda: Wire(self), self._host, self._port))[1]
        context = await asyncio.to_thread(self._tls.context)
        transport, wire = await loop.create_connection(
            lambda: Wire(self), self._host, self._port, ssl=context, server_hostname=self._tls.server_name
        )
        try:
            self._tls.check(transport.get_extra_info("ssl_object"))
        except OSError:
            wire.abort()
            raise
        return wire


class Wire(asyncio.Protocol):
    """One connection: a request and its answer at a time."""

    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        self._transport: asyncio.Transport | None = None
        self._sink: Sink | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._unread = 0
        self._pieces = 0
        self._in_head = True
        self._given: list[tuple[bytes, bytes]] = []
        self._size = 0
        self._until_closed = False
        self._why = ""
        self._loop = asyncio.get_running_loop()
        self.free_since = 0.0

    @property
    def usable(self) -> bool:
        """Whether a request can be sent on it."""
        return self._transport is not None and not self._transport.is_closing()

    def send(self, request: bytes, sink: Sink) -> None:
        """Send a request; its answer goes to `sink`."""
        assert self._transport is not None
        self._sink = sink
        self._transport.write(request)

    def abort(self) -> None:
        """Close it now, whatever is under way."""
        if self._transport is not None:
            self._transport.abort()

    def let_end(self, within_s: float, sink: Sink) -> None:
        """Close it unless the answer that goes to `sink` ends within so many seconds."""
        self._loop.call_later(within_s, self._end_late, sink)

    def pause(self, seconds: float) -> None:
        """Read nothing more for so long."""
        transport = self._transport
        if transport is not None and not transport.is_closing() and transport.is_reading():
            transport.pause_reading()
            self._loop.call_later(seconds, self._resume)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It is there."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Bytes came."""
        if self._sink is None:
            self.abort()  # nothing was asked
            return
        self._unread += len(data)
        self._pieces = 0
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._broken("it answers with another protocol")
        except httptools.HttpParserCallbackError:
            if not self._why:  # our own mistake
                raise
            self._broken(self._why)
        except httptools.HttpParserError as error:
            self._broken(f"its answer is not HTTP as it should be: {error}")
        if self._unread > MAX_HEAD:
            self._broken("its answer has too many headers")
        if self._pieces > PIECES:
            self.pause(self._pieces / PIECES_A_SECOND)

    def eof_received(self) -> None:
        """The server closed its side: that is how an answer without a length ends."""
        if self._sink is not None and self._until_closed:
            self._ended(keeps=False)

    def connection_lost(self, exc: Exception | None) -> None:
        """It is closed."""
        del exc
        self._transport = None
        self._fail("the connection was lost")
        self._origin.gone(self)

    # -- what the parser says --

    def on_message_begin(self) -> None:
        """An answer begins, or what comes before it. One is asked for at a time."""
        if self._sink is None:
            raise self._refused("it answers what was not asked")
        self._pieces += 1
        self._in_head, self._until_closed = True, False
        self._given, self._size = [], 0

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header, or a trailer, which is of no use."""
        if self._in_head:
            self._size += len(name) + len(value)
            if self._size > MAX_HEAD:
                raise self._refused("its answer has too many headers")
            self._given.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """The head is there."""
        status = self._parser.get_status_code()
        if status == SWITCHING:
            raise self._refused("it answers with another protocol")
        if status < FIRST_ANSWER:
            return
        headers = _joined(self._given)
        if headers.get(b"content-encoding", b"identity").lower() != b"identity":
            raise self._refused("it answers compressed, which it was not asked to")
        if headers.get(b"transfer-encoding", b"chunked").lower() != b"chunked":
            raise self._refused("its answer has no clear end")
        self._in_head, self._unread = False, 0
        ends = b"transfer-encoding" in headers or b"content-length" in headers or status in _EMPTY
        self._until_closed = not ends
        assert self._sink is not None
        self._sink.head(status, headers)

    def on_body(self, body: bytes) -> None:
        """Some of the body."""
        self._unread = 0
        self._pieces += 1
        if self._sink is not None:
            self._sink.data(body)

    def on_message_complete(self) -> None:
        """The answer has ended, or what came before it."""
        self._unread = 0
        if self._parser.get_status_code() >= FIRST_ANSWER:
            self._ended(keeps=self._parser.should_keep_alive() and not self._until_closed)

    # -- the end of an answer --

    def _refused(self, why: str) -> BadAnswerError:
        # The parser says no more than that a callback failed.
        self._why = why
        return BadAnswerError(why)

    def _broken(self, why: str) -> None:
        self._fail(why)
        self.abort()

    def _fail(self, why: str) -> None:
        sink, self._sink = self._sink, None
        if sink is not None:
            sink.failed(why)

    def _ended(self, *, keeps: bool) -> None:
        sink, self._sink = self._sink, None
        if not keeps or not self.usable:
            self.abort()
        else:
            self.free_since = self._loop.time()
            self._origin.free(self)
        if sink is not None:
            sink.end()

    def _end_late(self, sink: Sink) -> None:
        if self._sink is sink:
            self.abort()

    def _resume(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()


def _joined(given: list[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = {}
    for name, value in given:
        found[name] = found[name] + b", " + value if name in found else value
    return found
