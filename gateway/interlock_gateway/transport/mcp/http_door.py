"""One TCP address of MCP: its connections, and the application behind them once the first request has come.

Connections are accepted here and not by uvicorn, which would keep the certificate that it began with.
"""

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from interlock_gateway.identity.authenticate import Authenticator
from interlock_gateway.identity.peer import Peer
from interlock_gateway.transport.http.listener import LAST_WORDS_S, Impatience, http_config
from interlock_gateway.transport.http2.connection import ServerConnection
from interlock_gateway.transport.http2.elsewhere import GRPC_IS_ELSEWHERE, PREFACE
from interlock_gateway.transport.http2.intake import Intake
from interlock_gateway.transport.mcp.browsers import Browsers
from interlock_gateway.transport.mcp.opened import failed, succeeded
from interlock_gateway.transport.mcp.parts import SurfaceParts
from interlock_gateway.transport.tls.connected import connected_peer
from interlock_gateway.transport.tls.server_tls import ServerTls

if TYPE_CHECKING:
    from interlock_gateway.transport.mcp.heads import Head
    from interlock_gateway.transport.mcp.http import McpHttp
    from interlock_gateway.transport.mcp.http_host import HttpHost
    from interlock_gateway.transport.mcp.surface import Surface

HANDSHAKE_S = 10.0
GOODBYE_S = 5.0
MOST_HEAD = 64 * 1024
"""What may come of a request that is none of its body: its head, trailers, and what stands around chunks."""
MOST_QUEUED = 100
"""Requests that may wait on one connection for the answers to those before them: what is read of them is held."""
UNREAD_S = 5.0
"""After how long a client that does not read its answers has to make room for others, when there is none."""
NO_ROOM_S = 0.2
"""How long nobody is let in when the process has no room for another connection."""
PEER, HEAD, REPLY = "interlock.peer", "interlock.head", "interlock.reply"
"""Where a request's ASGI scope holds the other end of its connection, what is known of its headers, and how it is
answered in one piece."""
_log = logging.getLogger(__name__)


