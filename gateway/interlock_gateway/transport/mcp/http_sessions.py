"""MCP sessions over HTTP, of the revisions that begin with a handshake: each belongs to the principal who opened it."""

import asyncio
import uuid
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import Any

from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from interlock_gateway.core.session import Principal
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.transport.mcp.session_transport import SessionTransport
from interlock_gateway.transport.mcp.surface import Surface
from interlock_gateway.transport.mcp.wires import PRINCIPAL, Wire


@dataclass(slots=True)
class _HttpSession:
    """One MCP session: whose it is, and what serves it."""

    owner: str
    transport: SessionTransport
    wire: Wire


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

    def of(self, session_id: str, principal: Principal) -> SessionTransport | None:
        """What serves a session of that principal's."""
        found = self._open.get(session_id)
        # Another's is answered as one that does not exist.
        return found.transport if found is not None and found.owner == principal.id else None

    def serving(self, request: Request, message: dict[str, Any]) -> ASGIApp:
        """What answers `request`, whose body is `message`. Raises `RequestError`: there are too many sessions."""
        session_id = request.headers.get(MCP_SESSION_ID_HEADER)
        principal: Principal = request.scope[PRINCIPAL]
        if session_id is not None:
            transport = self.of(session_id, principal)
            return _not_found() if transport is None else transport.serving(request, message)
        if message.get("method") != "initialize":
            return _bad("this needs the Mcp-Session-Id of an open session: send initialize first")
        self._check_room(principal)
        return _Opening(self, principal, request, message)

    def _check_room(self, principal: Principal) -> None:
        if self._closing:
            raise RequestError(RequestFault.DRAINING, "the gateway is shutting down")
        if len(self._open) >= self._config.max_sessions:
            raise RequestError(RequestFault.LIMIT_REACHED, "too many MCP sessions are open", retry_s=1)
        if self._owned[principal.id] >= self._config.max_sessions_per_principal:
            raise RequestError(RequestFault.LIMIT_REACHED, "you have too many MCP sessions open", retry_s=1)

    def open(self, principal: Principal) -> tuple[str, SessionTransport]:
        """Open a session for `principal`."""
        session_id = uuid.uuid4().hex
        wire = Wire.opened(principal)
        transport = SessionTransport(
            session_id,
            self._surface.server,
            wire,
            self._surface.options(),
            idle_s=self._config.session_idle_s,
            ended=partial(self.end, session_id),
        )
        self._open[session_id] = _HttpSession(principal.id, transport, wire)
        self._owned[principal.id] += 1
        return session_id, transport

    async def end(self, session_id: str) -> None:
        """End a session."""
        session = self._open.get(session_id)
        if session is not None:
            self._forget(session_id, session)
            await session.transport.close()
            await session.wire.close(self._surface.parts.pipeline)

    async def close(self) -> None:
        """End all of them, and open no more."""
        self._closing = True
        await asyncio.gather(*map(self.end, tuple(self._open)))

    def _forget(self, session_id: str, session: _HttpSession) -> None:
        if self._open.pop(session_id, None) is not None:
            self._owned[session.owner] -= 1
            if not self._owned[session.owner]:
                del self._owned[session.owner]


class _Opening:
    """Answers the request that opens a session; refused, nothing of it stays."""

    def __init__(self, sessions: HttpSessions, principal: Principal, request: Request, message: dict[str, Any]) -> None:
        self._sessions = sessions
        self._principal = principal
        self._request = request
        self._message = message

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        session_id, transport = self._sessions.open(self._principal)
        try:
            await transport.serving(self._request, self._message)(scope, receive, send)
        finally:
            if not transport.shaken:
                await self._sessions.end(session_id)


def _not_found() -> Response:
    return _answer("Session not found", 404)


def _bad(words: str) -> Response:
    return _answer(words, 400)


def _answer(words: str, status: int) -> Response:
    body = f'{{"jsonrpc":"2.0","id":null,"error":{{"code":-32600,"message":"{words}"}}}}'
    return Response(body, status, media_type="application/json")
