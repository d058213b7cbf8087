"""MCP over HTTP without sessions (2026-07-28): every request says all that is needed to answer it.

What is refused, and with which status, is as in the SDK's own entry; its checks are used.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from mcp.server.connection import Connection
from mcp.server.lowlevel.server import Server
from mcp.server.runner import ServerRunner, serve_one
from mcp.server.streamable_http import check_accept_headers
from mcp.shared.dispatcher import OnRequest
from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    MCP_PROTOCOL_VERSION_HEADER,
    InboundLadderRejection,
    InboundModernRoute,
    classify_inbound_request,
    find_duplicated_routing_header,
    unsupported_protocol_version_rejection,
    validate_mcp_param_headers,
)
from mcp_types import HEADER_MISMATCH, INVALID_REQUEST, ErrorData
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from interlock_gateway.transport.mcp.exchange import Exchange, Message, failure, send_json
from interlock_gateway.transport.mcp.session_transport import is_request
from interlock_gateway.transport.mcp.wires import Wire

LISTEN = "subscriptions/listen"
HeaderSchema = Callable[[str], Mapping[str, Any] | None]
"""The input schema of a tool some of whose arguments are sent as headers too; nothing for any other."""


class Stateless:
    """Answers requests that stand for themselves. `wire` is who they all come in by."""

    def __init__(self, server: Server[Wire], wire: Wire, header_schema: HeaderSchema) -> None:
        self._server = server
        self._wire = wire
        self._header_schema = header_schema

    def serving(self, http: Request, message: Message) -> ASGIApp:
        """What answers an HTTP request; `message` is what a POST brought."""

        async def served(_scope: Scope, receive: Receive, send: Send) -> None:
            await self._serve(http, message, receive, send)

        return served

    async def _serve(self, http: Request, message: Message, receive: Receive, send: Send) -> None:
        if http.method != "POST":
            await send_json(send, None, 405, [(b"allow", b"POST")])
            return
        has_json, has_stream = check_accept_headers(http)
        if not (has_json and has_stream):
            await send_json(send, None, 406, [])
        elif "id" not in message and isinstance(message.get("method"), str):
            await self._notified(http, send)
        elif not is_request(message):
            words = "Body must be a single JSON-RPC request or notification object"
            await send_json(send, failure(None, ErrorData(code=INVALID_REQUEST, message=words)), 400, [])
        else:
            await self._request(http, message, receive, send)

    async def _notified(self, http: Request, send: Send) -> None:
        """There is nothing to notify: who cancels closes the stream. It is taken, as clients may send it."""
        requested = http.headers.get(MCP_PROTOCOL_VERSION_HEADER, "")
        if (refused := unsupported_protocol_version_rejection(requested)) is not None:
            await _reject(send, None, refused)
        else:
            await send_json(send, None, 202, [])

    async def _request(self, http: Request, message: Message, receive: Receive, send: Send) -> None:
        route = self._route(http, message)
        if isinstance(route, InboundLadderRejection):
            await _reject(send, message["id"], route)
            return
        method, params = message["method"], message.get("params")
        connection = Connection.from_envelope(route.protocol_version, route.client_info, route.client_capabilities)
        exchange = Exchange(http, send, message["id"], params)

        serve: OnRequest = ServerRunner(self._server, connection, self._wire).on_request
        if method == LISTEN:  # which leaves things behind that are ended with the connection
            serve = partial(self._listened, connection)
        with exchange.watched(receive):
            answer = await exchange.run(serve, method, params)
        code = answer.get("error", {}).get("code")
        await exchange.answer(answer, ERROR_CODE_HTTP_STATUS.get(code, 200))

    async def _listened(
        self, connection: Connection, dctx: Any, method: str, params: Mapping[str, Any] | None
    ) -> Message:
        return await serve_one(self._server, dctx, method, params, connection=connection, lifespan_state=self._wire)

    def _route(self, http: Request, message: Message) -> InboundModernRoute | InboundLadderRejection:
        """What the request says of itself, if it says it well."""
        twice = find_duplicated_routing_header(http.headers.items())
        if twice is not None:
            return InboundLadderRejection(HEADER_MISMATCH, f"{twice} header appears more than once")
        route = classify_inbound_request(message, headers=http.headers)
        if isinstance(route, InboundLadderRejection) or message["method"] != "tools/call":
            return route
        name, arguments = message["params"].get("name"), message["params"].get("arguments") or {}
        schema = self._header_schema(name) if isinstance(name, str) and isinstance(arguments, dict) else None
        if schema is None:
            return route
        return validate_mcp_param_headers(schema, arguments, http.headers) or route


async def _reject(send: Send, request_id: Any, why: InboundLadderRejection) -> None:
    error = ErrorData(code=why.code, message=why.message, data=why.data)
    await send_json(send, failure(request_id, error), ERROR_CODE_HTTP_STATUS.get(why.code, 400), [])
