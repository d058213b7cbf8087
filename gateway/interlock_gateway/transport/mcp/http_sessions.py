"""MCP sessions over HTTP, of the revisions that begin with a handshake: each belongs to the principal who opened it."""

import asyncio
import contextlib
import uuid
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from mcp.server.runner import serve_loop
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER, StreamableHTTPServerTransport
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from interlock_gateway.core.session import Principal
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.transport.mcp.surface import Surface
from interlock_gateway.transport.mcp.wires import PRINCIPAL, Wire

_OK = 400
"""Statuses below say that a handshake was taken."""


@dataclass(slots=True)
class _HttpSession:
    """One MCP session: whose it is, the SDK's transport, and the task that serves it."""

    owner: str
    transport: StreamableHTTPServerTransport
    wire: Wire
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    task: "asyncio.Task[None] | None" = None


class HttpSessions:
    """The open sessions by id."""

    def __init__(self, surface: Surface) -> None:
        self._surface = surface
        self._config = surface.parts.config
        self._open: dict[str, _HttpSession] = {}
        self._owned: Counter[str] = Counter()
        self._closing = False

    def __len__(self) -> int:
        return len(self._open)

    def serving(self, request: Request, message: dict[str, Any]) -> ASGIApp:
        """What answers `request`, whose body is `message`. Raises `RequestError`: there are too many sessions."""
        session_id = request.headers.get(MCP_SESSION_ID_HEADER)
        principal: Principal = request.scope[PRINCIPAL]
        if session_id is not None:
            found = self._open.get(session_id)
            # Another's is answered as one that does not exist.
            if found is None or found.owner != principal.id:
                return _not_found()
            return found.transport.handle_request
        if message.get("method") != "initialize":
            return _bad("this needs the Mcp-Session-Id of an open session: send initialize first")
        self._check_room(principal)
        return _Opening(self, principal)

    def _check_room(self, principal: Principal) -> None:
        if self._closing:
            raise RequestError(RequestFault.DRAINING, "the gateway is shutting down")
        if len(self._open) >= self._config.max_sessions:
            raise RequestError(RequestFault.LIMIT_REACHED, "too many MCP sessions are open", retry_s=1)
        if self._owned[principal.id] >= self._config.max_sessions_per_principal:
            raise RequestError(RequestFault.LIMIT_REACHED, "you have too many MCP sessions open", retry_s=1)

    async def open(self, principal: Principal) -> tuple[str, StreamableHTTPServerTransport]:
        """Open a session for `principal`."""
        session_id = uuid.uuid4().hex
        transport = StreamableHTTPServerTransport(session_id, idle_timeout=self._config.session_idle_s)
        session = _HttpSession(principal.id, transport, Wire.opened(principal))
        self._open[session_id] = session
        self._owned[principal.id] += 1
        session.task = asyncio.create_task(self._run(session_id, session))
        await session.ready.wait()
        return session_id, transport

    async def end(self, session_id: str) -> None:
        """End a session, and wait until it has ended."""
        session = self._open.get(session_id)
        if session is not None and session.task is not None:
            await session.transport.terminate()
            await asyncio.wait((session.task,))

    async def close(self) -> None:
        """End all of them, and open no more."""
        self._closing = True
        await asyncio.gather(*map(self.end, tuple(self._open)))

    async def _run(self, session_id: str, session: _HttpSession) -> None:
        transport, server = session.transport, self._surface.server
        try:
            async with transport.connect() as (incoming, outgoing):
                session.ready.set()
                with transport.idle_scope or contextlib.nullcontext():
                    await serve_loop(
                        server,
                        incoming,
                        outgoing,
                        lifespan_state=session.wire,
                        session_id=session_id,
                        init_options=self._surface.options(),
                    )
        finally:
            session.ready.set()
            self._forget(session_id, session)
            await transport.terminate()
            await session.wire.close(self._surface.parts.pipeline)

    def _forget(self, session_id: str, session: _HttpSession) -> None:
        if self._open.pop(session_id, None) is not None:
            self._owned[session.owner] -= 1
            if not self._owned[session.owner]:
                del self._owned[session.owner]


class _Opening:
    """Answers the request that opens a session; refused, nothing of it stays."""

    def __init__(self, sessions: HttpSessions, principal: Principal) -> None:
        self._sessions = sessions
        self._principal = principal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        session_id, transport = await self._sessions.open(self._principal)
        taken = False

        async def watched(message: Message) -> None:
            nonlocal taken
            if message["type"] == "http.response.start":
                taken = message["status"] < _OK
            await send(message)

        try:
            await transport.handle_request(scope, receive, watched)
        finally:
            if not taken:
                await self._sessions.end(session_id)


def _not_found() -> Response:
    return _answer("Session not found", 404)


def _bad(words: str) -> Response:
    return _answer(words, 400)


def _answer(words: str, status: int) -> Response:
    body = f'{{"jsonrpc":"2.0","id":null,"error":{{"code":-32600,"message":"{words}"}}}}'
    return Response(body, status, media_type="application/json")
