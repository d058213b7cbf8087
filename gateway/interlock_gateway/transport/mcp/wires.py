"""Who is at the other end of an MCP connection, and which session of the gateway its calls belong to."""

import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp_types import ClientCapabilities

from interlock_gateway.core.session import Principal, session_for
from interlock_gateway.errors import RequestError
from interlock_gateway.pipeline.core import CallPipeline
from interlock_gateway.pipeline.ports import StateError

SESSION_META = "dev.interlock/session"
SESSION_HEADER = "interlock-session"
PRINCIPAL = "interlock.principal"
"""Where a request's ASGI scope holds the principal that was let in with it."""


@dataclass(frozen=True, slots=True)
class McpCaller:
    """Who sent a request, in which session of the gateway, at which revision of MCP, and what its client can do.

    `meta` is the request's `_meta` as it came.
    """

    principal: Principal
    session_id: str
    version: str
    capabilities: ClientCapabilities | None
    meta: Mapping[str, Any]


class Wire:
    """One connection: a stream, an MCP session over HTTP, or (without a session of its own) all stateless requests.

    `principal` is whose connection it is; over HTTP each request says itself.
    """

    def __init__(self, principal: Principal | None = None, session_id: str = "") -> None:
        self.principal = principal
        self.session_id = session_id
        self.on_close: list[Callable[[], None]] = []
        self.greeted = False
        self._used = False

    @classmethod
    def opened(cls, principal: Principal) -> "Wire":
        """A connection with a session of its own, which its first call opens."""
        return cls(principal, str(uuid.uuid4()))

    def caller(self, ctx: "ServerRequestContext[Wire]") -> McpCaller:
        """Who sent this request."""
        principal = self.principal_of(ctx)
        meta = _meta(ctx.params)
        named = None if ctx.request is None else ctx.request.headers.get(SESSION_HEADER)
        known = ctx.session.client_params
        session_id = self.session_of(principal, meta, named, known.client_info.name if known is not None else "")
        return McpCaller(principal, session_id, ctx.protocol_version, ctx.session.client_capabilities, meta)

    def session_of(self, principal: Principal, meta: Mapping[str, Any], named: str | None, client: str) -> str:
        """The session of a request: the one it names, in `_meta` or a header, whose that be.

        Else the connection's; or else, of requests that stand for themselves, one for each principal and client.
        """
        said = meta.get(SESSION_META, named)
        session_id = str(said) if said is not None else ""
        if not session_id:
            session_id = self.session_id or session_for("mcp", principal.id, client)
        self._used = self._used or session_id == self.session_id
        return session_id

    def principal_of(self, ctx: "ServerRequestContext[Wire]") -> Principal:
        """Who sent this request: over HTTP, who was let in with it."""
        principal = self.principal if ctx.request is None else ctx.request.scope[PRINCIPAL]
        assert isinstance(principal, Principal), "whoever serves a connection says whose it is"
        return principal

    async def close(self, pipeline: CallPipeline) -> None:
        """Close the connection's own session, if it was opened: what is pending in it is discarded."""
        while self.on_close:
            self.on_close.pop()()
        if not self._used or self.principal is None:
            return
        # It was never opened, is closed already, or cannot be written: it stays open then, and holds nothing.
        with suppress(RequestError, StateError):
            await pipeline.close_session(self.principal, self.session_id)


def _meta(params: Mapping[str, Any] | None) -> Mapping[str, Any]:
    found = (params or {}).get("_meta")
    return found if isinstance(found, dict) else {}
