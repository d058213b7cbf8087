"""POST requests of the plain kind, read and answered without h11, which takes longer for them than for all the rest.

A request is plain when nothing about it can be read in two ways: one host, one length, no encoding of transfer, no
upgrade, nothing after it. Whatever is not, however little, is h11's, which is strict in its own way.
"""

import asyncio
import re
from collections.abc import MutableMapping
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, RequestResponseCycle

from interlock_gateway.transport.http.listener import Impatient

MOST = 64 * 1024
"""A request that is longer comes in piece by piece, so that its sender is known before its body is here."""
_HEAD = re.compile(rb"POST (/[!-$&->@-~]*) HTTP/1\.1\r\n((?:[!#$%&'*+.^_`|~0-9A-Za-z-]+:[ \t]*[!-~][ -~\t]*\r\n)+)\r\n")
_LENGTH = re.compile(rb"[0-9]{1,8}")
_ODD = frozenset({b"transfer-encoding", b"expect", b"upgrade", b"te", b"trailer"})
Headers = list[tuple[bytes, bytes]]


class Posts(Impatient):
    """A connection. `_kept` is what has come and is not read: part of a request, or what follows the one in hand.

    `_whole` is at how many bytes a request is whole whose head was read.
    """

    _kept = b""
    _whole = 0

    def data_received(self, data: bytes) -> None:
        """Take what has come."""
        self._unset_keepalive_if_required()
        kept, self._kept = self._kept, b""
        data = kept + data if kept else data
        if self._in_hand() or len(data) < self._whole:
            self._keep(data)
            return
        self._whole = 0
        if self._is_between():
            self._begin(data)
        else:
            super().data_received(data)

    def on_response_complete(self) -> None:
        """Go on with what came meanwhile."""
        super().on_response_complete()
        kept, self._kept = self._kept, b""
        if kept and not self.transport.is_closing():
            self.data_received(kept)

    def _in_hand(self) -> bool:
        return isinstance(self.cycle, _Plain) and not self.cycle.response_complete

    def _is_between(self) -> bool:
        """Whether what comes now begins a request: h11 is in none, and has nothing left to read."""
        idle = self.conn.their_state is h11.IDLE and self.conn.our_state is h11.IDLE
        return idle and not self.conn.trailing_data[0] and self.limit_concurrency is None

    def _keep(self, data: bytes) -> None:
        self._kept = data
        if len(data) > MOST:
            self.flow.pause_reading()

    def _begin(self, data: bytes) -> None:
        read = _HEAD.match(data)
        headers = headers_of(read[2]) if read is not None else None
        length = plain_length(headers) if headers is not None else None
        if read is None or headers is None or length is None or read.end() + length > MOST:
            super().data_received(data)
        elif len(data) - read.end() < length:
            self._whole = read.end() + length
            self._keep(data)
        elif len(data) - read.end() > length:
            super().data_received(data)
        else:
            self._serve(read[1], headers, data[read.end() :])

    def _serve(self, path: bytes, headers: Headers, body: bytes) -> None:
        self.headers = headers
        self.scope = {
            "type": "http",
            "asgi": {"version": self.asgi_version, "spec_version": "2.3"},
            "http_version": "1.1",
            "server": self.server,
            "client": self.client,
            "scheme": self.scheme or "http",
            "method": "POST",
            "root_path": "",
            "path": path.decode(),
            "raw_path": path,
            "query_string": b"",
            "headers": headers,
            "state": {},
        }
        come = asyncio.Event()
        come.set()
        self.cycle = _Plain(
            scope=self.scope,
            conn=self.conn,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=False,
            default_headers=self.server_state.default_headers,
            message_event=come,
            on_response=self.on_response_complete,
        )
        self.cycle.body = bytearray(body)
        self.cycle.more_body = False
        task = self.loop.create_task(self.cycle.run_asgi(self.app))
        task.add_done_callback(self.tasks.discard)
        self.tasks.add(task)


class _Plain(RequestResponseCycle):
    """One request and its answer, whose head is sent with the first of its body."""

    _head = b""
    _chunked = False

    async def send(self, message: MutableMapping[str, Any]) -> None:  # type: ignore[override]  # as ASGI has it
        """Send a part of the answer."""
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if self.disconnected:
            return
        if message["type"] == "http.response.start":
            if self.response_started:
                raise RuntimeError("the answer has begun already")
            self.response_started = True
            self._head = self._begun(message["status"], [*self.default_headers, *message.get("headers", ())])
            return
        if not self.response_started or self.response_complete:
            raise RuntimeError("there is no answer of which this could be a part")
        self._write(message.get("body", b""), last=not message.get("more_body", False))

    def _begun(self, status: int, headers: Headers) -> bytes:
        self._chunked = not any(name.lower() == b"content-length" for name, _ in headers)
        lines = [b"HTTP/1.1 %d %b" % (status, STATUS_PHRASES[status])]
        lines += [b"%b: %b" % header for header in headers]
        if self._chunked:
            lines.append(b"transfer-encoding: chunked")
        head = b"\r\n".join(lines)
        if head.count(b"\n") != len(lines) - 1 or head.count(b"\r") != len(lines) - 1 or b"\0" in head:
            raise RuntimeError("a header of the answer cannot be sent")
        return head + b"\r\n\r\n"

    def _write(self, body: bytes, *, last: bool) -> None:
        head, self._head = self._head, b""
        if self._chunked:
            body = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
            body += b"0\r\n\r\n" if last else b""
        self.transport.write(head + body)
        if last:
            self.response_complete = True
            self.message_event.set()
            if not self.keep_alive:
                self.transport.close()
            self.on_response()


def headers_of(lines: bytes) -> Headers:
    """The headers of a head, names in lower case."""
    found = []
    for line in lines.split(b"\r\n")[:-1]:
        name, _, value = line.partition(b":")
        found.append((name.lower(), value.strip(b" \t")))
    return found


def plain_length(headers: Headers) -> int | None:
    """How long the body of a plain request is; nothing when the request is none."""
    length: bytes | None = None
    hosts = 0
    for name, value in headers:
        if name == b"content-length":
            if length is not None or _LENGTH.fullmatch(value) is None:
                return None
            length = value
        elif name == b"host":
            hosts += 1
        elif name in _ODD or (name == b"connection" and value.lower() != b"keep-alive"):
            return None
    return int(length) if length is not None and hosts == 1 else None
