"""MCP over streamable HTTP: who asks is known, and what is asked was read strictly, before the SDK sees a request."""

import asyncio
import contextlib
import json
from collections.abc import Iterator

from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from interlock_gateway.core.clock import Clock
from interlock_gateway.core.session import Principal
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.identity.authenticate import Authenticator
from interlock_gateway.sessions.shares import Shares
from interlock_gateway.transport.grpc.errors import as_request_error
from interlock_gateway.transport.http.bodies import body_of
from interlock_gateway.transport.mcp.errors import as_mcp_error
from interlock_gateway.transport.mcp.guard import LISTEN
from interlock_gateway.transport.mcp.http_door import PEER
from interlock_gateway.transport.mcp.http_sessions import HttpSessions
from interlock_gateway.transport.mcp.origins import Origins
from interlock_gateway.transport.mcp.stateless import Stateless
from interlock_gateway.transport.mcp.strict import BadMessageError, read_message
from interlock_gateway.transport.mcp.wires import PRINCIPAL
from interlock_gateway.transport.unanswered import Unanswered

PATH = "/mcp"
PATIENCE_S = 30.0
"""How long a request may take to arrive."""
_STATUS = {
    RequestFault.UNAUTHENTICATED: 401,
    RequestFault.ROLE_MISSING: 403,
    RequestFault.TOO_LARGE: 413,
    RequestFault.LIMIT_REACHED: 503,
    RequestFault.OVERLOADED: 503,
    RequestFault.DRAINING: 503,
    RequestFault.IDENTITY_UNAVAILABLE: 503,
    RequestFault.DEADLINE: 408,
    RequestFault.INTERNAL: 500,
}


class McpHttp:
    """The ASGI application. `modern` serves requests of revisions that have no sessions of their own."""

    def __init__(
        self,
        door: Authenticator,
        origins: Origins,
        sessions: HttpSessions,
        modern: Stateless,
        *,
        max_bytes: int,
        max_depth: int,
        max_requests: int,
        unanswered: Unanswered,
        clock: Clock,
    ) -> None:
        self._door = door
        self._origins = origins
        self._sessions = sessions
        self._modern = modern
        self._max_bytes = max_bytes
        self._max_depth = max_depth
        self._shares = Shares(max_requests)
        self._unanswered = unanswered
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Request(scope, receive)
        with contextlib.ExitStack() as held:
            try:
                served = await self._admitted(request, held)
            except BadMessageError as error:
                served = Response(error.answer(), 400, media_type="application/json")
            except ClientDisconnect:
                return
            except Exception as error:  # noqa: BLE001 - the last door: nothing unforeseen may show to a client
                served = refused(as_request_error(error))
            await served(scope, receive, send)

    async def _admitted(self, request: Request, held: contextlib.ExitStack) -> ASGIApp:
        """What answers `request`, whose place `held` gets. Raises `RequestError`, `BadMessageError`."""
        if request.scope["path"] != PATH:
            return Response(f"MCP is spoken at {PATH}", status_code=404)
        if (strange := self._origins.refusal(request.headers)) is not None:
            return Response(strange, status_code=403)
        request.scope[PRINCIPAL] = await self._principal(request)
        # Before its body: that may come as slowly as its sender likes.
        held.enter_context(self._place(request.scope[PRINCIPAL].id))
        message = {}
        if request.method == "POST":
            message = read_message(await body_of(request, self._max_bytes, PATIENCE_S), max_depth=self._max_depth)
        version = request.headers.get("mcp-protocol-version")
        is_modern = version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS
        serving = (self._modern if is_modern else self._sessions).serving(request, message)
        if "id" in message and "method" in message and message["method"] != LISTEN:
            serving = self._counted(serving)
        elif request.method == "GET" or message.get("method") == LISTEN:
            serving = self._while_known(request.scope[PRINCIPAL], serving)
        return serving

    def _while_known(self, principal: Principal, app: ASGIApp) -> ASGIApp:
        """`app`, a stream that has no end of its own: it ends with the credential that it was opened with."""
        if principal.expires_at is None:
            return app
        left_s = max(0.0, principal.expires_at - self._clock.now())

        async def ending(scope: Scope, receive: Receive, send: Send) -> None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left_s):
                    await app(scope, receive, send)
                    return
            await send({"type": "http.response.body", "body": b"", "more_body": False})

        return ending

    def _counted(self, app: ASGIApp) -> ASGIApp:
        """`app`, of a request whose answer is worth waiting for when the gateway ends."""

        async def counted(scope: Scope, receive: Receive, send: Send) -> None:
            with self._unanswered.one():
                await app(scope, receive, send)

        return counted

    @contextlib.contextmanager
    def _place(self, principal_id: str) -> Iterator[None]:
        """One of the places there are for requests: nobody has them all. Raises `RequestError`."""
        if self._shares.refusal(principal_id) is not None:
            words = "you have as many requests and streams open as you may; end some"
            raise RequestError(RequestFault.LIMIT_REACHED, words, retry_s=1)
        self._shares.take(principal_id)
        try:
            yield
        finally:
            self._shares.give_back(principal_id)

    async def _principal(self, request: Request) -> Principal:
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in request.scope["headers"]]
        found = self._door.principal(headers, request.scope[PEER])
        return found if isinstance(found, Principal) else await found


def refused(error: RequestError) -> Response:
    """`error` as HTTP has it: a status, and a JSON-RPC error that no request is waiting for by its id."""
    told = as_mcp_error(error).error.model_dump(exclude_none=True)
    headers = {}
    if error.fault is RequestFault.UNAUTHENTICATED:
        headers["WWW-Authenticate"] = 'Bearer realm="interlock"'
    if error.retry_s is not None:
        headers["Retry-After"] = str(max(1, round(error.retry_s)))
    body = json.dumps({"jsonrpc": "2.0", "id": None, "error": told})
    return Response(body, _STATUS.get(error.fault, 400), headers, "application/json")
