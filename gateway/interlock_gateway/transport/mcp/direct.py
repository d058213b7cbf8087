"""Calls of the usual form, from their message to their answer without the SDK's kernel (PERF-3).

The kernel reads each call into three models and its result into two, which takes longer than deciding about it. What is
answered here is answered as the kernel would: it is asked about the first of each kind, and for everything else.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from mcp.server.connection import Connection
from mcp.server.session import ServerSession
from mcp.shared.inbound import ERROR_CODE_HTTP_STATUS
from mcp_types import ClientCapabilities, RequestId
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from interlock_gateway.core.session import Principal
from interlock_gateway.transport.mcp.clients import Client
from interlock_gateway.transport.mcp.exchange import Exchange, Message
from interlock_gateway.transport.mcp.heads import Head
from interlock_gateway.transport.mcp.session_transport import SessionTransport
from interlock_gateway.transport.mcp.stateless import HeaderSchema
from interlock_gateway.transport.mcp.surface import Surface
from interlock_gateway.transport.mcp.usual import CALL, Envelope, Envelopes, UsualCall
from interlock_gateway.transport.mcp.wire_results import wire_result
from interlock_gateway.transport.mcp.wires import McpCaller, Wire


@dataclass(frozen=True, slots=True)
class Sent:
    """A call, who sends it, and what is known of the headers that it came with."""

    principal: Principal
    call: UsualCall
    head: Head

    def caller(self, wire: Wire, client: str, version: str, able: ClientCapabilities | None) -> McpCaller:
        """Its sender, at that revision."""
        session_id = wire.session_of(self.principal, self.call.meta, self.head.session, client)
        return McpCaller(self.principal, session_id, version, able, self.call.meta)


class Direct:
    """Answers calls. `wire` is who those come in by that stand for themselves."""

    def __init__(self, surface: Surface, wire: Wire, header_schema: HeaderSchema) -> None:
        self._surface = surface
        self._wire = wire
        self._header_schema = header_schema
        self._envelopes = Envelopes()
        self._stamp = surface.server.server_info_stamp

    def in_session(self, transport: SessionTransport, sent: "Sent") -> ASGIApp | None:
        """What answers a call in a session of MCP; nothing when the kernel has to."""
        return _InSession(self, transport, sent) if transport.ready and not sent.call.enveloped else None

    def alone(self, sent: "Sent") -> ASGIApp | None:
        """What answers a call that stands for itself; nothing when the kernel has to."""
        envelope = self._envelopes.of(sent.call, sent.head) if sent.call.enveloped else None
        if envelope is None or self._header_schema(sent.call.name) is not None:
            return None
        return _Alone(self, self._wire, envelope, sent)

    async def run(self, exchange: Exchange, caller: McpCaller, around: "Around", call: UsualCall) -> Message:
        """The answer, as a JSON-RPC message."""
        return await exchange.run(partial(self._served, caller, around, call), CALL, None)

    async def _served(
        self, caller: McpCaller, around: "Around", call: UsualCall, _exchange: Any, method: str, _params: Any
    ) -> dict[str, Any]:
        answer = partial(self._result, caller, around, call)
        return await self._surface.guard.around(caller.principal, method, caller.version, answer)

    async def _result(self, caller: McpCaller, around: "Around", call: UsualCall) -> dict[str, Any]:
        result = await self._surface.call(caller, Client(around, caller), call.name, call.arguments)
        return wire_result(result, caller.version, self._stamp)


class Around:
    """What there is around a call, as far as its client is concerned. Most of them never ask."""

    __slots__ = ("_exchange", "_made", "_session", "lifespan_context")

    def __init__(self, exchange: Exchange, wire: Wire, session: Connection | Envelope) -> None:
        self._exchange = exchange
        self._session = session
        self._made: ServerSession | None = None
        self.lifespan_context = wire

    @property
    def request_id(self) -> RequestId | None:
        """The call's."""
        return self._exchange.request_id

    @property
    def session(self) -> ServerSession:
        """The SDK's way to the client."""
        if self._made is None:
            known = self._session
            self._made = ServerSession(self._exchange, known if isinstance(known, Connection) else known.connection())
        return self._made


class _InSession:
    """One call in a session."""

    __slots__ = ("_direct", "_sent", "_transport")

    def __init__(self, direct: Direct, transport: SessionTransport, sent: Sent) -> None:
        self._direct = direct
        self._transport = transport
        self._sent = sent

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer it."""
        del receive
        transport, sent = self._transport, self._sent
        if not transport.ready:  # it has ended since it was looked at
            await transport.refuse_ended(send)
            return
        transport.enter()
        try:
            exchange = transport.exchange(Request(scope), send, sent.call.request_id, None)
            known, wire = transport.connection, transport.wire
            caller = sent.caller(wire, "", known.protocol_version, known.client_capabilities)
            around = Around(exchange, wire, known)
            await transport.answer(exchange, partial(self._direct.run, exchange, caller, around, sent.call))
        finally:
            transport.leave()


class _Alone:
    """One call that stands for itself."""

    __slots__ = ("_direct", "_envelope", "_sent", "_wire")

    def __init__(self, direct: Direct, wire: Wire, envelope: Envelope, sent: Sent) -> None:
        self._direct = direct
        self._wire = wire
        self._envelope = envelope
        self._sent = sent

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer it."""
        sent, envelope = self._sent, self._envelope
        exchange = Exchange(Request(scope), send, sent.call.request_id, None)
        caller = sent.caller(self._wire, envelope.client_name, envelope.version, envelope.able)
        with exchange.watched(receive):
            answer = await self._direct.run(exchange, caller, Around(exchange, self._wire, envelope), sent.call)
        await exchange.answer(answer, status_of(answer))


def status_of(answer: Mapping[str, Any]) -> int:
    """The HTTP status of the answer to a request that stands for itself."""
    error = answer.get("error")
    return 200 if error is None else ERROR_CODE_HTTP_STATUS.get(error.get("code"), 200)
