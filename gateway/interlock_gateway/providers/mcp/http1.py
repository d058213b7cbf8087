"""HTTP/1.1 to one server, on kept connections: as much of it as MCP needs, read strictly.

A library's client takes longer for a request than the rest of a call together. What is read here is handed on in the
turn of the loop in which it comes, and a connection is free again the moment its answer has ended.
"""

import asyncio
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Protocol, cast
from urllib.parse import urlsplit

from interlock_gateway.providers.mcp.link import LinkError
from interlock_gateway.providers.tls import ProviderTls, trouble

CONNECT_S = 5.0
KEEP_S = 4.0
"""How long an idle connection is kept: less than the five seconds after which many servers close theirs."""
MAX_IDLE = 64
MAX_HEAD = 64 * 1024
MAX_CHUNK_LINE = 1024
_STATUS = re.compile(rb"HTTP/1\.([01]) ([1-5][0-9]{2})(?: [^\r\n]*)?")
_NAME = re.compile(rb"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?")
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

    async def send(self, method: str, headers: Mapping[str, str], body: bytes, sink: Sink) -> "Wire":
        """Send a request, whose answer goes to `sink`. Raises `LinkError`: nothing was sent."""
        lines = [f"{method} {self._target} HTTP/1.1", f"Host: {self._netloc}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        if body or method == "POST":
            lines.append(f"Content-Length: {len(body)}")
        head = "\r\n".join(lines)
        if head.count("\n") != len(lines) - 1 or head.count("\r") != len(lines) - 1 or "\0" in head:
            raise LinkError("a header of it cannot be sent", unsent=True)
        wire = self._kept() or await self._connected()
        wire.send(head.encode("latin-1", "replace") + b"\r\n\r\n" + body, sink)
        return wire

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
            raise LinkError(f"it cannot be reached: {trouble(error, self._tls)}", unsent=True) from None
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
        self._rest = b""
        self._at = 0
        self._left = 0
        self._reading = self._read_head
        self._keeps = True
        self._loop = asyncio.get_running_loop()
        self.free_since = 0.0

    @property
    def usable(self) -> bool:
        """Whether a request can be sent on it."""
        return self._transport is not None and not self._transport.is_closing()

    def send(self, request: bytes, sink: Sink) -> None:
        """Send a request; its answer goes to `sink`."""
        assert self._transport is not None
        self._sink, self._reading, self._keeps = sink, self._read_head, True
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
        # What was read is cut off once for all that came: cut off each time, many small chunks would take for ever.
        self._rest, self._at = self._rest[self._at :] + data if self._at < len(self._rest) else data, 0
        try:
            while self._at < len(self._rest) and self._sink is not None and self._reading():
                pass
        except BadAnswerError as error:
            self._fail(str(error))
            self.abort()

    def eof_received(self) -> None:
        """The server closed its side: that is how an answer without a length ends."""
        if self._sink is not None and self._reading == self._read_until_closed:
            self._ended()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is closed."""
        del exc
        self._transport = None
        self._fail("the connection was lost")
        self._origin.gone(self)

    def _fail(self, why: str) -> None:
        sink, self._sink = self._sink, None
        if sink is not None:
            sink.failed(why)

    def _end_late(self, sink: Sink) -> None:
        if self._sink is sink:
            self.abort()

    def _resume(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def _read_head(self) -> bool:
        end = self._rest.find(b"\r\n\r\n", self._at)
        if end < 0:
            if len(self._rest) - self._at > MAX_HEAD:
                raise BadAnswerError("its answer has too many headers")
            return False
        head, self._at = self._rest[self._at : end], end + 4
        first, *lines = head.split(b"\r\n")
        found = _STATUS.fullmatch(first)
        if found is None or len(head) > MAX_HEAD:
            raise BadAnswerError("it does not speak HTTP/1.1")
        status, headers = int(found[2]), _headers(lines)
        if status < 200:  # noqa: PLR2004 - what comes before the answer
            if status == 101:  # noqa: PLR2004 - another protocol, which nobody asked for
                raise BadAnswerError("it answers with another protocol")
            return True
        self._keeps = found[1] == b"1" and b"close" not in headers.get(b"connection", b"").lower()
        self._begin_body(status, headers)
        assert self._sink is not None
        self._sink.head(status, headers)
        if self._reading == self._read_sized and not self._left:
            self._ended()
        return True

    def _begin_body(self, status: int, headers: Headers) -> None:
        coding, length = headers.get(b"transfer-encoding"), headers.get(b"content-length")
        if headers.get(b"content-encoding", b"identity").lower() != b"identity":
            raise BadAnswerError("it answers compressed, which it was not asked to")
        if status in _EMPTY:
            self._reading, self._left = self._read_sized, 0
        elif coding is not None:
            if coding.lower() != b"chunked" or length is not None:
                raise BadAnswerError("its answer has no clear end")
            self._reading = self._read_chunk_line
        elif length is not None:
            if not length.isdigit() or len(length) > 15:  # noqa: PLR2004 - far more than is read
                raise BadAnswerError("its answer has no clear length")
            self._reading, self._left = self._read_sized, int(length)
        else:
            self._reading, self._keeps = self._read_until_closed, False

    def _read_sized(self) -> bool:
        self._pass_on()
        if not self._left:
            self._ended()
        return True

    def _read_until_closed(self) -> bool:
        self._left = len(self._rest) - self._at
        self._pass_on()
        return True

    def _read_chunk_line(self) -> bool:
        line = self._line()
        if line is None:
            return False
        found = _SIZE.fullmatch(line)
        if found is None:
            raise BadAnswerError("its answer is not chunked as it should be")
        self._left = int(found[1], 16)
        self._reading = self._read_chunk if self._left else self._read_trailers
        return True

    def _read_chunk(self) -> bool:
        if self._left:
            self._pass_on()
            return True
        if len(self._rest) - self._at < 2:  # noqa: PLR2004 - the line break behind it
            return False
        if not self._rest.startswith(b"\r\n", self._at):
            raise BadAnswerError("its answer is not chunked as it should be")
        self._at += 2
        self._reading = self._read_chunk_line
        return True

    def _read_trailers(self) -> bool:
        line = self._line()
        if line is None:
            return False
        if not line:
            self._ended()
        return True

    def _line(self) -> bytes | None:
        end = self._rest.find(b"\r\n", self._at, self._at + MAX_CHUNK_LINE + 2)
        if end < 0:
            if len(self._rest) - self._at > MAX_CHUNK_LINE + 1:
                raise BadAnswerError("its answer is not chunked as it should be")
            return None
        line, self._at = self._rest[self._at : end], end + 2
        return line

    def _pass_on(self) -> None:
        part = self._rest[self._at : self._at + self._left]
        self._at += len(part)
        self._left -= len(part)
        assert self._sink is not None
        self._sink.data(part)

    def _ended(self) -> None:
        sink, self._sink = self._sink, None
        if not self._keeps or self._at < len(self._rest) or not self.usable:
            self.abort()
        else:
            self.free_since = self._loop.time()
            self._origin.free(self)
        if sink is not None:
            sink.end()


def _headers(lines: list[bytes]) -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = {}
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon or _NAME.fullmatch(name) is None or b"\0" in value or b"\n" in value or b"\r" in value:
            raise BadAnswerError("its answer has headers that cannot be read")
        key, text = name.lower(), value.strip(b" \t")
        if key in found:
            if key == b"content-length" and found[key] != text:
                raise BadAnswerError("its answer has no clear length")
            text = text if key == b"content-length" else found[key] + b", " + text
        found[key] = text
    return found