class _Connection(Impatience, HttpToolsProtocol):
    """A connection that tells its requests who is at its other end. `idle_since` says since when nothing was asked.

    Requests are read by llhttp, which bounds no head.
    """

    idle_since = 0.0
    unread_since: float | None = None
    """Since when more was written than the client has read; nothing when it reads."""
    peer: Peer
    _unread = 0
    _spoken = False
    _other: ServerConnection | None = None
    _running: RequestResponseCycle | None = None
    _reading = False
    _unbegun: RequestResponseCycle | None = None
    _said: list[tuple[bytes, bytes]]
    _hosts = 0
    _known: "tuple[list[tuple[bytes, bytes]], Head] | None" = None

    def __init__(self, config: Config, state: ServerState, host: "Callable[[], McpHttp | None]") -> None:
        super().__init__(config, state, {}, asyncio.get_running_loop())
        self._host = host

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        """Begin to answer a request, once all is read that has come: most come as a whole."""
        del app
        self._running = cycle
        if self._reading:
            self._unbegun = cycle
        else:
            self._begin(cycle)

    def _begin(self, cycle: RequestResponseCycle) -> None:
        host, whole = self._host(), not cycle.more_body and not cycle.waiting_for_100_continue
        app: Any = None
        if host is not None and whole and HEAD in cycle.scope:
            app = host.at_once(cast("Scope", cycle.scope), bytes(cycle.body))
        super()._start_asgi_task(cycle, app or self.app)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the request that is under way: uvicorn tells the newest, which may wait behind it."""
        self.pipeline.clear()
        super().connection_lost(exc)
        if self._other is not None:
            self._other.connection_lost(exc)
        if self._running is not None and not self._running.response_complete:
            self._running.disconnected = True
            self._running.message_event.set()

    def data_received(self, data: bytes) -> None:
        """Read what has come."""
        if self._other is not None or (not self._spoken and data.startswith(PREFACE)):
            self._hear_other(data)
            return
        self._spoken = True
        self._unread += len(data)
        self._reading = True
        super().data_received(data)
        self._reading = False
        if (cycle := self._unbegun) is not None:
            self._unbegun = None
            if self.transport.is_closing():
                cycle.response_complete = True  # it was answered with what was said of what came behind it
            else:
                self._begin(cycle)
        if self._unread > MOST_HEAD:
            self.transport.abort()

    def send_400_response(self, msg: str) -> None:
        """Refuse what cannot be read, unless that would be taken for the answer to a request before it."""
        before = self._running
        if before is None or before is self._unbegun or before.response_complete or _arrives(before):
            super().send_400_response(msg)
        else:
            self.transport.abort()

    def _hear_other(self, data: bytes) -> None:
        """Read what comes in HTTP/2: who calls over gRPC is told where to, in words that such clients show."""
        if self._other is None:
            self._other = ServerConnection(Intake({}, 0, 0, nothing_here=GRPC_IS_ELSEWHERE))
            self._other.connection_made(self.transport)
            self._other.is_other = False  # it is HTTP/2, whatever was agreed on
        self._other.data_received(data)

    def pause_writing(self) -> None:
        """The client does not read."""
        super().pause_writing()
        self.unread_since = self.loop.time()
        if self._other is not None:
            self._other.pause_writing()

    def resume_writing(self) -> None:
        """It does again."""
        super().resume_writing()
        self.unread_since = None
        if self._other is not None:
            self._other.resume_writing()

    def on_message_begin(self) -> None:
        """Begin a head."""
        super().on_message_begin()
        self._said, self._hosts = [], 0

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header. White space around its value is none of it; llhttp leaves what follows it."""
        header = name.lower(), value.strip(b" \t")
        self.headers.append(header)
        if header[0] == b"content-length":
            return
        self._said.append(header)
        if header[0] == b"expect" and header[1].lower() == b"100-continue":
            self.expect_100_continue = True
        self._hosts += header[0] == b"host"

    def on_headers_complete(self) -> None:
        """Begin a request. Which host is meant is clear, and in which protocol, or it is refused."""
        self._unread = 0
        # A target that names a host itself counts more than the header that is judged (RFC 9112, 3.2.2).
        if self._hosts != 1 or not self.url.startswith(b"/") or self.parser.should_upgrade():
            raise ValueError("a request is for one host, in HTTP/1.1")
        if len(self.pipeline) >= MOST_QUEUED:
            raise ValueError("too many requests wait for the answers to those before them")
        super().on_headers_complete()
        scope = cast("Scope", self.scope)
        scope[PEER] = self.peer
        if (host := self._host()) is not None:
            head = scope[HEAD] = self._head(host)
            if head.plain:
                scope[REPLY] = partial(self._reply, self.cycle)
        self.headers, self._said = [], []  # what follows the body is no header, whatever it is called

    def _head(self, host: "McpHttp") -> "Head":
        """What is known of the headers, which most clients send again with each request."""
        if self._known is None or self._known[0] != self._said:
            self._known = self._said, host.head(self._said)
        return self._known[1]

    async def _reply(
        self, cycle: RequestResponseCycle, status: int, headers: list[tuple[bytes, bytes]], body: bytes
    ) -> None:
        """Answer a request in one piece."""
        if self.flow.write_paused and not cycle.disconnected:
            await self.flow.drain()
        if cycle.disconnected:
            return
        cycle.response_started = cycle.response_complete = True
        cast("Scope", cycle.scope).pop(REPLY)  # which knows the cycle: both would stay until garbage is collected
        lines = [STATUS_LINE[status], *(b"%b: %b\r\n" % header for header in headers)]
        ending = b"" if cycle.keep_alive else b"connection: close\r\n"
        self.transport.write(b"%bcontent-length: %d\r\n%b\r\n%b" % (b"".join(lines), len(body), ending, body))
        cycle.message_event.set()
        if not cycle.keep_alive:
            self.transport.close()
        cycle.on_response()

    def on_body(self, body: bytes) -> None:
        """Take some of its body."""
        self._unread = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """All of it has come."""
        self._unread = 0
        super().on_message_complete()

    @property
    def is_idle(self) -> bool:
        """Whether no request is under way on it, as far as one has arrived."""
        return self._running is None or self._running.response_complete

    @property
    def is_ending(self) -> bool:
        """Whether it is being closed."""
        return self.transport.is_closing()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self.idle_since = self.loop.time()
        super().on_response_complete()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Look who it is. An odd certificate is the end of it."""
        super().connection_made(transport)
        self.idle_since = self.loop.time()
        try:
            self.peer = connected_peer(transport, speaks=None)
        except ValueError:
            transport.abort()


class HttpDoor:
    """Serves streamable HTTP on `bound`. `surface` loads the MCP server."""

    def __init__(
        self,
        parts: SurfaceParts,
        door: Authenticator,
        surface: "Callable[[], Awaitable[Surface]]",
        bound: socket.socket,
        tls: ServerTls | None,
    ) -> None:
        self._parts = parts
        self._door = door
        self._surface = surface
        self._bound = bound
        self._tls = tls
        self._host: asyncio.Task[HttpHost] | None = None
        self._app: ASGIApp | None = None
        self._serving: McpHttp | None = None
        self._state = ServerState()
        self._most = parts.config.max_connections
        self._config = http_config(self._answer, None)
        self._greeting: dict[asyncio.Task[None], None] = {}
        self._accepting: asyncio.Task[None] | None = None
        if tls is not None:
            tls.when_authorities_change(self._send_away)

    @property
    def sessions(self) -> int:
        """How many MCP sessions are open here."""
        opened = self._host is not None and self._host.done() and not failed(self._host)
        return self._host.result().sessions if self._host is not None and opened else 0

    def start(self) -> None:
        """Take connections."""
        self._bound.settimeout(0)
        self._accepting = asyncio.create_task(self._accept())

    def close(self) -> None:
        """Take no more of them."""
        for task in (*self._greeting, *([self._accepting] if self._accepting else [])):
            task.cancel()
        self._bound.close()

    async def stop(self) -> None:
        """End every session, and then the connections, after a moment for what is being said on them."""
        self.close()
        if (host := await succeeded(self._host)) is not None:
            await host.close()
        self._send_away()
        if self._state.tasks:
            await asyncio.wait(tuple(self._state.tasks), timeout=LAST_WORDS_S)
        for connection in tuple(self._state.connections):
            connection.transport.abort()

    def _send_away(self) -> None:
        """Have clients connect again."""
        for connection in tuple(self._state.connections):
            connection.shutdown()

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, _ = await loop.sock_accept(self._bound)
            except OSError as error:
                _log.warning("a connection could not be accepted", extra={"problem": error.strerror})
                await asyncio.sleep(NO_ROOM_S)
                continue
            if not self._make_room():
                accepted.close()
                continue
            task = loop.create_task(self._greet(accepted))
            self._greeting[task] = None
            task.add_done_callback(self._greeting.pop)

    def _make_room(self) -> bool:
        """Whether one more may come. Who says nothing goes first, or a crowd that says nothing would keep all out."""
        if len(self._greeting) >= self._most:
            next(iter(self._greeting)).cancel()
        if len(self._state.connections) < self._most:
            return True
        connections = [one for one in self._state.connections if isinstance(one, _Connection) and not one.is_ending]
        leaving = min((one for one in connections if one.is_idle), key=lambda one: one.idle_since, default=None)
        if leaving is None:
            before = asyncio.get_running_loop().time() - UNREAD_S
            unread = (one for one in connections if one.unread_since is not None and one.unread_since < before)
            leaving = next(unread, None)
        if leaving is not None:
            leaving.transport.abort()
        # Those on which requests are under way are as many as have places, and some that are told that there is none.
        return leaving is not None or len(self._state.connections) < 2 * self._most

    async def _greet(self, accepted: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        # What the loop gives back is with uvloop the protocol of TLS, and not ours.
        made = _Connection(self._config, self._state, lambda: self._serving)
        try:
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._tls is None:
                await loop.connect_accepted_socket(lambda: made, accepted)
            else:
                await self._shake_hands(self._tls, accepted, made)
        except OSError:
            if self._tls is not None:
                self._tls.counts["failed_handshakes"] += 1
        except asyncio.CancelledError:
            accepted.close()
            raise

    async def _shake_hands(self, tls: ServerTls, accepted: socket.socket, made: _Connection) -> None:
        believed = tls.material.believed
        loop = asyncio.get_running_loop()
        await loop.connect_accepted_socket(
            lambda: made, accepted, ssl=tls.web, ssl_handshake_timeout=HANDSHAKE_S, ssl_shutdown_timeout=GOODBYE_S
        )
        if tls.material.believed != believed:
            # It was no connection yet when those were sent away that the former authorities had let in.
            made.shutdown()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._host is None or failed(self._host):
            self._host = asyncio.create_task(self._opened())
        if self._app is None:
            await succeeded(self._host)
        if self._app is None:
            await _say_not_now(send)  # why not was logged, and the next who comes tries again
            return
        await self._app(scope, receive, send)

    async def _opened(self) -> "HttpHost":
        surface = await self._surface()
        from interlock_gateway.transport.mcp.http import PATH  # noqa: PLC0415 -- loaded with the surface
        from interlock_gateway.transport.mcp.http_host import HttpHost, origins_of  # noqa: PLC0415 -- loaded with it

        host = HttpHost(surface, self._parts, self._door)
        self._serving, self._app = host.app, Browsers(host.app, origins_of(self._parts), PATH)
        return host


def _arrives(cycle: RequestResponseCycle) -> bool:
    """Whether the rest of a request is still to come, and nothing was answered yet."""
    return cycle.more_body and not cycle.response_started


async def _say_not_now(send: Send) -> None:
    body = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"MCP cannot be spoken now; try again"}}'
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), (b"retry-after", b"1")]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})
